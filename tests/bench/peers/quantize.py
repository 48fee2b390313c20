# SPDX-License-Identifier: Apache-2.0
"""Graphs whose linears multiply int8, beside those of float32 that they are made from.

Rows are quantised by the range that they have when they come (dynamic), or by ranges that samples had before
(static).
"""

import pathlib
import tempfile
from collections.abc import Callable, Iterator

import numpy
import onnx
import onnxruntime
import onnxruntime.quantization as quantization

from cache import cache_names, empty_cache, shared_names
from rows import LENGTH, SEED, VOCABULARY
from search import search

Sample = dict[str, numpy.ndarray]  # a graph's inputs by name
LINEARS = {"op_types_to_quantize": ["MatMul", "Gemm"], "weight_type": quantization.QuantType.QInt8, "per_channel": True}


def load(path: pathlib.Path) -> onnx.ModelProto:
    model = onnx.load(path)
    del model.graph.value_info[:]  # the exporter's, which no longer fit the weights that it turned
    return model


def quantize_dynamic(path: pathlib.Path, result: pathlib.Path) -> None:
    quantization.quantize_dynamic(load(path), str(result), **LINEARS)


class Samples(quantization.CalibrationDataReader):
    def __init__(self, samples: Iterator[Sample]):
        self.samples = samples

    def get_next(self) -> Sample | None:
        return next(self.samples, None)


def quantize_static(path: pathlib.Path, result: pathlib.Path, samples: Callable[[], Iterator[Sample]]) -> None:
    """Products of attention, which have no weights, stay float32."""
    model = load(path)
    weights = {tensor.name for tensor in model.graph.initializer}
    linears = [node.name for node in model.graph.node
               if node.op_type in LINEARS["op_types_to_quantize"] and node.input[1] in weights]
    with tempfile.TemporaryDirectory() as scratch:
        onnx.save(model, f"{scratch}/model.onnx")
        quantization.quantize_static(f"{scratch}/model.onnx", str(result), Samples(samples()),
                                     quant_format=quantization.QuantFormat.QDQ, nodes_to_quantize=linears,
                                     activation_type=quantization.QuantType.QInt8,
                                     extra_options={"ActivationSymmetric": True}, **LINEARS)


def generator() -> numpy.random.Generator:
    """For other numbers than those that are measured."""
    return numpy.random.default_rng(SEED + 2)


def encoder_samples() -> Iterator[Sample]:
    numbers = generator()
    return ({"ids": numbers.integers(1, VOCABULARY - 2, (2, length))} for length in (LENGTH, 128, 512))


def step_samples(encoder: pathlib.Path, step: pathlib.Path, beam: int) -> Iterator[Sample]:
    """What the steps of a search read, for a few sources."""
    batch, given = 4, []
    source = onnxruntime.InferenceSession(encoder, providers=["CPUExecutionProvider"])
    session = onnxruntime.InferenceSession(step, providers=["CPUExecutionProvider"])
    _, *shared = source.run(None, {"ids": generator().integers(1, VOCABULARY - 2, (batch, LENGTH))})
    kept = {name: part.repeat(beam, 0) for name, part in zip(shared_names(), shared)}
    cache = {name: empty_cache(name, batch * beam) for name in cache_names("past")}
    inputs = {tensor.name for tensor in session.get_inputs()}

    def run(tokens, order):
        given.append({"ids": tokens, **({"order": order} if "order" in inputs else {}), **kept, **cache})
        scores, best, *appended = session.run(None, given[-1])
        cache.update(zip(cache_names("past"), appended))
        return scores, best

    search(run, batch, beam)
    return iter(given)


def matmul_samples(width: int) -> Iterator[Sample]:
    return iter([{"x": generator().standard_normal((256, width), numpy.float32)}])
