# SPDX-License-Identifier: Apache-2.0
"""Rows measured one by one, everyone's outputs compared, blocks of requests timed in turn."""

import contextlib
import pathlib
import statistics
import time
from collections.abc import Callable, Iterator

import numpy

from attnc import Attnc
from inputs import sources
from ratios import add_ratios
from rows import VOCABULARY, Row
from worker import Failed, Missing, Worker, make_worker, settings_for

# What outputs may differ by. Of decode: mean log-probability of the tokens, by PyTorch in float32, below its own
# choice's; of arrays: the root of the mean square of the difference, divided by that of PyTorch's float32 result.
# Float32: sums in other orders. Smaller types: at most three times the largest difference of any engine, which rounding
# explains: of decode some 0.06 (bf16) and 0.1 (int8), or 0.24 where one sentence's beams take another way, of encode
# 0.009 and 0.055. One linear of values or of a feed-forward with its rows in a wrong order gives 0.57 and more of decode and
# 0.33 of encode (peers_test.py), another sentence's output 1.7, random tokens 4.6.
TOLERANCES = {"decode": {"f32": 1e-3, "bf16": 0.12, "int8": 0.3}, "encode": {"f32": 1e-5, "bf16": 0.03, "int8": 0.16}}
KERNELS = {"f32": 1e-5, "bf16": 0.01, "int8": 0.05}
# What a single sentence or row may differ by. Of random tokens a sentence loses 4.6, a row that is another one's 1.4.
WRONG_SENTENCE, WRONG_ROW = 2.0, 0.7

LONG = 1000.0  # milliseconds: what everyone takes longer for is measured in one round


class Reference:
    """PyTorch in float32: what all outputs are compared with. Nothing can be said without it."""

    def __init__(self, folder: pathlib.Path):
        self.worker = Worker("PyTorch", folder, "f32", 1, label="reference")
        self.worker.start()
        self.known: dict[Row, object] = {}

    def output(self, row: Row):
        row = Row(row.task, "f32", 1, row.batch, row.beam, row.length, row.shape)
        if row not in self.known:
            output = self.ask(row=row.as_dict())
            self.known[row] = output if row.task == "decode" else numpy.load(output)
        return self.known[row]

    def ask(self, **request):
        try:
            return self.worker.ask(**request)
        except (Failed, OSError) as error:
            raise SystemExit(f"the reference, PyTorch in float32, has failed: {error}") from None

    def difference(self, row: Row, output) -> float:
        wanted = self.output(row)
        if row.task == "decode":
            if bad := unscorable(output, wanted):
                raise Failed(bad)
            given = sources(row)
            best, other = (self.ask(sources=given, score=ids) for ids in (wanted, output))
            return difference_of_scores(numpy.array(best) - numpy.array(other))
        array = output if isinstance(output, numpy.ndarray) else numpy.load(output)
        if array.shape != wanted.shape:
            raise Failed(f"gives {array.shape} instead of {wanted.shape}")
        return relative(array, wanted)


def unscorable(output, wanted) -> str:
    """Why outputs of tokens have no probability; empty where they have one."""
    lengths = [len(ids) for ids in output]
    if lengths != [len(ids) for ids in wanted]:
        return f"gives outputs of {lengths} tokens"
    outside = [token for ids in output for token in ids if not 0 <= token < VOCABULARY]
    return f"gives a token {outside[0]}, which there is not" if outside else ""


def difference_of_scores(lost: numpy.ndarray) -> float:
    """Of sentences' mean log-probabilities: their mean, or that of a sentence which is wrong however right others are."""
    return float(lost.max() if lost.max() > WRONG_SENTENCE else max(lost.mean(), 0.0))


def relative(array: numpy.ndarray, wanted: numpy.ndarray) -> float:
    """Of all numbers, or of a row of them that is wrong however right others are."""
    def size(of: numpy.ndarray) -> numpy.ndarray:
        return numpy.sqrt((of.reshape(-1, of.shape[-1]).astype(numpy.float64) ** 2).mean(1))

    rows, all_of = size(array - wanted), size(wanted.reshape(1, -1))[0]
    worst = rows.max() / all_of
    return float(worst if not worst <= WRONG_ROW else size((array - wanted).reshape(1, -1))[0] / all_of)


def tolerance(row: Row) -> float:
    return TOLERANCES.get(row.task, KERNELS)[row.dtype]


@contextlib.contextmanager
def told(result: dict, name: str) -> Iterator[None]:
    """A peer that lacks something, or fails, is left out of the row; the rest goes on."""
    try:
        yield
    except Missing as reason:
        result["missing"][name] = str(reason)
    except (Failed, BrokenPipeError, OSError) as error:
        result["failed"][name] = str(error) or type(error).__name__


def left(result: dict, names: list[str]) -> list[str]:
    return [name for name in names if name not in result["missing"] and name not in result["failed"]]


def measure_row(row: Row, workers: dict, reference: Reference, rounds: int, seconds: float) -> dict:
    """Of each that can: how far its output is from the reference, the least of all times, their median."""
    result: dict = {**row.as_dict(), "name": row.name, "difference": {}, "milliseconds": {}, "missing": {}, "failed": {}}
    for name, worker in workers.items():
        with told(result, name):
            result["difference"][name] = worker.difference(row, reference.difference, tolerance(row))
    times: dict[str, list[float]] = {name: [] for name in workers}
    for number in range(rounds):
        if number > 0 and all(min(block) > LONG for block in times.values() if block):
            break
        for name in left(result, list(workers)):
            with told(result, name):
                block = workers[name].times(row, seconds)
                times[name] += [min(block), statistics.median_high(block)]
    for name in left(result, list(workers)):
        minima, medians = times[name][::2], times[name][1::2]
        result["milliseconds"][name] = {"minimum": min(minima), "median": statistics.median(medians)}
    add_ratios(result, tolerance(row))
    return result


def start_workers(attnc: Attnc, peers: list[str], folder: pathlib.Path, row: Row) -> dict:
    """Those that suit `row`, and others of its type, number of threads and settings."""
    workers: dict = {"attnc": attnc}
    for name in peers:
        workers[name] = make_worker(name, folder, row)
        with contextlib.suppress(Failed):  # told when it is asked
            workers[name].start()
    return workers


def measure(rows: list[Row], attnc: Attnc, folder: pathlib.Path, options, done: Callable[[dict], None]) -> None:
    """Calls `done` with each row's result."""
    reference = Reference(folder)
    current, workers, start = None, {}, time.monotonic()
    try:
        for number, row in enumerate(rows):
            if (row.dtype, row.threads, settings_for(row)) != current:
                current = row.dtype, row.threads, settings_for(row)
                for worker in workers.values():
                    worker.end()
                workers = start_workers(attnc, options.peers, folder, row)
            print(f"[{number + 1}/{len(rows)}, {(time.monotonic() - start) / 60:.0f} min] {row.name}", flush=True)
            done(measure_row(row, workers, reference, options.rounds, options.seconds) | {"starting": attnc.starting(row)})
    finally:
        for worker in [*workers.values(), reference.worker]:
            worker.end()
