# SPDX-License-Identifier: Apache-2.0
"""Bars of attnc's speed as a multiple of the best peer's, on paler ones of what the machine allows."""

import pathlib
from collections.abc import Container

from ratios import ratio_to_wrong
from report import share_of_limit, speed
from rows import row_of

ROW, LEFT, UNIT, MOST = 22, 300, 140, 5.0  # pixels; UNIT is the best peer's speed; bars end at MOST of them
UNITS = {"decode": "tokens/s", "encode": "ms"}


def bar(result: dict, limits: list[dict], y: int) -> list[str]:
    row = row_of(result)
    wrong, share = ratio_to_wrong(result), share_of_limit(result, limits)
    ratio = wrong or result["ratio"]["minimum"]
    peer = "a peer whose outputs differ too much" if wrong else result["best_peer"]
    length = UNIT * min(ratio, MOST)
    limit = UNIT * min(ratio / share, MOST) if share else length
    text = f"{ratio:.2f} x {peer}, {speed(row, result['milliseconds']['attnc']['minimum'])} "
    text += UNITS.get(row.task, "GFLOP/s") + (f", {share:.0%} of the limit" if share else "")
    return [f'<text x="{LEFT - 8}" y="{y + 13}" text-anchor="end">{row.name}</text>',
            f'<rect x="{LEFT}" y="{y}" width="{max(limit, length):.0f}" height="16" fill="#c6dbef"/>',
            f'<rect x="{LEFT}" y="{y}" width="{length:.0f}" height="16" fill="#08519c"/>',
            f'<text x="{LEFT + max(limit, length) + 6:.0f}" y="{y + 13}">{text}</text>']


def draw(report: dict, path: pathlib.Path, names: Container[str] | None = None) -> None:
    """Of rows with some names, or of all."""
    results = [result for result in report["rows"] if "ratio" in result and (names is None or result["name"] in names)]
    width, height = LEFT + int(UNIT * MOST) + 420, 52 + ROW * len(results)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
             'font-size="12">', '<rect width="100%" height="100%" fill="white"/>',
             '<text x="8" y="18">attnc beside its peers: speed as a multiple of the best one (red line); pale: up to the '
             "machine's limit</text>"]
    for number, result in enumerate(results):
        parts += bar(result, report["limits"], 36 + ROW * number)
    parts += [f'<line x1="{LEFT + UNIT}" y1="28" x2="{LEFT + UNIT}" y2="{height - 8}" stroke="#b30000"/>', "</svg>"]
    path.write_text("\n".join(parts) + "\n")
