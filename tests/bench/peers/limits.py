# SPDX-License-Identifier: Apache-2.0
"""The machine's limits, and the time that they allow for a row."""

import json
import os
import pathlib
import subprocess

from rows import HEADS, HEAD_WIDTH, INNER, LAYERS, THREADS, VOCABULARY, WIDTH, Row

BYTES = {"f32": 4, "bf16": 2, "int8": 1}
ATTENTION = WIDTH * WIDTH  # weights of one projection
FEED_FORWARD = 2 * WIDTH * INNER
ENCODER = LAYERS * (4 * ATTENTION + FEED_FORWARD)
SHARED = LAYERS * 2 * ATTENTION  # keys and values of the source for the decoder
STEP = LAYERS * (6 * ATTENTION + FEED_FORWARD) + VOCABULARY * WIDTH


def read_limits(bench: pathlib.Path) -> list[dict]:
    """One object for each number of threads that rows have and the machine has cores for."""
    cores = len(os.sched_getaffinity(0))
    counts = [str(threads) for threads in THREADS if threads <= cores]
    done = subprocess.run([bench, *counts], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def best_limits(one: list[dict], other: list[dict]) -> list[dict]:
    """The higher ones of two measurements, of the same numbers of threads."""
    return [{"threads": a["threads"], **{kind: {name: max(speed, b[kind][name]) for name, speed in a[kind].items()}
                                         for kind in ("operations", "read")}} for a, b in zip(one, other, strict=True)]


def seconds_of(operations: float, read: float, dtype: str, limits: dict) -> float:
    """What takes longer, products or reading `read` bytes of weights; small weights stay in a cache."""
    speeds = {int(size): speed for size, speed in limits["read"].items()}
    speed = speeds[max((size for size in speeds if size <= read), default=min(speeds))]
    return max(operations / limits["operations"][dtype], read / speed)


def limit_seconds(row: Row, limits: dict) -> float | None:
    """The least time that sums and reading of weights take; None where a limit was not measured."""
    if row.dtype not in limits.get("operations", {}):
        return None

    def of(operations: float, weights: float = 0) -> float:
        return seconds_of(operations, weights * BYTES[row.dtype], row.dtype, limits)

    if row.task == "matmul":
        rows, inner, outer = row.shape
        return of(2 * rows * inner * outer, inner * outer)
    if row.task in ("attention", "causal"):
        return of(4 * HEADS * HEAD_WIDTH * row.length ** 2 / (2 if row.task == "causal" else 1))
    tokens = row.batch * row.length
    scores = LAYERS * 4 * row.batch * row.length ** 2 * WIDTH
    encoder = of(2 * tokens * ENCODER + scores, ENCODER)
    if row.task == "encode":
        return encoder
    return encoder + of(2 * tokens * SHARED, SHARED) + row.length * of(2 * row.batch * row.beam * STEP, STEP)
