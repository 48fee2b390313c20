# SPDX-License-Identifier: Apache-2.0
"""The page's first tables: how many times as fast as the best peer attnc is, or as PyTorch, on every machine that has been
measured, what the project aims at, and the shares of the limits."""

import dataclasses
import json
import pathlib
from collections.abc import Iterable

from ratios import ratio_to, ratio_to_wrong
from report import share_of_limit
from rows import DTYPES, THREADS, all_rows


@dataclasses.dataclass(frozen=True)
class Table:
    title: str
    aims: dict[str, float | None]  # by the names of rows; None: no aim
    beside: str = ""               # a peer's name; empty: the best one's


def requests(dtype: str, threads: int, **aims: float | None) -> dict[str, float | None]:
    """Aims of requests, by batch and beam, as b8x4."""
    return {f"decode {dtype} {threads}t batch {size[1:].partition('x')[0]} beam {size.partition('x')[2] or 1}": aim
            for size, aim in aims.items()}


def encoders(dtype: str, aim: float) -> dict[str, float | None]:
    return {f"encode {dtype} 1t {batch} x 128": aim for batch in (1, 8)}


NEVER_SLOWER = 0.98  # two threads
ONE_THREAD = Table("one thread, beside the best peer", {
    **requests("f32", 1, b1=1.05, b8=1.6, b64=1.6, b1x4=1.9, b8x4=2.0, b64x4=None), **encoders("f32", 1.2),
    **requests("bf16", 1, b1=1.25, b8=1.6, b64=3.0, b1x4=None, b8x4=None, b64x4=None), **encoders("bf16", 1.3),
    **requests("int8", 1, b1=1.35, b8=1.5, b64=2.0, b1x4=1.8, b8x4=1.8, b64x4=1.8), **encoders("int8", 1.3)})
TWO_THREADS = Table("two threads, beside the best peer", {
    **requests("f32", 2, b1=NEVER_SLOWER, b8=1.5, b64=1.5, b1x4=1.6, b8x4=1.6, b64x4=1.6),
    **requests("bf16", 2, b1=NEVER_SLOWER, b8=NEVER_SLOWER, b64=NEVER_SLOWER, b1x4=1.6, b8x4=1.6, b64x4=1.6),
    **requests("int8", 2, b1=1.8, b8=1.5, b64=1.5, b1x4=1.6, b8x4=1.6, b64x4=1.6)})
KERNELS = Table("one thread, beside PyTorch", {
    row.name: 1.1 if (row.task, row.dtype) == ("attention", "f32") else 1.0 for row in all_rows()
    if row.threads == 1 and row.dtype != "int8" and row.task in ("attention", "causal", "matmul")}, "PyTorch")


@dataclasses.dataclass(frozen=True)
class Ratio:
    """`is_marked` where it is to a peer whose outputs differ too much."""
    times: float
    is_marked: bool = False


def ratio_of(row: dict, beside: str) -> Ratio | None:
    if beside:
        times = ratio_to(row, beside)
        return Ratio(times) if times else None
    if "ratio" not in row:
        return None
    return Ratio(ratio_to_wrong(row) or row["ratio"]["minimum"], bool(ratio_to_wrong(row)))


def cell(ratio: Ratio | None, aim: float | None) -> str:
    """Bold where the aim is reached."""
    if ratio is None:
        return "-"
    text = f"{ratio.times:.2f}" + "*" * ratio.is_marked
    return f"**{text}**" if aim and round(ratio.times, 2) >= aim else text


