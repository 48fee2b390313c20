# SPDX-License-Identifier: Apache-2.0
"""attnc and its peers on one Transformer-base with random weights, measured in one run.

    python3 tests/bench/peers --attnc build/release/bin/attnc --output docs --machine mine

The model is made by Hugging Face's transformers (a Marian network, fixed seed) and given to each as it likes it: imported
and compiled by attnc, converted for CTranslate2, as ONNX graphs for ONNX Runtime and OpenVINO, as it is to PyTorch.
Sources are 32 random tokens, outputs have exactly 32. Encoders, attention and matmuls are measured alone as well. In each
row all outputs are compared with PyTorch's in float32; then blocks of requests are timed, the peers in turn, several rounds.

The packages come from PyPI into a virtual environment in --work (some 5 GB with what torch brings along), which is kept, as
are the models. --work has results.json, written after each row; --output gets performance-MACHINE.json,
images/performance-MACHINE.svg (and -short.svg), and in performance.md the tables of that machine (a section of its own at the
end if there is none) and the first ones, of all machines; the README.md beside --output gets their numbers in short. All rows
take about an hour, --quick about ten minutes; the machine should do nothing else. A run that is interrupted writes no tables.
The exit code is 1 where attnc fails or its outputs are wrong.
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

from options import read_options

PACKAGES = ["torch", "transformers", "ctranslate2", "onnx", "onnxruntime", "onnxscript", "openvino", "nncf", "numpy"]


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
    rows = options.rows
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
        raise SystemExit(f"interrupted: what was measured is in {options.work / 'results.json'}; --write takes it") from None
    return report


def write(report: dict, folder: pathlib.Path, machine: str) -> None:
    from overview import ONE_THREAD, in_short, overview
    from picture import draw
    from report import IN_SHORT, OVERVIEW, add_place, has_place, markdown, picture_of, replace_in, short_picture_of
    add_place(folder / "performance.md", machine)
    (folder / "images").mkdir(exist_ok=True)
    (folder / f"performance-{machine}.json").write_text(json.dumps(report, indent=1) + "\n")
    draw(report, folder / picture_of(machine))
    draw(report, folder / short_picture_of(machine), ONE_THREAD.aims)
    replace_in(folder / "performance.md", markdown(report, machine), machine)
    replace_in(folder / "performance.md", overview(folder), OVERVIEW)
    if (readme := folder.resolve().parent / "README.md").is_file() and has_place(readme, IN_SHORT):
        replace_in(readme, in_short(folder), IN_SHORT)


def is_right(row: dict) -> bool:
    return "attnc" not in row["wrong"] and "attnc" not in row["failed"]


def main() -> int:
    options = read_options(__doc__)
    if options.list:
        print("\n".join(row.name for row in options.rows))
        return 0
    if options.write:
        write(options.write, options.output, options.machine)
        return 0
    options.work.mkdir(parents=True, exist_ok=True)
    if options.serve:
        from engines import ENGINES
        from worker import serve
        serve(lambda: ENGINES[options.serve](options.work, options.serve_type, int(options.serve_threads)),
              pathlib.Path(options.serve_output))
        return 0
    if not options.in_environment:
        for log in options.work.glob("*.log"):  # of an earlier run
            log.unlink()
        in_environment(options)
    report = run(options)
    if options.output:
        write(report, options.output, options.machine)
    bad = [row["name"] for row in report["rows"] if not is_right(row)]
    if bad:
        print(f"attnc failed, or its outputs differ too much: {', '.join(bad)}", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
