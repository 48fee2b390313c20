#!/usr/bin/env python3
"""Recurrent encoder-decoders of every kind: their bundles compared with recurrent_network.py."""

import json
import re
import unittest

from bundles import attnc, compile_bundle, ids, run_ids, scratch
from network import make_weights
from recurrent_network import RecurrentNetwork

START, END = 1, 2
SOURCES = [[3, 5, 6, 2], [4], list(range(3, 16)) + [2], [7, 2], [9, 8, 7, 6, 5]]
TARGETS = [[3, 4, 5], [6], [7, 8, 9, 10, 3, 4, 5, 6], [], [10, 10]]
# States stay in [-1, 1] and weights are of size 0.4, less where there are more than 40: a float's half unit (6e-8) in
# each of some 30 terms (of up to 512 in LongRows, whose sums are no larger), through at most 14 positions of gates whose
# slopes are at most 1, stays below 1e-4 with room to spare.
TOLERANCE = 1e-4


class RecurrentModel:
    """Tests shared by the models. Subclasses give keys of the spec, and what they mean to the reference."""

    cell, keys, weights, meaning = None, "", "", {}

    @classmethod
    def setUpClass(cls):
        cls.spec = scratch("recurrent.yaml")
        cls.spec.write_text(f"""model:
  kind: encoder_decoder
  cell: {cls.cell}
{cls.keys}  vocabulary: {{source: 16, target: 11}}
  tokens: {{start: {START}, end: {END}}}
  decoding: {{max_length: 12}}
{cls.weights}""")
        weights = scratch("recurrent.safetensors")
        values = make_weights(cls.spec, weights, seed=5)
        cls.bundle = compile_bundle(cls.spec, "--weights", weights, "--target", "host")
        cls.network = RecurrentNetwork(values, cls.cell, **cls.meaning)

    def test_log_probabilities_of_given_targets(self):
        text = "".join(f"{ids(s)}\t{ids(t)}\n" for s, t in zip(SOURCES, TARGETS))
        lines = attnc("score", self.bundle, "--ids", "--json", text=text).splitlines()
        self.assertEqual(len(SOURCES), len(lines))
        for source, target, line in zip(SOURCES, TARGETS, lines):
            logits, _ = self.network.decode(source, [START] + target)
            got = [token["log_probability"] for token in json.loads(line)["tokens"]]
            self.assertEqual(len(target) + 1, len(got))
            for row, token, log_probability in zip(logits, target + [END], got):
                self.assertAlmostEqual(row[token], log_probability, delta=TOLERANCE)

    def test_each_step_gives_what_scoring_gives(self):
        text = "".join(ids(s) + "\n" for s in SOURCES)
        for line, source in zip(attnc("run", self.bundle, "--ids", "--json", "--beam", 3, text=text).splitlines(), SOURCES):
            output = json.loads(line)["outputs"][0]
            logits, _ = self.network.decode(source, [START] + output["ids"])
            wanted = [row[token] for row, token in zip(logits, output["ids"] + [END])]
            self.assertEqual(len(output["log_probabilities"]), len(output["ids"]) + output["ended"])
            for a, b in zip(wanted, output["log_probabilities"]):
                self.assertAlmostEqual(a, b, delta=TOLERANCE)

    def test_attention_is_drawn(self):
        if not self.network.score:
            self.skipTest("no attention")
        drawing = scratch("attention.svg")
        line = attnc("run", self.bundle, "--ids", "--attention", drawing, text=ids(SOURCES[0]) + "\n")
        output = [int(token) for token in line.split()]
        got = [float(value) for value in re.findall(r"<title>([^<]*)</title>", drawing.read_text())]
        _, looks = self.network.decode(SOURCES[0], [START] + output)
        wanted = [share for shares in looks for share in shares][:len(got)]
        self.assertGreaterEqual(len(got), len(output) * len(SOURCES[0]))
        for a, b in zip(wanted, got):
            self.assertAlmostEqual(a, b, delta=TOLERANCE)

    def test_answers_do_not_depend_on_batch_or_threads(self):
        for options in ([], ["--beam", 4]):
            alone = run_ids(self.bundle, SOURCES, *options, "--batch", 1, "--threads", 1)
            for batch, threads in ((2, 1), (5, 2)):
                self.assertEqual(alone, run_ids(self.bundle, SOURCES, *options, "--batch", batch, "--threads", threads))

    def test_each_layer_is_one_cell_kernel(self):
        planned = attnc("compile", self.spec, "--emit", "outlined", "--weights", "random:1")
        step = planned[planned.index("func.func @step"):planned.index("func.func @logits")]
        self.assertEqual(self.network.layers, len(re.findall(r"attn\.call @cell_", step)))
        encode = planned[planned.index("func.func @encode"):planned.index("func.func @step")]
        self.assertEqual(self.network.layers * len(self.network.directions), len(re.findall(r"attn\.call @cell_", encode)))
        self.assertEqual(bool(self.network.score), "attn.call @attention" in step)


