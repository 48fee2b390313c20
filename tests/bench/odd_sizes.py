#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Odd sizes beside even ones: a Transformer-base whose rows, heads or vocabulary divide nothing, in one run with its neighbour.

    python3 tests/bench/odd_sizes.py --attnc build/release/bin/attnc

Compiles the models for this machine into --work and prints the least time of a request of each, the odd one's as a multiple
of the even one's. Other heads and vocabularies change the matrices: times are divided by the bytes of weights.
"""

import argparse
import dataclasses
import json
import pathlib
import subprocess

BASE = pathlib.Path(__file__).parents[1] / "end-to-end" / "specs" / "transformer-base.yaml"


@dataclasses.dataclass(frozen=True)
class Sizes:
    batch: int = 4
    source: int = 36
    head: int = 64
    vocabulary: int = 32000

    @property
    def model(self) -> str:
        return f"head-{self.head}-vocabulary-{self.vocabulary}"

    def spec(self) -> str:
        """The base model with these sizes; 8 heads, and an inner layer four times as wide, as ever."""
        text = BASE.read_text()
        for old, new in (("width: 512", f"width: {8 * self.head}"), ("width: 2048", f"width: {32 * self.head}"),
                         ("32000", str(self.vocabulary))):
            assert old in text
            text = text.replace(old, new)
        return text


EVEN = Sizes()
PAIRS = {"batch 3, not 4": Sizes(batch=3), "source 37, not 36": Sizes(source=37), "head width 72, not 64": Sizes(head=72),
         "vocabulary 32,003, not 32,000": Sizes(vocabulary=32003), "all four": Sizes(3, 37, 72, 32003)}


def compile_model(options: argparse.Namespace, sizes: Sizes, dtype: str) -> pathlib.Path:
    spec, bundle = options.work / f"{sizes.model}.yaml", options.work / f"{sizes.model}-{dtype}"
    spec.write_text(sizes.spec())
    print(f"compiling {bundle.name}", flush=True)
    subprocess.run([options.attnc, "compile", spec, "--dtype", dtype, "--target", "host", "-o", bundle], check=True,
                   stdout=subprocess.DEVNULL)
    return bundle


def bench(options: argparse.Namespace, bundle: pathlib.Path, sizes: Sizes) -> dict:
    done = subprocess.run([options.attnc, "bench", bundle, "--batch", str(sizes.batch), "--source-length", str(sizes.source),
                           "--target-length", "32", "--threads", str(options.threads), "--seconds", str(options.seconds),
                           "--json"], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def ratio(options: argparse.Namespace, bundles: dict[str, pathlib.Path], odd: Sizes) -> tuple[float, float, float]:
    """Least milliseconds of the odd request and of the even one, and how much longer the odd one takes for its weights."""
    turns = [[bench(options, bundles[sizes.model], sizes) for sizes in (odd, EVEN)] for _ in range(options.rounds)]
    odd_ms, even_ms = (min(turn[side]["ms_minimum"] for turn in turns) for side in (0, 1))
    odd_bytes, even_bytes = (report["weight_bytes"] for report in turns[0])
    return odd_ms, even_ms, odd_ms / even_ms * even_bytes / odd_bytes


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attnc", type=pathlib.Path, required=True, help="the compiler to measure")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("build/odd-sizes"), help="folder for the models")
    parser.add_argument("--dtypes", nargs="+", default=["f32", "bf16", "int8"], choices=["f32", "bf16", "int8"])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3, help="turns of each pair; 3 unless said")
    parser.add_argument("--seconds", type=float, default=1.0, help="the least time of a turn; 1 unless said")
    options = parser.parse_args()
    if not options.attnc.is_file():
        parser.error(f"--attnc is '{options.attnc}', which is not a file")
    return options


def main() -> None:
    options = read_options()
    options.work.mkdir(parents=True, exist_ok=True)
    for dtype in options.dtypes:
        models = {sizes.model: sizes for sizes in (EVEN, *PAIRS.values())}
        bundles = {model: compile_model(options, sizes, dtype) for model, sizes in models.items()}
        for name, odd in PAIRS.items():
            odd_ms, even_ms, times = ratio(options, bundles, odd)
            print(f"{dtype} {name}: {odd_ms:.1f} ms beside {even_ms:.1f}, {times:.2f} times as long by bytes of weights", flush=True)


if __name__ == "__main__":
    main()
