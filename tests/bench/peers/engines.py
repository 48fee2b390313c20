# SPDX-License-Identifier: Apache-2.0
"""The peers, each with the settings that suit it best.

An engine is made of (folder, dtype, threads), or raises Unsupported. For each task that it can do it has a method of
that name, which makes all ready for a row and returns what is to be timed: a call that gives lists of LENGTH ids for
`decode`, an array for the others.
"""

import os
import pathlib
from collections.abc import Callable

import numpy

from cache import cache_names, empty_cache, shared_names
from formats import matmul_file, onnx_file, step_file
from inputs import aligned, attention_inputs, matmul_input, matmul_weights, sources
from rows import END, HEAD_WIDTH, HEADS, LAYERS, LENGTH, PAD, WIDTH, Row
from search import Outputs, search


class Unsupported(Exception):
    pass


class CTranslate2:
    types = {"f32": "float32", "bf16": "bfloat16", "int8": "int8"}

    def __init__(self, folder: pathlib.Path, dtype: str, threads: int):
        import ctranslate2
        if self.types[dtype] not in ctranslate2.get_supported_compute_types("cpu"):
            raise Unsupported(f"no {dtype} on this machine")
        # The first translator of a process starts the threads, and is slower for it.
        for _ in range(2 if threads > 1 else 1):
            self.translator = ctranslate2.Translator(str(folder / "ct2"), device="cpu", inter_threads=1,
                                                     compute_type=self.types[dtype], intra_threads=threads)

    def decode(self, row: Row) -> Callable[[], Outputs]:
        tokens = [[f"t{i}" for i in ids] for ids in sources(row)]
        others = {"</s>": END, "<unk>": PAD - 1}

        def run() -> Outputs:
            results = self.translator.translate_batch(tokens, beam_size=row.beam, max_decoding_length=LENGTH,
                                                      min_decoding_length=LENGTH, max_batch_size=0)
            return [[int(token[1:]) if token[0] == "t" else others[token] for token in r.hypotheses[0]] for r in results]

        return run


class PyTorch:
    """Decodes eagerly, as transformers does; encoders are compiled, each shape by itself, with their weights as constants.
    int8 is the dynamic quantisation of linears."""

    def __init__(self, folder: pathlib.Path, dtype: str, threads: int):
        import torch
        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        self.torch, self.folder, self.dtype = torch, folder, dtype
        self.type = torch.bfloat16 if dtype == "bf16" else torch.float32
        self.model = None

    def quantized(self, module):
        if self.dtype != "int8":
            return module
        return self.torch.ao.quantization.quantize_dynamic(module, {self.torch.nn.Linear}, dtype=self.torch.qint8)

    def load(self):
        if self.model is None:
            import network
            self.model = self.quantized(network.load_model(self.folder / "hf", self.type))
        return self.model

    def decode(self, row: Row) -> Callable[[], Outputs]:
        model, ids = self.load(), self.torch.tensor(sources(row))
        return lambda: model.generate(
            input_ids=ids, attention_mask=self.torch.ones_like(ids), num_beams=row.beam, do_sample=False,
            min_new_tokens=LENGTH, max_new_tokens=LENGTH, suppress_tokens=[PAD], length_penalty=0.0)[:, 1:].tolist()

    def score(self, given: Outputs, outputs: Outputs) -> list[float]:
        """The mean log-probability of each output's tokens."""
        ids, targets = self.torch.tensor(given), self.torch.tensor(outputs)
        begun = self.torch.cat([self.torch.full((len(given), 1), PAD), targets[:, :-1]], 1)
        logits = self.load()(input_ids=ids, decoder_input_ids=begun).logits
        return logits.log_softmax(-1).gather(2, targets[:, :, None]).mean((1, 2)).tolist()

    def encode(self, row: Row) -> Callable:
        encoder = self.load().model.encoder
        if self.dtype != "int8":
            self.torch._dynamo.reset()
            encoder = self.torch.compile(encoder, dynamic=False, options={"freezing": True})
        ids = self.torch.tensor(sources(row))
        return lambda: encoder(input_ids=ids).last_hidden_state

    def attention(self, row: Row, causal: bool = False) -> Callable:
        q, k, v = (self.torch.from_numpy(x).to(self.type) for x in attention_inputs(row))
        return lambda: self.torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

    def causal(self, row: Row) -> Callable:
        return self.attention(row, causal=True)

    def matmul(self, row: Row) -> Callable:
        _, inner, outer = row.shape
        linear = self.torch.nn.Linear(inner, outer)
        linear.weight[:], linear.bias[:] = (self.torch.from_numpy(array) for array in matmul_weights(row))
        linear = self.quantized(self.torch.nn.Sequential(linear.to(self.type)))  # which quantises what is inside
        x = self.torch.from_numpy(matmul_input(row)).to(self.type)
        return lambda: linear(x)