class Sutskever(RecurrentModel, unittest.TestCase):
    """Stacked LSTMs without attention."""

    cell = "lstm"
    keys = "  width: 20\n  encoder: {layers: 2}\n  decoder: {layers: 2}\n  biases: {cell: input}\n"
    meaning = {"layers": 2}


class Luong(RecurrentModel, unittest.TestCase):
    """Two layers, bidirectional, general attention, input feeding."""

    cell = "lstm"
    keys = """  width: 12
  encoder: {layers: 2, width: 6, bidirectional: true}
  decoder: {layers: 2, attention: {score: general, place: after, input_feeding: true}}
  embedding: {width: 7}
"""
    meaning = {"layers": 2, "bidirectional": True, "score": "general", "input_feeding": True}


class LuongWithoutFeeding(RecurrentModel, unittest.TestCase):
    """Attention outside of the loop; a linear bridge from one direction."""

    cell = "gru"
    keys = """  width: 40
  encoder: {layers: 1, width: 20, bidirectional: true}
  decoder: {layers: 1, attention: {score: scaled_dot}}
  bridge: {kind: linear, direction: forward}
  biases: {attention: false}
"""
    meaning = {"bidirectional": True, "score": "scaled_dot", "bridge": "linear", "direction": "forward"}


class GeneralBefore(RecurrentModel, unittest.TestCase):
    """The state before asks; resets before the matmul; zeros to start from."""

    cell = "gru"
    keys = """  width: 20
  reset: before
  encoder: {layers: 2, width: 9}
  decoder: {layers: 2, attention: {score: general, place: before}}
  bridge: {kind: zeros}
  output: {context: true}
"""
    meaning = {"layers": 2, "reset": "before", "score": "general", "place": "before", "bridge": "zeros",
               "context": True}


class Bahdanau(RecurrentModel, unittest.TestCase):
    """As examples/dates."""

    cell = "gru"
    keys = """  width: 20
  reset: before
  encoder: {layers: 1, width: 13, bidirectional: true}
  decoder: {layers: 1, attention: {score: additive, place: before, width: 9}}
  bridge: {kind: linear_tanh, direction: backward}
  embedding: {width: 8}
  output: {context: true, embedding: true}
"""
    meaning = {"bidirectional": True, "reset": "before", "score": "additive", "place": "before",
               "bridge": "linear_tanh", "direction": "backward", "context": True, "embedding": True}


class Cosine(RecurrentModel, unittest.TestCase):
    """Scores without weights, input feeding, an LSTM without biases."""

    cell = "lstm"
    keys = """  width: 16
  encoder: {layers: 1}
  decoder: {layers: 1, attention: {score: cosine, input_feeding: true}}
  biases: {cell: none}
"""
    meaning = {"score": "cosine", "input_feeding": True}


class LinearBridges(RecurrentModel, unittest.TestCase):
    """Both states of an LSTM cross by linears of their own; dot scores; gates as in TensorFlow 1."""

    cell = "lstm"
    keys = """  width: 14
  encoder: {layers: 2, width: 7, bidirectional: true}
  decoder: {layers: 2, attention: {score: dot}}
  bridge: {kind: linear}
  embedding: {width: 9}
"""
    weights = "weights: {gates: igfo}\n"
    meaning = {"layers": 2, "bidirectional": True, "score": "dot", "bridge": "linear", "order": "igfo"}


class OneDirectionCrosses(RecurrentModel, unittest.TestCase):
    """An LSTM's last states of the backward direction, through a tanh; the state before asks by dot scores."""

    cell = "lstm"
    keys = """  width: 14
  encoder: {layers: 1, width: 7, bidirectional: true}
  decoder: {layers: 1, attention: {score: dot, place: before}}
  bridge: {kind: linear_tanh, direction: backward}
"""
    meaning = {"bidirectional": True, "score": "dot", "place": "before", "bridge": "linear_tanh", "direction": "backward"}


class KerasGates(RecurrentModel, unittest.TestCase):
    """A GRU with the gates in the order of Keras."""

    cell = "gru"
    keys = """  width: 10
  reset: before
  encoder: {layers: 1, width: 10}
  decoder: {layers: 1}
"""
    weights = "weights: {gates: zrn}\n"
    meaning = {"reset": "before", "order": "zrn"}


class LongRows(RecurrentModel, unittest.TestCase):
    """Rows so long that they lie a line apart in memory: the encoder's gates take 4 KiB."""

    cell = "lstm"
    keys = """  width: 8
  encoder: {layers: 1, width: 256, bidirectional: true}
  decoder: {layers: 1, attention: {score: general, place: after}}
  bridge: {kind: linear}
  embedding: {width: 7}
"""
    meaning = {"bidirectional": True, "score": "general", "bridge": "linear"}

    def test_rows_lie_a_line_apart(self):
        planned = attnc("compile", self.spec, "--emit", "planned", "--weights", "random:1")
        self.assertEqual(2, planned.count("arena rows 1040"))  # 4 x 256 and a line of 16 floats, of both directions


if __name__ == "__main__":
    unittest.main()
