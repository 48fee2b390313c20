# SPDX-License-Identifier: Apache-2.0
"""The command line, checked before anything is installed or measured."""

import argparse
import json
import pathlib
import re

from report import OVERVIEW, has_place
from rows import QUICK, all_rows, choose

PEERS = ["CTranslate2", "ONNX Runtime", "OpenVINO", "PyTorch"]


def parser_of(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="peers", description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attnc", type=pathlib.Path, help="the compiler to measure, with LimitBench beside it")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("build/peers"),
                        help="folder for packages and models")
    parser.add_argument("--rows", nargs="+", metavar="PATTERN",
                        help="rows whose names fit, such as 'decode int8 1t' or 'matmul * 2t'; all unless said")
    parser.add_argument("--quick", action="store_true",
                        help="the most important rows, two short rounds; goes with no other choice of these")
    parser.add_argument("--list", action="store_true", help="name the rows that are chosen and stop")
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=PEERS, help="all unless said")
    parser.add_argument("--rounds", type=int, help="blocks per row and peer; 3 unless said")
    parser.add_argument("--seconds", type=float, help="the least time of a block; 1 unless said")
    parser.add_argument("--keep", action="store_true", help="measure the bundles that were compiled before")
    parser.add_argument("--output", type=pathlib.Path, help="folder with performance.md to write into")
    parser.add_argument("--machine", help="what --output calls this machine: a word for the names of files")
    parser.add_argument("--write", type=pathlib.Path, metavar="RESULTS",
                        help="measure nothing: write an earlier results.json to --output")
    parser.add_argument("--python", type=pathlib.Path, help="a Python that has the packages already")
    parser.add_argument("--in-environment", action="store_true", help=argparse.SUPPRESS)
    for hidden in ("--serve", "--serve-type", "--serve-threads", "--serve-output"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    return parser


def choose_effort(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    given = [f"--{name}" for name in ("rows", "rounds", "seconds") if getattr(options, name) is not None]
    if options.quick and given:
        parser.error(f"--quick chooses what {given[0]} would")
    usual = (list(QUICK), 2, 0.4) if options.quick else ([], 3, 1.0)
    options.rows = choose(options.rows or usual[0]) if options.rows or options.quick else all_rows()
    options.rounds = usual[1] if options.rounds is None else options.rounds
    options.seconds = usual[2] if options.seconds is None else options.seconds
    if options.rounds < 1:
        parser.error(f"--rounds is {options.rounds}; it must be at least 1")
    if not 0 < options.seconds < 1e6:
        parser.error(f"--seconds is {options.seconds}; it must be above 0")


def check_tools(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    if not options.attnc:
        parser.error("--attnc is needed")
    for flag, file in (("--attnc", options.attnc), ("--python", options.python),
                       ("LimitBench, beside --attnc,", options.attnc.with_name("LimitBench"))):
        if file and not file.is_file():
            parser.error(f"{flag} is '{file}', which is not a file")


def check_rows(parser: argparse.ArgumentParser, file: pathlib.Path, names: set[str]) -> None:
    """Tables are written whole: rows that were measured before are not to be lost."""
    if not file.is_file():
        return
    before = {row["name"] for row in read_report(parser, file)["rows"]} & {row.name for row in all_rows()}
    if lost := sorted(before - names):
        parser.error(f"{file} has rows that the new tables would lack, as '{lost[0]}': measure them as well, or "
                     "remove the file, or give another --machine")


def check_output(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    if not options.machine:
        parser.error("--output needs --machine")
    if not re.fullmatch(r"[A-Za-z0-9_-]+", options.machine):
        parser.error(f"--machine is '{options.machine}'; it takes letters, digits, '-' and '_'")
    page = options.output / "performance.md"
    if not page.is_file():
        parser.error(f"--output is '{options.output}', where there is no performance.md")
    if not has_place(page, OVERVIEW):
        parser.error(f"{page} has no place for the table of {OVERVIEW}: a comment 'written by tests/bench/peers on "
                     f"{OVERVIEW}' and one 'until here'")


def read_report(parser: argparse.ArgumentParser, path: pathlib.Path) -> dict:
    try:
        report = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        parser.error(f"{path}: {error}")
    needed = {"machine", "versions", "peers", "rounds", "started", "limits", "rows"}
    if not isinstance(report, dict) or not needed <= report.keys():
        parser.error(f"{path} is not a results.json of this program")
    return report


def earlier_file(options: argparse.Namespace) -> pathlib.Path:
    return options.output / f"performance-{options.machine}.json"


def read_options(description: str) -> argparse.Namespace:
    parser = parser_of(description)
    options = parser.parse_args()
    if options.serve:
        return options
    choose_effort(parser, options)
    if options.list:
        return options
    if options.write and not options.output:
        parser.error("--write needs --output")
    if options.output:
        check_output(parser, options)
        if not options.write:
            check_rows(parser, earlier_file(options), {row.name for row in options.rows})
    if options.write:
        options.write = read_report(parser, options.write)
        check_rows(parser, earlier_file(options), {row["name"] for row in options.write["rows"]})
    else:
        check_tools(parser, options)
    return options
