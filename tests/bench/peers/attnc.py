# SPDX-License-Identifier: Apache-2.0
"""attnc itself, asked as a Worker is, by its own commands."""

import ctypes
import json
import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Callable

import numpy

from formats import matmul_file
from inputs import attention_inputs, matmul_input, matmul_weights, sources
from rows import HEADS, HEAD_WIDTH, INNER, LAYERS, PAD, VOCABULARY, WIDTH, Row
from worker import SLOWEST, Failed, pinned

ENCODER = f"""name: encoder
weights:
  file: hf/model.safetensors
  names:
    source_embedding: model.shared.weight
    encoder_self_attention: "model.encoder.layers.{{layer}}.self_attn.{{projection:q_proj,k_proj,v_proj,out_proj}}.{{parameter}}"
    encoder_self_attention_norm: "model.encoder.layers.{{layer}}.self_attn_layer_norm.{{parameter}}"
    encoder_feed_forward: "model.encoder.layers.{{layer}}.fc{{linear}}.{{parameter}}"
    encoder_feed_forward_norm: "model.encoder.layers.{{layer}}.final_layer_norm.{{parameter}}"
model:
  kind: encoder
  width: {WIDTH}
  heads: {HEADS}
  encoder: {{layers: {LAYERS}}}
  feed_forward: {{width: {INNER}}}
  positions: {{layout: concatenated, max_length: 512}}
  embedding: {{scale: sqrt_width}}
  vocabulary: {{source: {VOCABULARY}}}
  tokens: {{source_end: 0, pad: {PAD}}}
"""

# What a fresh process waits for, and a later step; `first_token` has the encoder before the first step.
STARTING = ("load", "first_token", "first_step", "tenth_step")

# As OpenVINO's: what int8 leaves is bf16 where the machine has it.
FAST_INT8 = "types: {attention: bf16}\n"

ATTENTION = f"""name: {{name}}
graph:
  name: call
  inputs:
    q: {{{{shape: [batch, head: {HEADS}, query, width: {HEAD_WIDTH}]}}}}
    k: {{{{shape: [batch, head: {HEADS}, {{key}}, width: {HEAD_WIDTH}]}}}}
    v: {{{{shape: [batch, head: {HEADS}, {{key}}, width: {HEAD_WIDTH}]}}}}
  ops:
    products: {{{{matmul: [q, k], transposed: true}}}}
    scores: {{{{scale: products, by: {HEAD_WIDTH ** -0.5}}}}}
    {{mask}}
    weights: {{{{softmax: {{masked}}}}}}
    context: {{{{matmul: [weights, v]}}}}
  outputs: [context]
"""

MATMUL = """name: matmul
weights:
  file: {name}.safetensors
graph:
  name: call
  inputs:
    x: {{shape: [row, width: {inner}]}}
  weights:
    weight: {{shape: [{outer}, {inner}]}}
    bias: {{shape: [{outer}]}}
  ops:
    y: {{linear: [x, weight, bias]}}
  outputs: [y]
"""


def spec_name(row: Row) -> str:
    names = {"decode": "model", "encode": "encoder", "matmul": matmul_file(row) if row.shape else ""}
    return names.get(row.task, row.task)


def write_spec(folder: pathlib.Path, attnc: pathlib.Path, row: Row) -> pathlib.Path:
    """The spec of what a row runs, beside its weights."""
    name = spec_name(row)
    path = folder / f"{name}.yaml"
    if row.task == "decode":
        shutil.rmtree(folder / "imported", ignore_errors=True)  # import leaves what may have been edited
        subprocess.run([attnc, "import", folder / "hf", "-o", folder / "imported"], check=True, capture_output=True)
        return folder / "imported" / "model.yaml"
    if row.task == "encode":
        path.write_text(ENCODER + (FAST_INT8 if row.dtype == "int8" else ""))
    elif row.task == "matmul":
        import safetensors.numpy
        weight, bias = matmul_weights(row)
        safetensors.numpy.save_file({"weight": weight, "bias": bias}, folder / f"{name}.safetensors")
        path.write_text(MATMUL.format(name=name, inner=row.shape[1], outer=row.shape[2]))
    else:
        causal = row.task == "causal"
        path.write_text(ATTENTION.format(name=name, key="query" if causal else "key",
                                         mask="masked: {causal_mask: scores}" if causal else "",
                                         masked="masked" if causal else "scores"))
    return path


def forget(file: pathlib.Path) -> None:
    """Drops a file from the page cache, if no process maps it and it lies on a disk. attnc maps it next and asks for large
    pages, as after a start of the machine; as it was written, some may be small where memory was short."""
    with open(file, "rb") as opened:
        os.fsync(opened.fileno())
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def sizes_of(row: Row) -> dict[str, int]:
    if row.task == "matmul":
        return {"row": row.shape[0]}
    sizes = {"batch": 1, "query": row.length}
    return sizes if row.task == "causal" else sizes | {"key": row.length}


def first_line(text: str) -> str:
    return next(iter(text.strip().splitlines()), "no message")


