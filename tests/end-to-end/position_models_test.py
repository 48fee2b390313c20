#!/usr/bin/env python3
"""Encoder-decoders with every kind of position, window, heads, score expressions and blocks: what they score, their
greedy outputs and their beams, compared with network.py; each attention is one kernel."""

import functools
import json
import math
import re
import unittest

from bundles import attnc, compile_bundle, ids, scratch
from network import Network, make_weights
from positions import Alibi, Learned, Positions, Relative, Rotary, Sinusoidal

SPEC = """name: positions
model:
  kind: encoder_decoder
  width: 48
  heads: 4
  encoder: {{layers: 2{encoder}}}
  decoder: {{layers: 2{decoder}}}
  feed_forward: {{width: 64{feed_forward}}}
  vocabulary: {{source: 40, target: 40}}
  tokens: {{start: 1, end: 2}}
{more}
"""
START, END = 1, 2
SOURCES = [[5, 9, 13, 17, 22, 30, 31, 8, 9, 4, 4, 7], [6], [39, 3, 3, 38, 12]]
TARGETS = [[4, 8, 15, 16, 23, 39], list(range(30, 3, -2)), []]
# Weights of size 0.4 and rows of size 1, as in encoder_test.py.
TOLERANCE = 1e-4


class Model:
    """Keys of the spec, and what they mean to the reference: settings of both sides, and of one."""

    def __init__(self, more="", encoder="", decoder="", feed_forward="", output_scale=1.0, meaning=(), encoder_meaning=(),
                 decoder_meaning=(), heads=4):
        self.text = SPEC.format(encoder=encoder, decoder=decoder, feed_forward=feed_forward, more=more)
        if heads != 4:
            self.text = self.text.replace("  heads: 4\n", f"  heads: {heads}\n")
        both = {"heads": heads, "layers": 2, "positions": Sinusoidal()} | dict(meaning)
        self.encoder, self.decoder, self.output_scale = both | dict(encoder_meaning), both | dict(decoder_meaning), output_scale


MODELS = {
    "relative": Model("  attention_scale: 1\n  positions: {kind: relative, buckets: 8, max_distance: 12}",
                      meaning={"attention_scale": 1, "positions": Relative(8, 12)}),
    "alibi": Model("  positions: {kind: alibi}", meaning={"positions": Alibi()}),
    "alibi of 6 heads": Model("  positions: {kind: alibi}", heads=6, meaning={"positions": Alibi()}),
    "rotary": Model("  positions: {kind: rotary, max_length: 64}", meaning={"positions": Rotary(12)}),
    "rotary in halves, in part": Model(
        "  positions: {kind: rotary, layout: concatenated, rotated_width: 8, base: 500, max_length: 64}",
        meaning={"positions": Rotary(8, 500, interleaved=False)}),
    "multi-query": Model("  key_heads: 1"),
    "grouped": Model("  key_heads: 2\n  positions: {kind: rotary}", meaning={"positions": Rotary(12)}),
    "window": Model(encoder=", window: 2", decoder=", window: 3", encoder_meaning={"window": 2}, decoder_meaning={"window": 3}),
    "expressions": Model(
        encoder=", score: 'softcap(s, 2)'", decoder=", score: 's - 0.1 * (query - key)', cross_score: 'softcap(s + key, 3)'",
        encoder_meaning={"score": lambda s, h, q, k: 2 * math.tanh(s / 2)},
        decoder_meaning={"score": lambda s, h, q, k: s - 0.1 * (q - k), "cross_score": lambda s, h, q, k: 3 * math.tanh((s + k) / 3)}),
    "concatenated sinusoids, pre-norm, untied": Model(
        "  positions: {kind: sinusoidal, layout: concatenated, inclusive: true, start: 3, base: 500}\n  norm: {place: pre}",
        meaning={"positions": Sinusoidal(3, 500, interleaved=False, inclusive=True), "pre": True}),
    "learned with offset, RMS norm, gated, tied": Model(
        "  positions: {kind: learned, start: 2, max_length: 40}\n  norm: {kind: rms, place: pre, embedding: true}\n"
        "  biases: {attention: false, feed_forward: false, output: false}\n"
        "  embedding: {scale: 0.5, tied: all}\n  output: {scale: 0.25}",
        feed_forward=", activation: silu, gated: true", output_scale=0.25,
        meaning={"positions": Learned(2), "pre": True, "norm": "rms", "gated": True, "activation": "silu",
                 "embedding_norm": True, "embedding_scale": 0.5}),
    "no positions, source and target tied": Model(
        "  positions: {kind: none}\n  embedding: {tied: source_target}", feed_forward=", activation: gelu_tanh",
        meaning={"positions": Positions(), "activation": "gelu_tanh"}),
}


def attention_kernels(heads, key_heads, where, cross="", twice=False):
    """The kernels of attention and how often each is called, in all entries of two layers a side; `where` is what stands
    between the scores and the mask, of self-attention (encoder, decoder) and `cross` of attention to the source."""
    encoder, decoder = where
    own, other = f"attention_{heads}{encoder}_padding", f"attention_{heads}{cross}_padding"
    calls = {f"append_{key_heads}": 8, f"attention_{heads}{decoder}_causal": 4, f"attention_shared_{heads}{cross}_padding": 4,
             f"attention_step_{heads}{decoder}_padding": 4, f"attention_weights_{heads}{cross}_padding_mean_heads": 1}
    if twice:  # two expressions are two kernels
        other += "_2"
    calls[own] = calls.get(own, 0) + 2
    calls[other] = calls.get(other, 0) + 3
    return calls


