# SPDX-License-Identifier: Apache-2.0
"""What is measured: sizes of the network, and rows, each a request or a kernel with a type and a number of threads."""

import dataclasses
import fnmatch
from dataclasses import dataclass

VOCABULARY, WIDTH, HEADS, LAYERS, SEED = 32000, 512, 8, 6, 1
INNER, HEAD_WIDTH = 4 * WIDTH, WIDTH // HEADS
END, PAD = 0, VOCABULARY - 1
LENGTH, BEAM = 32, 4  # source and target tokens of a request; hypotheses of a beam

DTYPES = ("f32", "bf16", "int8")
THREADS = (1, 2)
REQUESTS = ((1, 1), (8, 1), (64, 1), (1, BEAM), (8, BEAM), (64, BEAM))  # batch and beam
ENCODERS = ((1, 128), (8, 128), (1, 512), (8, 512))                     # batch and length
ATTENTION_LENGTHS = (128, 512, 2048, 8192)
MATMULS = ((256, 512, 512), (256, 512, 1536), (256, 512, 2048), (256, 2048, 512), (1024, 1024, 1024), (8, 512, 512),
           (8, 512, 32000), (64, 512, 32000))  # rows x input x output


@dataclass(frozen=True)
class Row:
    task: str  # decode, encode, attention, causal, matmul
    dtype: str
    threads: int
    batch: int = 1
    beam: int = 1
    length: int = LENGTH  # of sources, of outputs, of queries and keys
    shape: tuple[int, ...] = ()  # of a matmul

    @property
    def name(self) -> str:
        what = {"decode": f"batch {self.batch} beam {self.beam}", "encode": f"{self.batch} x {self.length}",
                "matmul": " x ".join(map(str, self.shape))}
        return f"{self.task} {self.dtype} {self.threads}t {what.get(self.task, self.length)}"

    def as_dict(self) -> dict:
        return dataclasses.asdict(self)


def row_of(result: dict) -> Row:
    """The row of a result, or of what as_dict() gave."""
    fields = {field.name: result[field.name] for field in dataclasses.fields(Row)}
    return Row(**fields | {"shape": tuple(fields["shape"])})


def all_rows() -> list[Row]:
    """Rows that share processes (worker.settings_for) follow each other."""
    rows = []
    for dtype in DTYPES:
        for threads in THREADS:
            rows += [Row("decode", dtype, threads, batch=batch, beam=beam) for batch, beam in REQUESTS]
            rows += [Row("encode", dtype, threads, batch=batch, length=length) for batch, length in ENCODERS]
            if dtype != "int8":  # no peer multiplies queries and keys as integers
                rows += [Row(task, dtype, threads, length=length) for task in ("attention", "causal")
                         for length in ATTENTION_LENGTHS]
            rows += [Row("matmul", dtype, threads, shape=shape) for shape in MATMULS]
    return rows


QUICK = ("decode * 1t batch [18] beam 1", "decode * 1t batch 64 beam 1", "decode * 1t batch 1 beam 4",
         "decode * 2t batch 1 beam 1", "encode * 1t 1 x 128", "attention * 1t 512", "matmul * 1t 256 x 512 x 2048")


def fits(row: Row, pattern: str) -> bool:
    return any(fnmatch.fnmatchcase(row.name, p) for p in (pattern, pattern + " *"))


def choose(patterns: list[str]) -> list[Row]:
    """Rows whose names, or beginnings of names, fit a pattern of the shell."""
    for pattern in patterns:
        if not any(fits(row, pattern) for row in all_rows()):
            raise SystemExit(f"--rows: no row is called '{pattern}'; --list names them all")
    return [row for row in all_rows() if any(fits(row, pattern) for pattern in patterns)]
