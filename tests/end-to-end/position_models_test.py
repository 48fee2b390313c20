#!/usr/bin/env python3
"""Models with every kind of position, window, grouped heads and score expressions: the derived step gives the same
log-probabilities as the whole target at once."""

import json
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
                self.assertNotIn("not fused", attnc("explain", spec))
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


if __name__ == "__main__":
    unittest.main()
