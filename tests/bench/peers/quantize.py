# SPDX-License-Identifier: Apache-2.0
"""Graphs whose linears multiply int8, beside those of float32 that they are made from.

Rows are quantised by the range that all of a product have when they come (dynamic), or by ranges that samples had
before (static).
"""

import pathlib
import tempfile
from collections.abc import Callable, Iterator

import onnx
import onnxruntime.quantization as quantization

from samples import Sample

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
