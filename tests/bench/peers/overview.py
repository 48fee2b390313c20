# SPDX-License-Identifier: Apache-2.0
"""The page's first table: how many times as fast as the best peer attnc is, on every machine that has been measured, and
what the project aims at."""

import dataclasses
import json
import pathlib

from ratios import ratio_to_wrong
from rows import choose

AIMS = {"decode f32 1t batch 1 beam 1": 1.05, "decode f32 1t batch 8 beam 1": 1.6, "decode f32 1t batch 64 beam 1": 1.6,
        "decode f32 1t batch 1 beam 4": 1.9, "decode f32 1t batch 8 beam 4": 2.0, "encode f32 1t 1 x 128": 1.2,
        "encode f32 1t 8 x 128": 1.2, "attention f32 1t 512": 1.1,
        "decode bf16 1t batch 1 beam 1": 1.25, "decode bf16 1t batch 8 beam 1": 1.6, "decode bf16 1t batch 64 beam 1": 3.0,
        "encode bf16 1t 1 x 128": 1.3, "encode bf16 1t 8 x 128": 1.3, "attention bf16 1t 512": 1.0,
        "decode int8 1t batch 1 beam 1": 1.35, "decode int8 1t batch 8 beam 1": 1.5, "decode int8 1t batch 64 beam 1": 2.0,
        "decode int8 1t batch 1 beam 4": 1.8, "decode int8 1t batch 8 beam 4": 1.8, "encode int8 1t 1 x 128": 1.3,
        "encode int8 1t 8 x 128": 1.3}
UNAIMED = ("decode bf16 1t batch 1 beam 4", "decode bf16 1t batch 8 beam 4")


@dataclasses.dataclass(frozen=True)
class Ratio:
    """To the fastest peer: `is_marked` where its outputs differ too much."""
    times: float
    is_marked: bool


def ratios_of(results: pathlib.Path) -> dict[str, Ratio]:
    """By the names of rows."""
    rows = [row for row in json.loads(results.read_text())["rows"] if "ratio" in row]
    return {row["name"]: Ratio(ratio_to_wrong(row) or row["ratio"]["minimum"], bool(ratio_to_wrong(row))) for row in rows}


def cell(ratio: Ratio | None, aim: float | None) -> str:
    """Bold where the aim is reached."""
    if ratio is None:
        return "-"
    text = f"{ratio.times:.2f}" + "*" * ratio.is_marked
    return f"**{text}**" if aim and round(ratio.times, 2) >= aim else text


def overview(folder: pathlib.Path) -> str:
    files = sorted(folder.glob("performance-*.json"))
    machines = {file.stem.removeprefix("performance-"): ratios_of(file) for file in files}
    lines = [f"| one thread | aim | {' | '.join(machines)} |", "|---" * (len(machines) + 2) + "|"]
    for row in choose([*AIMS, *UNAIMED]):
        aim = AIMS.get(row.name)
        cells = [cell(ratios.get(row.name), aim) for ratios in machines.values()]
        if set(cells) != {"-"}:
            lines.append(f"| {row.name.replace(' 1t', '')} | {aim or '-'} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
