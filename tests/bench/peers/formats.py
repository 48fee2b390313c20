# SPDX-License-Identifier: Apache-2.0
"""The network and the kernels in the form each peer reads; made once, then kept."""

import contextlib
import pathlib
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from cache import cache_names, cache_shape, length_axis, shared_names
from inputs import matmul_weights
from rows import PAD, Row
from samples import Sample, encoder_samples, matmul_samples, step_samples

MODELS = "models-4"  # the folder of all; it gets another name when the network or graphs change, as earlier ones are kept


@dataclass(frozen=True)
class Graph:
    write: Callable[[pathlib.Path], None]
    samples: Callable[[], Iterator[Sample]]


def onnx_file(folder: pathlib.Path, name: str) -> pathlib.Path:
    """Of int8, names end in -dynamic and -static."""
    return folder / "onnx" / f"{name}.onnx"


def step_file(beam: int, turned: bool) -> str:
    """`turned`: the keys of its cache."""
    return f"step{beam}" + ("" if turned else "-of-rows")


def matmul_file(row: Row) -> str:
    return f"matmul-{row.shape[1]}-{row.shape[2]}"


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


def export_encoder(folder: pathlib.Path, serves_decoder: bool, path: pathlib.Path) -> None:
    import network
    import torch
    export(network.Encoder(network.load_model(folder / "hf"), serves_decoder), (torch.ones(2, 5, dtype=torch.int64),),
           path, ["ids"], ["hidden", *(shared_names() if serves_decoder else [])], ({0: "batch", 1: "source"},))


def export_step(folder: pathlib.Path, beam: int, turned: bool, path: pathlib.Path) -> None:
    import network
    import torch

    def caches(names: list[str], rows: int, length: int) -> list[torch.Tensor]:
        return [torch.zeros(cache_shape(name, rows, length)) for name in names]

    def lengths(names: list[str], rows: torch.export.Dim, axis: torch.export.Dim) -> list[dict[int, torch.export.Dim]]:
        return [{0: rows, length_axis(name): axis} for name in names]

    past_names, index = cache_names("past", turned), torch.int64 if turned else torch.int32
    sentences, source, past = (torch.export.Dim(name) for name in ("sentences", "source", "past"))
    rows = beam * sentences if beam > 1 else sentences
    export(network.Step(network.load_model(folder / "hf"), beam, turned),
           (torch.ones(3 * beam, 1, dtype=torch.int64), torch.arange(3 * beam, dtype=index), caches(shared_names(), 3, 5),
            caches(past_names, 3 * beam, 4)), path,
           ["ids", "order", *shared_names(), *past_names], ["scores", "tokens", *cache_names("new", turned)],
           ({0: rows}, {0: rows}, lengths(shared_names(), sentences, source), lengths(past_names, rows, past)))


def export_matmul(row: Row, path: pathlib.Path) -> None:
    import torch
    _, inner, outer = row.shape
    linear = torch.nn.Linear(inner, outer)
    weight, bias = matmul_weights(row)
    linear.load_state_dict({"weight": torch.from_numpy(weight), "bias": torch.from_numpy(bias)})
    export(linear, (torch.ones(3, inner),), path, ["x"], ["y"], ({0: "rows"},))


def quantize_dynamic(path: pathlib.Path, result: pathlib.Path) -> None:
    import quantize
    quantize.quantize_dynamic(path, result)


def quantize_static(path: pathlib.Path, result: pathlib.Path, graph: Graph) -> None:
    import quantize
    quantize.quantize_static(path, result, graph.samples)


def onnx_graphs(folder: pathlib.Path, rows: list[Row]) -> dict[str, Graph]:
    """The graphs that rows need, by name; those of steps come after the encoder, which gives them their samples."""
    graphs: dict[str, Graph] = {}
    for row in rows:
        if row.task == "decode":
            graphs["encoder"] = Graph(partial(export_encoder, folder, True), encoder_samples)
            for turned in (True, False):
                step = onnx_file(folder, step_file(row.beam, turned))
                graphs[step.stem] = Graph(partial(export_step, folder, row.beam, turned),
                                          partial(step_samples, onnx_file(folder, "encoder"), step, row.beam, turned))
        elif row.task == "encode":
            graphs["encoder-alone"] = Graph(partial(export_encoder, folder, False), encoder_samples)
        elif row.task == "matmul":
            graphs[matmul_file(row)] = Graph(partial(export_matmul, row),
                                             partial(matmul_samples, row.shape[1]))
    return graphs


def onnx_steps(folder: pathlib.Path, rows: list[Row]) -> dict[pathlib.Path, Callable[[], None]]:
    steps: dict[pathlib.Path, Callable[[], None]] = {}
    for name, graph in onnx_graphs(folder, rows).items():
        path, dynamic, static = (onnx_file(folder, name + form) for form in ("", "-dynamic", "-static"))
        steps |= {path: partial(graph.write, path), dynamic: partial(quantize_dynamic, path, dynamic),
                  static: partial(quantize_static, path, static, graph)}
    return steps


def prepare(folder: pathlib.Path, rows: list[Row]) -> None:
    (folder / "onnx").mkdir(parents=True, exist_ok=True)
    steps = {folder / "hf" / "model.safetensors": lambda: make_network(folder / "hf"),
             folder / "ct2" / "model.bin": lambda: convert_for_ctranslate2(folder), **onnx_steps(folder, rows)}
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
