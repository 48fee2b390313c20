# SPDX-License-Identifier: Apache-2.0
"""attnc and its peers on one Transformer-base with random weights, measured in one run.

    python3 tests/bench/peers --attnc build/release/bin/attnc --output docs --machine xeon

The model is made by Hugging Face's transformers (a Marian network, fixed seed) and given to each as it likes it: imported
and compiled by attnc, converted for CTranslate2, as ONNX graphs for ONNX Runtime and OpenVINO, as it is to PyTorch.
Sources are 32 random tokens, outputs have exactly 32. Encoders, attention and matmuls are measured alone as well. In each
row all outputs are compared with PyTorch's in float32; then blocks of requests are timed, the peers in turn, several rounds.

The packages come from PyPI into a virtual environment in --work (some 5 GB with what torch brings along), which is kept, as
are the models. --work has results.json, written after each row; --output gets performance-MACHINE.json,
images/performance-MACHINE.svg, and in performance.md the tables of that machine and the first one, of all. All rows take more
than an hour, --quick about ten minutes; the machine should do nothing else.
"""

import argparse
import datetime
import importlib.metadata
import json
import os
import pathlib
import platform
import subprocess
import sys

from rows import QUICK, all_rows, choose

PACKAGES = ["torch", "transformers", "ctranslate2", "onnx", "onnxruntime", "onnxscript", "openvino", "nncf", "numpy"]
PEERS = ["CTranslate2", "ONNX Runtime", "OpenVINO", "PyTorch"]


def in_environment(options: argparse.Namespace) -> None:
    """Goes on in a Python that has the packages."""
    python = options.python
    if python is None:
        python = options.work / "venv" / "bin" / "python"
        if not (options.work / "venv" / "complete").exists():
            print(f"installing {', '.join(PACKAGES)} into {options.work / 'venv'}", flush=True)
            subprocess.run([sys.executable, "-m", "venv", "--clear", options.work / "venv"], check=True)
            subprocess.run([python, "-m", "pip", "install", "--progress-bar", "off", *PACKAGES], check=True)
            (options.work / "venv" / "complete").touch()
    os.execv(python, [str(python), *sys.argv, "--in-environment"])


# Other programs may slow down any one measurement of the limits.
ROWS_PER_LIMIT = 20


def machine() -> str:
    names = [line.split(":")[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
             if line.startswith("model name")]
    return f"{names[0] if names else platform.machine()}, {len(os.sched_getaffinity(0))} cores"


def describe_run(options: argparse.Namespace, limits: list[dict]) -> dict:
    packages = {"CTranslate2": "ctranslate2", "ONNX Runtime": "onnxruntime", "OpenVINO": "openvino", "PyTorch": "torch"}
    versions = {name: importlib.metadata.version(packages[name]) for name in options.peers}
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=pathlib.Path(__file__).parent,
                            capture_output=True, text=True).stdout.strip()
    return {"started": datetime.date.today().isoformat(), "machine": machine(), "versions": {"attnc": commit} | versions,
            "peers": options.peers, "rounds": options.rounds, "seconds": options.seconds, "limits": limits, "rows": []}


def run(options: argparse.Namespace) -> dict:
    from attnc import Attnc
    from formats import MODELS, prepare
    from limits import best_limits, read_limits
    from measure import measure
    from report import summary
    rows = choose(options.rows)
    models = options.work / MODELS
    prepare(models, rows)
    attnc = Attnc(options.attnc.resolve(), models)
    attnc.prepare(rows, options.keep)
    print("measuring the machine's limits", flush=True)
    bench = options.attnc.resolve().with_name("LimitBench")
    report = describe_run(options, read_limits(bench))

    def done(result: dict) -> None:
        report["rows"].append(result)
        if len(report["rows"]) % ROWS_PER_LIMIT == 0 or len(report["rows"]) == len(rows):
            report["limits"] = best_limits(report["limits"], read_limits(bench))
        print(summary(result, report["limits"]), flush=True)
        (options.work / "results.json").write_text(json.dumps(report, indent=1) + "\n")

    try:
        measure(rows, attnc, models, options, done)
    except KeyboardInterrupt:
        print("interrupted: what was measured is kept", flush=True)
    return report


def write(report: dict, folder: pathlib.Path, machine: str) -> None:
    from overview import overview
    from picture import draw
    from report import OVERVIEW, markdown, picture_of, replace_in
    (folder / f"performance-{machine}.json").write_text(json.dumps(report, indent=1) + "\n")
    draw(report, folder / picture_of(machine))
    replace_in(folder / "performance.md", markdown(report, machine), machine)
    replace_in(folder / "performance.md", overview(folder), OVERVIEW)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="peers", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attnc", type=pathlib.Path, help="the compiler to measure; LimitBench is looked for beside it")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("build/peers"),
                        help="folder for packages and models")
    parser.add_argument("--rows", nargs="+", default=["*"], metavar="PATTERN",
                        help="rows whose names fit, such as 'decode int8 1t' or 'matmul * 2t'; see --list")
    parser.add_argument("--quick", action="store_true", help="the most important rows, two short rounds")
    parser.add_argument("--list", action="store_true", help="name the rows and stop")
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=PEERS, help="all unless said")
    parser.add_argument("--rounds", type=int, default=3, help="blocks per row and peer; 3 unless said")
    parser.add_argument("--seconds", type=float, default=1.0, help="the least time of a block; 1 unless said")
    parser.add_argument("--keep", action="store_true", help="measure the bundles that were compiled before")
    parser.add_argument("--output", type=pathlib.Path, help="folder with performance.md to write into")
    parser.add_argument("--machine", help="what --output calls this machine: a word for the names of files")
    parser.add_argument("--write", type=pathlib.Path, metavar="RESULTS",
                        help="measure nothing: write an earlier results.json to --output")
    parser.add_argument("--python", help="a Python that has the packages already")
    parser.add_argument("--in-environment", action="store_true", help=argparse.SUPPRESS)
    for hidden in ("--serve", "--serve-type", "--serve-threads", "--serve-output"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.quick:
        options.rows, options.rounds, options.seconds = list(QUICK), 2, 0.4
    if not (options.attnc or options.serve or options.list or options.write):
        parser.error("--attnc is needed")
    if options.write and not options.output:
        parser.error("--write needs --output")
    if options.output and not options.machine:
        parser.error("--output needs --machine")
    return options


def main() -> None:
    options = read_options()
    if options.list:
        return print("\n".join(row.name for row in all_rows()))
    if options.write:
        return write(json.loads(options.write.read_text()), options.output, options.machine)
    options.work.mkdir(parents=True, exist_ok=True)
    if options.serve:
        from engines import ENGINES
        from worker import serve
        return serve(lambda: ENGINES[options.serve](options.work, options.serve_type, int(options.serve_threads)),
                     pathlib.Path(options.serve_output))
    if not options.in_environment:
        in_environment(options)
    report = run(options)
    if options.output:
        write(report, options.output, options.machine)


if __name__ == "__main__":
    main()
