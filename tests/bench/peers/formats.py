# SPDX-License-Identifier: Apache-2.0
"""The network and the kernels in the form each peer reads; made once, then kept."""

import contextlib
import pathlib
import sys
import traceback
from collections.abc import Callable

from cache import cache_names, cache_shape, length_axis, shared_names
from inputs import matmul_weights
from rows import PAD, Row


GRAPHS = "onnx-2"  # their folder; it gets another name when the graphs change, as earlier ones are kept


def onnx_file(folder: pathlib.Path, name: str) -> pathlib.Path:
    return folder / GRAPHS / f"{name}.onnx"


def make_network(folder: pathlib.Path) -> None:
    import network
    network.make_model(folder)


def convert_for_ctranslate2(folder: pathlib.Path) -> None:
    """One file of float32; the types are made at load."""
    import network
    from ctranslate2.converters.transformers import MarianMTLoader
    spec = MarianMTLoader().get_model_spec(network.load_model(folder / "hf"))
    tokens = ["</s>", *(f"t{i}" for i in range(1, PAD - 1)), "<unk>"]  # the start token has no embedding there
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    spec.config.bos_token, spec.config.eos_token, spec.config.unk_token = "<s>", "</s>", "<unk>"
    spec.config.decoder_start_token = "</s>"
    spec.validate()
    spec.optimize(quantization=None)
    (folder / "ct2").mkdir(exist_ok=True)
    spec.save(str(folder / "ct2"))


def export(module, arguments: tuple, path: pathlib.Path, inputs: list[str], outputs: list[str], shapes: tuple) -> None:
    import torch
    torch.onnx.export(module.eval(), arguments, str(path), opset_version=18, input_names=inputs, output_names=outputs,
                      dynamo=True, external_data=False, dynamic_shapes=shapes, verbose=False)


def export_encoder(folder: pathlib.Path, path: pathlib.Path, serves_decoder: bool) -> None:
    import network
    import torch
    export(network.Encoder(network.load_model(folder / "hf"), serves_decoder), (torch.ones(2, 5, dtype=torch.int64),),
           path, ["ids"], ["hidden", *(shared_names() if serves_decoder else [])], ({0: "batch", 1: "source"},))


def export_step(folder: pathlib.Path, path: pathlib.Path, beam: int) -> None:
    import network
    import torch

    def caches(length: int) -> list[torch.Tensor]:
        return [torch.zeros(cache_shape(name, 3, length)) for name in cache_names("past")]

    def lengths(axis: str) -> list[dict[int, str]]:
        return [{0: "rows", length_axis(name): axis} for name in cache_names("past")]

    export(network.Step(network.load_model(folder / "hf"), beam),
           (torch.ones(3, 1, dtype=torch.int64), torch.arange(3), caches(5), caches(4)), path,
           ["ids", "order", *shared_names(), *cache_names("past")], ["scores", "tokens", *cache_names("new")],
           ({0: "rows"}, {0: "rows"}, lengths("source"), lengths("past")))


def export_matmul(path: pathlib.Path, row: Row) -> None:
    import torch
    _, inner, outer = row.shape
    linear = torch.nn.Linear(inner, outer)
    weight, bias = matmul_weights(row)
    linear.load_state_dict({"weight": torch.from_numpy(weight), "bias": torch.from_numpy(bias)})
    export(linear, (torch.ones(3, inner),), path, ["x"], ["y"], ({0: "rows"},))


def int8_of(path: pathlib.Path) -> pathlib.Path:
    return path.with_stem(path.stem + "-int8")


def quantize(path: pathlib.Path) -> None:
    """The same graph beside it, with weights of int8 and rows quantised as they come."""
    import onnx
    import onnxruntime.quantization as quantization
    model = onnx.load(path)
    del model.graph.value_info[:]  # the exporter's, which no longer fit the weights that it turned
    quantization.quantize_dynamic(model, str(int8_of(path)), per_channel=True,
                                  op_types_to_quantize=["MatMul", "Gemm"], weight_type=quantization.QuantType.QInt8)


def matmul_file(row: Row) -> str:
    return f"matmul-{row.shape[1]}-{row.shape[2]}"


def onnx_files(folder: pathlib.Path, rows: list[Row]) -> dict[str, Callable[[pathlib.Path], None]]:
    """Names of the graphs that rows need, and what writes them."""
    files: dict[str, Callable[[pathlib.Path], None]] = {}
    for row in rows:
        if row.task == "decode":
            files["encoder"] = lambda path: export_encoder(folder, path, serves_decoder=True)
            files[f"step{row.beam}"] = lambda path, beam=row.beam: export_step(folder, path, beam)
        elif row.task == "encode":
            files["encoder-alone"] = lambda path: export_encoder(folder, path, serves_decoder=False)
        elif row.task == "matmul":
            files[matmul_file(row)] = lambda path, row=row: export_matmul(path, row)
    return files


def prepare(folder: pathlib.Path, rows: list[Row]) -> None:
    steps: dict[pathlib.Path, Callable[[], None]] = {
        folder / "hf" / "model.safetensors": lambda: make_network(folder / "hf"),
        folder / "ct2" / "model.bin": lambda: convert_for_ctranslate2(folder)}
    (folder / GRAPHS).mkdir(exist_ok=True)
    for name, write in onnx_files(folder, rows).items():
        path = onnx_file(folder, name)
        steps[path] = lambda write=write, path=path: write(path)
        steps[int8_of(path)] = lambda path=path: quantize(path)
    for path, make in steps.items():
        if not path.exists():
            print(f"writing {path}", flush=True)
            make_or_tell(path, make)


def make_or_tell(path: pathlib.Path, make: Callable[[], None]) -> None:
    """Half a file is removed. Exporters talk much: into a log; who misses the file fails later, the rest goes on."""
    log = path.parents[1] / "prepare.log"
    with open(log, "a") as talk, contextlib.redirect_stdout(talk), contextlib.redirect_stderr(talk):
        try:
            make()
        except BaseException as error:
            path.unlink(missing_ok=True)
            if not isinstance(error, Exception):
                raise
            traceback.print_exc()
            print(f"  failed: {type(error).__name__}; see {log}", file=sys.__stdout__, flush=True)