class OnnxRuntime:
    """Caches stay in the library's memory from step to step."""

    def __init__(self, folder: pathlib.Path, dtype: str, threads: int):
        import onnxruntime
        if dtype == "bf16":
            raise Unsupported("no kernels of bfloat16")
        self.library, self.folder = onnxruntime, folder
        self.form = "-dynamic" if dtype == "int8" else ""
        self.options = onnxruntime.SessionOptions()
        self.options.intra_op_num_threads, self.options.inter_op_num_threads = threads, 1
        self.options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        self.sessions: dict = {}

    def open(self, name: str):
        if name not in self.sessions:
            path = onnx_file(self.folder, name + self.form)
            self.sessions[name] = self.library.InferenceSession(str(path), self.options,
                                                                providers=["CPUExecutionProvider"])
        return self.sessions[name]

    def decode(self, row: Row) -> Callable[[], Outputs]:
        encoder, session, given = self.open("encoder"), self.open(step_file(row.beam, turned=True)), numpy.array(sources(row))
        value = self.library.OrtValue.ortvalue_from_numpy
        inputs, outputs = [i.name for i in session.get_inputs()], [o.name for o in session.get_outputs()]

        def run() -> Outputs:
            shared = encoder.run_with_ort_values(None, {"ids": value(given)})[1:]
            cache = [value(empty_cache(name, row.batch * row.beam)) for name in cache_names("past")]

            def step(tokens, order):
                binding = session.io_binding()
                first = [value(tokens), value(order)] if "order" in inputs else [value(tokens)]
                for name, tensor in zip(inputs, [*first, *shared, *cache]):
                    binding.bind_ortvalue_input(name, tensor)
                for name in outputs:
                    binding.bind_output(name, "cpu")
                session.run_with_iobinding(binding)
                scores, best, *cache[:] = binding.get_outputs()
                return scores.numpy(), best.numpy()

            return search(step, row.batch, row.beam)

        return run

    def call(self, session, given: dict[str, numpy.ndarray], shape: tuple[int, ...]) -> Callable:
        """Inputs and the result stay where they are."""
        binding, output = session.io_binding(), aligned(numpy.zeros(shape, numpy.float32))
        value = self.library.OrtValue.ortvalue_from_numpy
        kept = {name: aligned(array) for name, array in given.items()}
        for name, array in kept.items():
            binding.bind_ortvalue_input(name, value(array))
        binding.bind_ortvalue_output(session.get_outputs()[0].name, value(output))

        def run(kept=kept) -> numpy.ndarray:
            session.run_with_iobinding(binding)
            return output

        return run

    def encode(self, row: Row) -> Callable:
        ids = numpy.array(sources(row))
        return self.call(self.open("encoder-alone"), {"ids": ids}, (*ids.shape, WIDTH))

    def attention(self, row: Row, causal: bool = False) -> Callable:
        """The library's own operation, whose tensors are 1 x length x width."""
        from onnx import TensorProto, helper
        shape = [1, row.length, WIDTH]
        tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "qkvy"]
        node = helper.make_node("MultiHeadAttention", ["q", "k", "v"], ["y"], domain="com.microsoft", num_heads=HEADS,
                                unidirectional=int(causal))
        graph = helper.make_graph([node], "attention", tensors[:3], tensors[3:])
        opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
        session = self.library.InferenceSession(model.SerializeToString(), self.options,
                                                providers=["CPUExecutionProvider"])
        given = {name: x.transpose(0, 2, 1, 3).reshape(shape) for name, x in zip("qkv", attention_inputs(row))}
        run = self.call(session, given, tuple(shape))
        return lambda: run().reshape(1, row.length, HEADS, HEAD_WIDTH).transpose(0, 2, 1, 3)

    def causal(self, row: Row) -> Callable:
        return self.attention(row, causal=True)

    def matmul(self, row: Row) -> Callable:
        rows, _, outer = row.shape
        return self.call(self.open(matmul_file(row)), {"x": matmul_input(row)}, (rows, outer))


