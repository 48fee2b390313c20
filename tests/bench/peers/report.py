# SPDX-License-Identifier: Apache-2.0
"""Results as tables of Markdown, which take the place of those in a page."""

import dataclasses
import pathlib
import re

from limits import limit_seconds
from ratios import ratio_to_wrong
from rows import HEAD_WIDTH, HEADS, Row, all_rows, row_of

BEGIN, END = "<!-- written by tests/bench/peers on {} -->", "<!-- until here -->"
OVERVIEW, IN_SHORT = "all machines", "all machines, in short"  # the latter in README.md beside the folder
TASKS = {"decode": "Output tokens/s, 32 source and 32 output tokens", "encode": "Encoder alone, milliseconds",
         "attention": "Attention of 8 heads x 64 alone, GFLOP/s", "causal": "Causal attention, GFLOP/s",
         "matmul": "Matmuls with bias alone (rows x input x output), GFLOP/s"}


def speed(row: Row, milliseconds: float) -> str:
    if row.task == "encode":
        return f"{milliseconds:.2f}"
    if row.task == "decode":
        return f"{row.batch * row.length * 1000 / milliseconds:,.0f}"
    if row.task == "matmul":
        operations = 2 * row.shape[0] * row.shape[1] * row.shape[2]
    else:
        operations = 4 * HEADS * HEAD_WIDTH * row.length ** 2 / (2 if row.task == "causal" else 1)
    return f"{operations / milliseconds * 1e-6:,.0f}"


def share_of_limit(result: dict, limits: list[dict]) -> float | None:
    row = row_of(result)
    of_threads = [one for one in limits if one["threads"] == row.threads]
    seconds = limit_seconds(row, of_threads[0]) if of_threads else None
    if not seconds or "attnc" not in result["milliseconds"] or "attnc" in result["wrong"]:
        return None
    return seconds * 1000 / result["milliseconds"]["attnc"]["minimum"]


def ratios(result: dict) -> str:
    if "ratio" not in result:
        return "-"
    wrong = ratio_to_wrong(result)
    return "{minimum:.2f} ({median:.2f})".format(**result["ratio"]) + (f", {wrong:.2f}*" if wrong else "")


def cell(row: Row, result: dict, name: str) -> str:
    if name in result["failed"]:
        return "failed"
    if name not in result["milliseconds"]:
        return "-"
    text = speed(row, result["milliseconds"][name]["minimum"])
    return f"**{text}**" if name == result.get("best_peer") else text + ("*" if name in result["wrong"] else "")


def table(task: str, results: list[dict], peers: list[str], limits: list[dict]) -> str:
    lines = [f"{TASKS[task]}:", "", f"| | attnc | {' | '.join(peers)} | times the best peer | share of the limit |",
             "|---" * (len(peers) + 4) + "|"]
    for result in results:
        row = row_of(result)
        share = share_of_limit(result, limits)
        lines.append(f"| {row.name.removeprefix(task + ' ')} | " +
                     " | ".join(cell(row, result, name) for name in ["attnc", *peers]) +
                     f" | {ratios(result)} | {f'{share:.0%}' if share else '-'} |")
    return "\n".join(lines)


def starting(results: list[dict]) -> str:
    """What one sentence waits for once; empty where it was not measured."""
    rows = [(result["name"].removeprefix("decode "), start) for result in results if (start := result.get("starting"))]
    if not rows:
        return ""
    columns = {"load": "loading", "first_token": "first token, with the encoder", "first_step": "first step",
               "tenth_step": "tenth step"}
    known = [what for what in columns if what in rows[0][1]]
    lines = ["What a process waits for, milliseconds (weights in the page cache, files not verified):", "",
             f"| attnc | {' | '.join(columns[what] for what in known)} |", "|---" * (len(known) + 1) + "|"]
    return "\n".join(lines + [f"| {name} | {' | '.join(f'{start[what]:.2f}' for what in known)} |" for name, start in rows])


def summary(result: dict, limits: list[dict]) -> str:
    """A row in short, for the terminal."""
    row = row_of(result)
    parts = [f"{name} {speed(row, times['minimum'])}" for name, times in result["milliseconds"].items()]
    if ratio := result.get("ratio"):
        parts.append(f"{ratio['minimum']:.2f} times {result['best_peer']}")
    if share := share_of_limit(result, limits):
        parts.append(f"{share:.0%} of the limit")
    parts += [f"{name} FAILED: {reason}" for name, reason in result["failed"].items()]
    parts += [f"{name} DIFFERS by {result['difference'][name]:.2g}" for name in result["wrong"]]
    return "  " + "; ".join(parts)