def render(table: Table, reports: dict[str, dict]) -> str:
    """Empty where nothing of it has been measured."""
    machines = {machine: {row["name"]: row for row in report["rows"]} for machine, report in reports.items()}
    lines = [f"| {table.title} | aim | {' | '.join(machines)} |", "|---" * (len(machines) + 2) + "|"]
    for name, aim in table.aims.items():
        cells = [cell(ratio_of(rows[name], table.beside) if name in rows else None, aim) for rows in machines.values()]
        if set(cells) != {"-"}:
            short = name.replace(" 1t", "").replace(" 2t", "")
            lines.append(f"| {short} | {aim or '-'} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n" if len(lines) > 2 else ""


def shares(report: dict, dtype: str, threads: int, tasks: tuple[str, ...]) -> str:
    """The least and the largest share of the limit of some rows."""
    rows = [row for row in report["rows"] if (row["dtype"], row["threads"]) == (dtype, threads) and row["task"] in tasks]
    found = sorted(share for row in rows if (share := share_of_limit(row, report["limits"])))
    return f"{found[0]:.0%} to {found[-1]:.0%}" if found else "-"


def render_shares(reports: dict[str, dict]) -> str:
    lines = [f"| share of the limit | {' | '.join(reports)} |", "|---" * (len(reports) + 1) + "|"]
    for what, tasks in (("requests", ("decode",)), ("encoders", ("encode",)), ("attention", ("attention", "causal"))):
        for dtype in DTYPES:
            for threads in THREADS:
                cells = [shares(report, dtype, threads, tasks) for report in reports.values()]
                if set(cells) != {"-"}:
                    lines.append(f"| {what} {dtype} {threads}t | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n" if len(lines) > 2 else ""


def render_slower(reports: dict[str, dict]) -> str:
    """Of each machine the rows in which attnc is behind the best peer, whatever the table that they are in."""
    lines = []
    for machine, report in reports.items():
        ratios = {row["name"]: ratio_of(row, "") for row in report["rows"]}
        slower = [f"{name} ({cell(ratio, None)})" for name, ratio in ratios.items() if ratio and round(ratio.times, 2) < 1]
        if slower:
            lines.append(f"* Behind the best peer on `{machine}`: {', '.join(slower)}.\n")
        medians = [f"{row['name']} ({row['ratio']['median']:.2f})" for row in report["rows"] if (ratio := ratios[row["name"]])
                   and round(ratio.times, 2) >= 1 and round(row["ratio"]["median"], 2) < 1]
        if medians:
            lines.append(f"* Behind it on `{machine}` by medians alone: {', '.join(medians)}.\n")
    return "".join(lines)


def read_reports(folder: pathlib.Path) -> dict[str, dict]:
    """By machine."""
    return {file.stem.removeprefix("performance-"): json.loads(file.read_text())
            for file in sorted(folder.glob("performance-*.json"))}


def overview(folder: pathlib.Path) -> str:
    reports = read_reports(folder)
    tables = [render(table, reports) for table in (ONE_THREAD, TWO_THREADS, KERNELS)]
    return "\n".join(filter(None, [*tables, render_shares(reports), render_slower(reports)]))


def span(reports: dict[str, dict], rows: Iterable[str]) -> str:
    """The least and the largest ratio to the best peer of rows, on all machines."""
    found = sorted(ratio.times for report in reports.values() for row in report["rows"]
                   if row["name"] in rows and (ratio := ratio_of(row, "")))
    return f"{found[0]:.1f} to {found[-1]:.1f}" if found else "-"


def in_short(folder: pathlib.Path) -> str:
    """For those who do not read the page."""
    reports = read_reports(folder)
    spans = {dtype: span(reports, [name for name in ONE_THREAD.aims if name.startswith(f"decode {dtype}")]) for dtype in DTYPES}
    encoders = span(reports, [name for name in ONE_THREAD.aims if name.startswith("encode")])
    return (f"Beside the best of CTranslate2, ONNX Runtime, OpenVINO and PyTorch on one thread, a Transformer-base decodes "
            f"{spans['f32']} times as fast in\nfloat32, {spans['bf16']} in bfloat16 and {spans['int8']} in int8, by machine "
            f"and batch; encoders of 128 tokens are {encoders} times as fast (int8 with attention in bf16).\n")