class OpenVino:
    """The cache is a state inside the model. Linears of int8 quantise rows by ranges that samples had; in a step of one
    row, which is faster so, weights are compressed and the row is quantised as it comes. What int8 leaves over has the type
    that the environment says (worker.make_worker)."""

    def __init__(self, folder: pathlib.Path, dtype: str, threads: int):
        import openvino
        self.library, self.folder, self.dtype = openvino, folder, dtype
        self.core = openvino.Core()
        precision = os.environ.get("PEERS_INT8_REST", "f32") if dtype == "int8" else dtype
        self.config = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
                       "INFERENCE_PRECISION_HINT": precision, "KV_CACHE_PRECISION": precision}
        if dtype == "int8":
            self.config["DYNAMIC_QUANTIZATION_GROUP_SIZE"] = str(2 ** 64 - 1)
        self.requests: dict = {}

    def read(self, name: str):
        """Names that end in -compressed have no file of their own."""
        model = self.core.read_model(onnx_file(self.folder, name.removesuffix("-compressed")))
        if name.endswith("-compressed"):
            import nncf
            model = nncf.compress_weights(model, mode=nncf.CompressWeightsMode.INT8_SYM)
        return model

    def compile(self, model):
        return self.core.compile_model(model, "CPU", self.config).create_infer_request()

    def open(self, name: str, int8: str = "-static"):
        if self.dtype == "int8":
            name += int8
        if name not in self.requests:
            model = self.read(name)
            if name.startswith("step"):
                self.attend_at_once(model)
                self.make_stateful(model)
            self.requests[name] = self.compile(model)
            if name.startswith("step"):
                self.check_attention(self.requests[name])
        return self.requests[name]

    def attend_at_once(self, model) -> None:
        """One operation for each attention to a cache, which then is appended to in place, and reordered by an index."""
        from openvino import opset13
        for softmax in [node for node in model.get_ordered_ops() if node.get_type_name() == "Softmax"]:
            scores, (mixed,) = softmax.input_value(0).get_node(), softmax.output(0).get_target_inputs()
            keys, values = (port.get_node() for port in (scores.input_value(1), mixed.get_node().input_value(1)))
            if keys.get_type_name() == "Transpose" and values.get_type_name() == "Concat":
                queries = scores.input_value(0).get_node().input_value(0)  # before they are scaled
                whole = opset13.scaled_dot_product_attention(queries, keys.input_value(0), values.output(0))
                for appended in (keys.input_value(0).get_node(), values):  # the exporter turns the order into int64
                    appended.input_value(0).get_node().input(1).replace_source_output(model.input("order").get_node().output(0))
                for reader in mixed.get_node().output(0).get_target_inputs():
                    reader.replace_source_output(whole.output(0))

    def check_attention(self, request) -> None:
        """OpenVINO quietly takes what it does not recognise apart again, which costs it a third in large beams."""
        nodes = request.get_compiled_model().get_runtime_model().get_ops()
        whole = sum(node.get_rt_info()["layerType"].astype(str) == "ScaledDotProductAttention" for node in nodes)
        if whole != LAYERS:
            raise RuntimeError(f"{whole} attentions of a step are one operation, not {LAYERS}")

    def make_stateful(self, model) -> None:
        """The cache becomes a state, which is empty at first."""
        from openvino import opset13
        from openvino._offline_transformations import apply_make_stateful_transformation
        apply_make_stateful_transformation(model, dict(zip(cache_names("past", False), cache_names("new", False))))

        def constant(*numbers: int):
            return opset13.constant(numpy.array(numbers, numpy.int64))

        rows = opset13.gather(opset13.shape_of(model.input("ids"), output_type="i64"), constant(0), constant(0))
        empty = opset13.broadcast(opset13.constant(numpy.float32(0)), opset13.concat([rows, constant(HEADS, 0, HEAD_WIDTH)], 0))
        for node in model.get_ops():
            if node.get_type_name() == "ReadValue":
                node.set_arguments([empty])
        model.validate_nodes_and_infer_types()

    def decode(self, row: Row) -> Callable[[], Outputs]:
        encoder, given, tensor = self.open("encoder"), numpy.array(sources(row)), self.library.Tensor
        request = self.open(step_file(row.beam, turned=False), "-compressed" if row.batch * row.beam == 1 else "-static")

        def run() -> Outputs:
            encoder.set_input_tensor(tensor(given))
            encoder.infer()
            for i, name in enumerate(shared_names(), 1):
                request.set_tensor(name, encoder.get_output_tensor(i))
            request.reset_state()

            def step(tokens, order):
                request.set_tensor("ids", tensor(tokens))
                request.set_tensor("order", tensor(order.astype(numpy.int32)))
                request.infer()
                return request.get_tensor("scores").data, request.get_tensor("tokens").data

            return search(step, row.batch, row.beam)

        return run

    def call(self, request, arrays: list[numpy.ndarray]) -> Callable:
        """Tensors only point to their arrays, so both live as long as the call."""
        tensors = [(self.library.Tensor(array, shared_memory=True), array) for array in arrays]
        for i, (tensor, _) in enumerate(tensors):
            request.set_input_tensor(i, tensor)

        def run(kept=tensors) -> numpy.ndarray:
            request.infer()
            return request.get_output_tensor(0).data

        return run

    def encode(self, row: Row) -> Callable:
        return self.call(self.open("encoder-alone"), [numpy.array(sources(row))])

    def attention(self, row: Row, causal: bool = False) -> Callable:
        from openvino import opset13
        inputs = [opset13.parameter([1, HEADS, row.length, HEAD_WIDTH], numpy.float32) for _ in range(3)]
        model = self.library.Model([opset13.scaled_dot_product_attention(*inputs, causal=causal)], inputs)
        return self.call(self.compile(model), attention_inputs(row))

    def causal(self, row: Row) -> Callable:
        return self.attention(row, causal=True)

    def matmul(self, row: Row) -> Callable:
        return self.call(self.open(matmul_file(row)), [matmul_input(row)])


ENGINES = {"CTranslate2": CTranslate2, "ONNX Runtime": OnnxRuntime, "OpenVINO": OpenVino, "PyTorch": PyTorch}