def slower_with_more_threads(results: list[dict]) -> list[str]:
    """Who is slower with two threads than with one, and in what."""
    times = {row_of(result): result["milliseconds"] for result in results}
    slower: dict[str, list[str]] = {}
    for row, two in times.items():
        one = times.get(dataclasses.replace(row, threads=1), {}) if row.threads == 2 else {}
        for name in one.keys() & two.keys():
            if two[name]["minimum"] > one[name]["minimum"]:
                slower.setdefault(name, []).append(row.name.replace(" 2t", ""))
    return [f"{name} is slower with two threads than with one: {', '.join(rows)}." for name, rows in sorted(slower.items())]


def not_measured(results: list[dict]) -> list[str]:
    """By tasks, types and threads: one name for all rows of a kind."""
    measured = {result["name"] for result in results}
    kinds: dict[str, list[Row]] = {}
    for row in all_rows():
        kinds.setdefault(f"{row.task} {row.dtype} {row.threads}t", []).append(row)
    names = []
    for kind, rows in kinds.items():
        missing = [row.name for row in rows if row.name not in measured]
        names += [kind] if len(missing) == len(rows) else missing
    return [f"Not measured: {', '.join(names)}."] if names else []


def notes(report: dict) -> list[str]:
    """What was missing, failed or wrong, each said once, what threads slow down, and what there is no row of."""
    said: dict[str, dict[str, None]] = {}
    for result in report["rows"]:
        for name, reason in [*result["missing"].items(), *result["failed"].items()]:
            said.setdefault(f"{name}: {reason}", {})[f"{result['task']} {result['dtype']}"] = None
        for name in result["wrong"]:
            said.setdefault(f"{name}: outputs differ too much", {})[
                f"{result['name']} by {result['difference'][name]:.2g}"] = None
    return [f"{what} ({', '.join(where)})." for what, where in said.items()] + slower_with_more_threads(
        report["rows"]) + not_measured(report["rows"])


def describe_limits(limits: list[dict]) -> list[str]:
    lines = []
    for one in limits:
        operations = ", ".join(f"{dtype} {speed / 1e9:,.0f}" for dtype, speed in one["operations"].items())
        read = ", ".join(f"{int(size) >> 20} MB {speed / 1e9:.0f}" for size, speed in one["read"].items())
        lines.append(f"Limits, {one['threads']} thread{'s' * (one['threads'] > 1)}: {operations} G operations/s; "
                     f"reading {read} GB/s.")
    return lines


def picture_of(machine: str) -> str:
    """Seen from the page."""
    return f"images/performance-{machine}.svg"


def short_picture_of(machine: str) -> str:
    """Of the first table's rows, likewise."""
    return f"images/performance-{machine}-short.svg"


def markdown(report: dict, machine: str) -> str:
    peers = report["peers"]
    parts = [f"{report['machine']}; {', '.join(f'{name} {version}' for name, version in report['versions'].items())}; "
             f"{report.get('runs', 'one run')} of {report['rounds']} rounds, {report['started']}. Best of all runs; ratios also "
             "by medians, in brackets. The best peer is bold; * marks outputs that differ too much, and ratios to a faster peer "
             "with such outputs."]
    parts += [f"![requests and encoders, as multiples of the best peer's speed]({short_picture_of(machine)})"]
    parts += describe_limits(report["limits"])
    for task in TASKS:
        results = [result for result in report["rows"] if result["task"] == task]
        if results:
            parts += filter(None, [table(task, results, peers, report["limits"]), starting(results)])
    parts.append(f"![speed as a multiple of the best peer's]({picture_of(machine)})")
    return "\n\n".join([*parts, "\n".join(f"* {note}" for note in notes(report))]).rstrip() + "\n"


def place_of(machine: str) -> re.Pattern:
    return re.compile(re.escape(BEGIN.format(machine)) + ".*?" + re.escape(END), re.DOTALL)


def has_place(page: pathlib.Path, machine: str) -> bool:
    return bool(place_of(machine).search(page.read_text()))


def add_place(page: pathlib.Path, machine: str) -> None:
    """A section at the end, where the page has none for the machine."""
    if not has_place(page, machine):
        page.write_text(f"{page.read_text().rstrip()}\n\n## {machine}\n\n{BEGIN.format(machine)}\n{END}\n")


def replace_in(page: pathlib.Path, text: str, machine: str) -> None:
    """`machine`: or OVERVIEW, IN_SHORT."""
    written = f"{BEGIN.format(machine)}\n{text}{END}"
    page.write_text(place_of(machine).sub(lambda _: written, page.read_text()))