class Attnc:
    def __init__(self, attnc: pathlib.Path, folder: pathlib.Path):
        self.attnc, self.folder = attnc, folder
        self.uncompiled: dict[tuple[str, str], str] = {}  # what could not be compiled, and why
        self.reports: dict[Row, list[dict]] = {}          # of requests that were timed

    def bundle(self, row: Row) -> pathlib.Path:
        return self.folder / "bundles" / f"{spec_name(row)}-{row.dtype}"

    def compile(self, row: Row) -> None:
        key = spec_name(row), row.dtype
        spec = write_spec(self.folder, self.attnc, row)
        self.bundle(row).parent.mkdir(exist_ok=True)
        done = subprocess.run([self.attnc, "compile", spec, "--dtype", row.dtype, "--target", "host", "-o",
                               self.bundle(row)], capture_output=True, text=True)
        if done.returncode != 0:
            self.uncompiled[key] = "cannot compile: " + first_line(done.stderr).removeprefix("attnc: error: ")

    def prepare(self, rows: list[Row], keep: bool) -> None:
        """`keep` measures bundles that were compiled before."""
        for row in {(spec_name(row), row.dtype): row for row in rows}.values():
            if not (keep and self.bundle(row).exists()):
                print(f"compiling {spec_name(row)} in {row.dtype}", flush=True)
                self.compile(row)
            if (spec_name(row), row.dtype) in self.uncompiled:
                print(f"  attnc {self.uncompiled[spec_name(row), row.dtype]}", flush=True)
            elif (weights := self.bundle(row) / "weights.safetensors").exists():
                forget(weights)

    def call(self, *arguments, text: str | None = None) -> str:
        try:
            done = subprocess.run([str(a) for a in arguments], input=text, capture_output=True, text=True, timeout=SLOWEST)
        except subprocess.TimeoutExpired:
            raise Failed(f"takes more than {SLOWEST} seconds") from None
        if done.returncode != 0:
            raise Failed(f"exit code {done.returncode}: {first_line(done.stderr)}")
        return done.stdout

    def require(self, row: Row) -> None:
        if reason := self.uncompiled.get((spec_name(row), row.dtype)):
            raise Failed(reason)

    def times(self, row: Row, seconds: float) -> list[float]:
        self.require(row)
        if row.task in ("decode", "encode"):
            what = ["--batch", row.batch, "--source-length", row.length]
            if row.task == "decode":
                what += ["--beam", row.beam, "--target-length", row.length]
        else:
            what = ["--sizes", ",".join(f"{name}={size}" for name, size in sizes_of(row).items())]
        report = json.loads(self.call(*pinned(row.threads), self.attnc, "bench", self.bundle(row), *what, "--threads",
                                      row.threads, "--seconds", seconds, "--json"))
        self.reports.setdefault(row, []).append(report)
        return [report["ms_minimum"], report["ms_median"]]

    def starting(self, row: Row) -> dict[str, float]:
        """Least milliseconds of what one sentence waits for once, and of a later step to compare with; of other rows nothing."""
        reports = self.reports.get(row, [])
        if row.task != "decode" or row.batch * row.beam > 1 or not reports:
            return {}
        return {what: min(report[f"ms_{what}"] for report in reports) for what in STARTING}

    def difference(self, row: Row, differs: Callable, allowed: float) -> float:
        return differs(row, self.output(row))

    def output(self, row: Row):
        self.require(row)
        if row.task == "decode":
            lines = self.run(row, "--beam", row.beam, "--min-length", row.length, "--max-length", row.length,
                             "--length-penalty", 0, "--suppress-tokens", PAD)
            return [list(map(int, line.split())) for line in lines]
        if row.task == "encode":
            lines = self.run(row, "--vectors", "tokens", "--json")
            return numpy.array([json.loads(line)["vectors"] for line in lines], numpy.float32)
        return self.call_graph(row)

    def run(self, row: Row, *arguments) -> list[str]:
        """The lines that come out, with as many sentences at once, and threads, as are timed."""
        return self.call(*pinned(row.threads), self.attnc, "run", self.bundle(row), "--ids", "--batch", row.batch,
                         "--threads", row.threads, *arguments, text=ids_text(row)).splitlines()

    def call_graph(self, row: Row) -> numpy.ndarray:
        """Calls the bundle's library from here, always on one thread."""
        sys.path.append(str(pathlib.Path(__file__).parents[2] / "end-to-end"))
        from kernel_call import Bundle
        ctypes.CDLL(None).syscall(158, 0x1023, 18)  # arch_prctl: asks for AMX's tiles, as the runtime does
        inputs = [matmul_input(row)] if row.task == "matmul" else attention_inputs(row)
        result = Bundle(self.bundle(row)).call("call", sizes_of(row), *(array.ravel().tolist() for array in inputs))[0]
        shape = (row.shape[0], row.shape[2]) if row.task == "matmul" else inputs[0].shape
        return numpy.array(result, numpy.float32).reshape(shape)

    def end(self) -> None:
        pass


def ids_text(row: Row) -> str:
    return "".join(" ".join(map(str, ids)) + "\n" for ids in sources(row))