PLAIN, MAP = ("", ""), ("_score_map", "_score_map")
ROTARY = {"rotary_4x12": 12, "rotary_4x12_2": 8}
KERNELS = {
    "relative": attention_kernels("4x12", "4x12", MAP),
    "alibi": attention_kernels("4x12", "4x12", MAP),
    "alibi of 6 heads": attention_kernels("6x8", "6x8", MAP),
    "rotary": attention_kernels("4x12", "4x12", PLAIN) | ROTARY,
    "rotary in halves, in part": attention_kernels("4x12", "4x12", PLAIN) | ROTARY,
    "multi-query": attention_kernels("4x12", "1x12", PLAIN),
    "grouped": attention_kernels("4x12", "2x12", PLAIN) | {"rotary_4x12": 6, "rotary_4x12_2": 4, "rotary_2x12": 6, "rotary_2x12_2": 4},
    "window": attention_kernels("4x12", "4x12", ("_window", "_window")),
    "expressions": attention_kernels("4x12", "4x12", MAP, "_score_map", twice=True),
}


class Case:
    """A model's bundle and its reference."""

    def __init__(self, model):
        self.spec = scratch("model.yaml")
        self.spec.write_text(model.text)
        weights = scratch("model.safetensors")
        values = make_weights(self.spec, weights, seed=6)
        self.bundle = compile_bundle(self.spec, "--weights", weights, "--target", "host")
        self.encoder = Network(values, "encoder", **model.encoder)
        self.decoder = Network(values, "decoder", **model.decoder)
        self.output_scale = model.output_scale
        self.memory = functools.cache(lambda source: self.encoder.run(source))

    def log_probabilities(self, source, target):
        """Of all tokens at the first place and after each token of the target."""
        rows = self.decoder.run([START] + target, memory=self.memory(tuple(source)))
        return self.decoder.log_probabilities(rows, "decoder.out_proj.bias", self.output_scale)

    def decode(self, *options):
        text = "".join(ids(source) + "\n" for source in SOURCES)
        lines = attnc("run", self.bundle, "--ids", "--json", "--max-length", 16, "--min-length", 15, *options, text=text).splitlines()
        return [json.loads(line)["outputs"] for line in lines]

    def score(self):
        text = "".join(f"{ids(source)}\t{ids(target)}\n" for source, target in zip(SOURCES, TARGETS))
        return [json.loads(line)["tokens"] for line in attnc("score", self.bundle, "--ids", "--json", text=text).splitlines()]


class PositionModels(unittest.TestCase):
    def test_scores_outputs_and_beams_are_the_references(self):
        for name, model in MODELS.items():
            with self.subTest(model=name):
                case = Case(model)
                if name in KERNELS:
                    self.check_kernels(name, attnc("explain", case.spec, "--weights", "random:1"))
                for source, target, got in zip(SOURCES, TARGETS, case.score(), strict=True):
                    self.assert_near(case.log_probabilities(source, target), target + [END],
                                     [token["log_probability"] for token in got])
                for source, outputs in zip(SOURCES, case.decode(), strict=True):
                    wanted, tokens = self.check_output(case, source, outputs[0])
                    best = [max((word for word in range(40) if word != END or place >= 15), key=row.__getitem__)
                            for place, row in enumerate(wanted)]
                    self.assertEqual(best[:len(tokens)], tokens)
                for source, outputs in zip(SOURCES, case.decode("--beam", 3, "--n-best", 3), strict=True):
                    self.assertEqual(3, len({tuple(output["ids"]) for output in outputs}))
                    for output in outputs:
                        self.check_output(case, source, output)

    def test_profiles_count_the_angles_of_a_step_alone(self):
        bundle = Case(MODELS["rotary"]).bundle
        report = json.loads(attnc("bench", bundle, "--batch", 3, "--source-length", 5, "--target-length", 4, "--seconds", 0,
                                  "--profile", "--json"))
        [line] = [line for line in report["kernels"] if line["entry"] == "step" and line["kernel"].startswith("rotary")]
        row = 48 + 48 + 12 + 1  # before and after, a row of angles, the position
        self.assertEqual(3 * row * 4, line["bytes"] / line["calls"])

    def check_output(self, case, source, output):
        """The steps' log-probabilities are those of the reference, which reads the whole output anew."""
        tokens = output["ids"] + [END] * output["ended"]
        wanted = case.log_probabilities(source, output["ids"])
        self.assert_near(wanted, tokens, output["log_probabilities"])
        return wanted, tokens

    def assert_near(self, wanted, tokens, got):
        self.assertEqual(len(tokens), len(got))
        for row, token, log_probability in zip(wanted, tokens, got):
            self.assertAlmostEqual(row[token], log_probability, delta=TOLERANCE)

    def check_kernels(self, name, explained):
        """Each attention is one kernel; what else is apart says why."""
        calls = re.findall(r"^  (\w+), called in (\d+) place", explained, re.MULTILINE)
        self.assertEqual(KERNELS[name], {kernel: int(count) for kernel, count in calls
                                         if re.match("attention|append|rotary|softmax|matmul|scale|add", kernel)})
        apart = ["not merged: it is kept in a state, so a slice would be copied (2 times)"]
        if "rotary_4x12" in KERNELS[name]:
            apart.append("not fused: between it and the linear stands a split_heads (20 times)")
        self.assertEqual(apart, re.findall(r"not (?:fused|merged): .*", explained))


if __name__ == "__main__":
    unittest.main()
