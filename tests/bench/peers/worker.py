# SPDX-License-Identifier: Apache-2.0
"""A process for each peer, so that one's threads and settings do not touch another's; it is stopped between requests."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable

from rows import Row, row_of

SLOWEST = 600  # seconds that an answer may take


class Failed(Exception):
    """A peer ended, or an error came out of it."""


class Missing(Exception):
    """A peer has no such thing."""


def times_of(run: Callable, seconds: float) -> list[float]:
    """Milliseconds of at least three runs after one to warm up, as of attnc."""
    run()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1000)
    return times


def save(result, path: pathlib.Path) -> str:
    import numpy
    numpy.save(path, result.float().numpy() if hasattr(result, "float") else result)
    return str(path)


class Server:
    """Answers requests, each a line of JSON: the row to make ready, how long to time it, its output, or a score."""

    def __init__(self, engine, output: pathlib.Path):
        self.engine, self.output = engine, output
        self.row: Row | None = None
        self.run: Callable | None = None

    def answer(self, request: dict):
        if "score" in request:
            return self.engine.score(request["sources"], request["score"])
        row = row_of(request["row"])
        if row != self.row:
            prepare = getattr(self.engine, row.task, None)
            if prepare is None:
                return {"missing": "runs only whole requests"}
            self.run, self.row = prepare(row), row
        if "seconds" in request:
            return times_of(self.run, request["seconds"])
        return self.run() if row.task == "decode" else save(self.run(), self.output)


def serve(make_engine: Callable, output: pathlib.Path) -> None:
    from engines import Unsupported
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is not an answer
    try:
        server, missing = Server(make_engine(), output), None
    except Unsupported as reason:
        server, missing = None, str(reason)
    print(json.dumps("ready"), file=answers, flush=True)
    for line in sys.stdin:
        try:
            answer = server.answer(json.loads(line)) if server else {"missing": missing}
        except Exception as error:  # told, so that the others go on
            traceback.print_exc()
            answer = {"failed": f"{type(error).__name__}: {error}".splitlines()[0]}
        print(json.dumps(answer), file=answers, flush=True)


def pinned(threads: int) -> list[str]:
    """The last cores: the first ones serve interrupts."""
    cores = sorted(os.sched_getaffinity(0))[-threads:]
    return ["taskset", "-c", ",".join(map(str, cores))]


class Worker:
    """The other end of serve()."""

    def __init__(self, name: str, folder: pathlib.Path, dtype: str, threads: int, label: str = "", **settings: str):
        """`label` is what its files are called; `settings` join the environment."""
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads), HF_HUB_OFFLINE="1", **settings)
        file = label or name.replace(" ", "-").lower()
        self.log = folder / f"{file}-{dtype}-{threads}.log"
        command = [*pinned(threads), sys.executable, pathlib.Path(__file__).parent, "--serve", name, "--work", folder,
                   "--serve-type", dtype, "--serve-threads", str(threads), "--serve-output", folder / f"{file}.npy"]
        self.command, self.environment = list(map(str, command)), environment
        self.is_late = False
        self.launch()

    def launch(self) -> None:
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
                                            env=self.environment)

    def start(self) -> None:
        """Waits until it is ready, then stops it."""
        self.receive()

    def receive(self):
        watch = threading.Timer(SLOWEST, self.process.kill)
        watch.start()
        line = self.process.stdout.readline()
        self.is_late = not watch.is_alive()
        watch.cancel()
        if not line:
            raise Failed(self.why_it_ended())
        self.process.send_signal(signal.SIGSTOP)
        return json.loads(line)

    def why_it_ended(self) -> str:
        return f"takes more than {SLOWEST} seconds" if self.is_late else f"ended; see {self.log}"

    def ask(self, **request):
        if self.process.poll() is not None:  # in another row: this one may be well, if not fast
            if self.is_late:
                raise Failed(self.why_it_ended())
            self.launch()
            self.start()
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = self.receive()
        if isinstance(answer, dict):
            raise Missing(answer["missing"]) if "missing" in answer else Failed(answer["failed"])
        return answer

    def output(self, row: Row):
        return self.ask(row=row.as_dict())

    def difference(self, row: Row, differs: Callable, allowed: float) -> float:
        return differs(row, self.output(row))

    def times(self, row: Row, seconds: float) -> list[float]:
        return self.ask(row=row.as_dict(), seconds=seconds)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


class Fastest:
    """A peer in several workers, whose settings suit different rows or machines: of each block, the fastest one's times, of
    those whose outputs are right, where there are any."""

    def __init__(self, workers: list[Worker]):
        self.workers = self.right = workers

    def start(self) -> None:
        for worker in self.workers:
            worker.start()

    def difference(self, row: Row, differs: Callable, allowed: float) -> float:
        """The largest one of those that are timed."""
        found, failure = {}, None
        for worker in self.workers:
            try:
                found[worker] = worker.difference(row, differs, allowed)
            except (Failed, OSError) as reason:
                failure = reason
        if not found:
            raise failure
        self.right = [worker for worker, difference in found.items() if difference <= allowed] or list(found)
        return max(found[worker] for worker in self.right)

    def times(self, row: Row, seconds: float) -> list[float]:
        return min((worker.times(row, seconds) for worker in self.right), key=min)

    def end(self) -> None:
        for worker in self.workers:
            worker.end()


# Memory from malloc in large pages, as attnc maps its weights: it makes steps of most peers faster, ONNX Runtime's in int8 by
# 4 to 16%. Other rows gain nothing (its int8 matmul of 8 x 512 x 32,000 took 1.05 and 1.6 times as long).
LARGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}


def settings_for(row: Row) -> dict[str, str]:
    """What joins the environment of all peers for a row; rows of one type and number of threads with equal settings share
    processes."""
    return LARGE_PAGES if row.task == "decode" else {}


def has_bf16() -> bool:
    return bool({"avx512_bf16", "amx_bf16"} & set(pathlib.Path("/proc/cpuinfo").read_text().split()))


def make_worker(name: str, folder: pathlib.Path, row: Row) -> Worker | Fastest:
    dtype, threads, settings = row.dtype, row.threads, settings_for(row)
    if name == "OpenVINO" and dtype == "int8" and has_bf16():  # on some machines slower than float32
        return Fastest([Worker(name, folder, dtype, threads, f"openvino-rest-{rest}", PEERS_INT8_REST=rest, **settings)
                        for rest in ("bf16", "f32")])
    if name != "CTranslate2":
        return Worker(name, folder, dtype, threads, **settings)
    if "avx512f" in pathlib.Path("/proc/cpuinfo").read_text():
        settings = settings | {"CT2_FORCE_CPU_ISA": "AVX512"}
    # Threads that wait by spinning are soon there, but on a machine with other work they keep each other from running.
    return Fastest([Worker(name, folder, dtype, threads, f"ctranslate2-{wait.lower()}", OMP_WAIT_POLICY=wait, **settings)
                    for wait in (["PASSIVE", "ACTIVE"] if threads > 1 else ["PASSIVE"])])
