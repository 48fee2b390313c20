#!/usr/bin/env python3
"""Sizes past what the kernels can work with are refused: by the compiler where they are known, else by the runtime."""

import json
import subprocess
import unittest

from bundles import SPECS, attnc, build_program, compile_bundle, scratch

HERE = SPECS.parent


class Bounds(unittest.TestCase):
    def test_calls_entries_and_sessions_keep_to_the_bounds(self):
        graph, model = (compile_bundle(SPECS / f"{name}.yaml") for name in ("long-attention", "long-sources"))
        program = build_program(HERE / "bounds.c", f"-I{graph}", graph / "liblong_attention.a")
        done = subprocess.run([program, graph, model], capture_output=True, text=True)
        self.assertEqual((0, ""), (done.returncode, done.stdout + done.stderr))

    def test_the_manifest_has_the_bounds_of_every_entry(self):
        bundle = compile_bundle(SPECS / "long-attention.yaml", "--target", "x86-64")
        entry, = json.loads((bundle / "manifest.json").read_text())["entries"]
        bounds = {bound["formula"]: bound["most"] for bound in entry["bounds"]}
        self.assertEqual({"4 * batch * query": 2**31 - 1, "4 * batch * key": 2**31 - 1, "key": 16384}, bounds)

    def refuse(self, change, place, message):
        text = (SPECS / "long-attention.yaml").read_text()
        spec = scratch("spec.yaml")
        spec.write_text(change(text))
        done = attnc("compile", spec, "-o", scratch("bundle"), check=False)
        self.assertEqual(1, done.returncode)
        self.assertIn(f"{spec}:{place}: error: {message}", done.stderr)

    def test_constants_past_a_bound_are_located_errors(self):
        self.refuse(lambda text: text.replace("batch, key,", "batch, key: 16385,"), "14:16",
                    "there are 16385 keys of attention, the most is 16384")
        self.refuse(lambda text: text.replace("batch, query,", "batch: 1000000, query: 1000,"), "7:22",
                    "an input has at most 2147483647 elements")

    def test_a_line_that_no_session_takes_leaves_others_alone(self):
        encoder = scratch("encoder.yaml")
        encoder.write_text("""
name: long_encoder
weights: {random: 1}
model:
  kind: encoder
  width: 8
  heads: 1
  encoder: {layers: 1}
  feed_forward: {width: 8}
  positions: {kind: none}
  vocabulary: {source: 11}
  tokens: {pad: 0}
  tokenizer: {kind: ids}
""")
        for spec in (SPECS / "long-sources.yaml", encoder):
            bundle = compile_bundle(spec, "--target", "x86-64")
            good = attnc("run", bundle, "--ids", text="3 4\n3 5\n").splitlines()
            lines = "\n".join(["3 4", "3 " * 17000, "3 5"])
            done = attnc("run", bundle, "--ids", text=lines, check=False)
            self.assertEqual((1, good[:1]), (done.returncode, done.stdout.splitlines()), done.stderr)
            self.assertTrue(done.stderr.startswith("attnc: error: line 2: "), done.stderr)
            done = attnc("run", bundle, "--ids", "--skip-bad-lines", text=lines, check=False)
            self.assertEqual((1, [good[0], "", good[1]]), (done.returncode, done.stdout.splitlines()), done.stderr)
            self.assertTrue(done.stderr.startswith("attnc: error: line 2: "), done.stderr)
            self.assertEqual(1, done.stderr.count("\n"), done.stderr)

    def test_a_weight_may_have_more_outputs_than_the_root_of_the_bound(self):
        spec = scratch("wide.yaml")
        spec.write_text("""
name: wide
weights: {random: 1}
model:
  kind: encoder_decoder
  width: 8
  heads: 2
  encoder: {layers: 1}
  decoder: {layers: 1}
  feed_forward: {width: 600000}
  vocabulary: {source: 20, target: 600000}
  tokens: {start: 1, end: 2}
""")
        bundle = compile_bundle(spec, "--target", "x86-64")
        self.assertIn("golden cases repeated", attnc("inspect", bundle, "--self-check"))


if __name__ == "__main__":
    unittest.main()
