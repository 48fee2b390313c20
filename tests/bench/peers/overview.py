# SPDX-License-Identifier: Apache-2.0
"""The page's first table: how many times as fast as the best peer attnc is, on every machine that has been measured."""

import json
import pathlib

from rows import choose

ROWS = ("decode * 1t *", "encode * 1t * 128", "attention * 1t 512")


def ratios_of(results: pathlib.Path) -> dict[str, str]:
    """By the names of rows."""
    rows = json.loads(results.read_text())["rows"]
    return {row["name"]: f"{row['ratio']['minimum']:.2f}" for row in rows if "ratio" in row}


def overview(folder: pathlib.Path) -> str:
    files = sorted(folder.glob("performance-*.json"))
    machines = {file.stem.removeprefix("performance-"): ratios_of(file) for file in files}
    lines = [f"| one thread | {' | '.join(machines)} |", "|---" * (len(machines) + 1) + "|"]
    for row in choose(list(ROWS)):
        cells = [ratios.get(row.name, "-") for ratios in machines.values()]
        if set(cells) != {"-"}:
            lines.append(f"| {row.name.replace(' 1t', '')} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
