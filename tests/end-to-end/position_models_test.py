#!/usr/bin/env python3
"""Models with every kind of position, window, grouped heads and score expressions: the derived step gives the same
log-probabilities as the whole target at once."""

import json
import re
import unittest

from bundles import attnc, compile_bundle, scratch

SPEC = """name: positions
weights: {{random: 3}}
model:
  kind: encoder_decoder
  width: 48
  heads: 4
  encoder: {{layers: 2{encoder}}}
  decoder: {{layers: 2{decoder}}}
  feed_forward: {{width: 64}}
  vocabulary: {{source: 40, target: 37}}
  tokens: {{start: 1, end: 2}}
{more}
"""

MODELS = {
    "relative": ("", "", "  attention_scale: 1\n  positions: {kind: relative, buckets: 8, max_distance: 12}"),
    "alibi": ("", "", "  positions: {kind: alibi}"),
    "alibi of 6 heads": ("", "", "  heads: 6\n  positions: {kind: alibi}"),
    "rotary": ("", "", "  positions: {kind: rotary, max_length: 64}"),
    "rotary in halves, in part": ("", "", "  positions: {kind: rotary, layout: concatenated, rotated_width: 8, base: 500, max_length: 64}"),
    "multi-query": ("", "", "  key_heads: 1"),
    "grouped": ("", "", "  key_heads: 2\n  positions: {kind: rotary}"),
    "window": (", window: 2", ", window: 3", ""),
    "expressions": (", score: 'softcap(s, 2)'", ", score: 's - 0.1 * (query - key)', cross_score: 'softcap(s + key, 3)'", ""),
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


class Positions(unittest.TestCase):
    def test_the_step_scores_as_the_whole_target_does(self):
        source = "5 9 13 17 22 30 31 8 9 4 4 7"
        for name, (encoder, decoder, more) in MODELS.items():
            with self.subTest(model=name):
                text = SPEC.format(encoder=encoder, decoder=decoder, more=more)
                if "heads: 6" in more:
                    text = text.replace("  heads: 4\n", "")
                spec = scratch("model.yaml")
                spec.write_text(text)
                self.check_kernels(name, attnc("explain", spec))
                bundle = compile_bundle(spec, "--target", "host")
                options = ("--ids", "--scores", "--max-length", "16", "--min-length", "15", "--length-penalty", "0")
                for beam in ("1", "3"):
                    line = attnc("run", bundle, *options, "--beam", beam, text=source + "\n").strip()
                    target, score = line.split("\t")
                    # What the steps gave, position by position, against one call over all positions. An output
                    # that the maximum cut off has no end token.
                    scored = json.loads(attnc("score", bundle, "--ids", "--json", text=f"{source}\t{target}\n"))
                    tokens = [token["log_probability"] for token in scored["tokens"]]
                    if len(tokens) > 16:
                        tokens.pop()
                    self.assertAlmostEqual(float(score), sum(tokens), delta=2e-4, msg=f"{name}, beam {beam}")

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
