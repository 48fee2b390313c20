#!/usr/bin/env python3
"""What attnc compile --emit prints, and attnc-opt makes of it.

usage: ATTNC=build/bin/attnc phases_test.py
"""
import pathlib
import subprocess
import unittest

from bundle_test import ATTNC, GRAPH, HERE, MODEL, BundleTest, attnc

ATTNC_OPT = pathlib.Path(ATTNC).with_name("attnc-opt")
DATES = HERE.parents[1] / "examples/dates/model.yaml"
SPECS = HERE.parent / "end-to-end/specs"


class Phases(BundleTest):
    def test_every_phase_prints(self):
        for phase, text in (("spec", "scores: {scale: [products]"), ("attn", "attn.softmax"), ("stepped", "attn.softmax"),
                            ("fused", "attn.fused"), ("quantised", "attn.fused"), ("outlined", "attn.call"), ("planned", "attn.place"),
                            ("llvm", "@attend_by_hand.run.attend(")):
            done = attnc("compile", GRAPH, "--emit", phase, "--weights", self.weights)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(text, done.stdout, phase)
            if phase != "spec":
                read = subprocess.run([ATTNC_OPT], input=done.stdout, capture_output=True, text=True)
                self.assertEqual(read.returncode, 0, read.stderr)
                self.assertEqual(read.stdout.rstrip(), done.stdout.rstrip())

    def test_strides_that_rows_cannot_have_are_told_where_they_are(self):
        graph = "graph:\n  inputs: {x: {shape: [batch, query, width: 4]}}\n  ops:\n    z: {scale: x, by: 2}\n  outputs: z\n  strides: "
        for strides, message in (("{x: [a, 8]}", ":6:13: error: is read row by row by a linear"), ("{z: [a, 8]}", ":4:9: error: computes rows")):
            spec = self.folder / "strides.yaml"
            spec.write_text(f"{graph}{strides}\n")
            done = attnc("compile", spec, "-o", self.folder / "strides", "--target", "x86-64")
            self.assertEqual(1, done.returncode)
            self.assertIn(f"{spec}{message}", done.stderr)

    def test_passes_take_a_module_from_any_phase_to_a_later_one(self):
        phases = ("attn", "stepped", "fused", "quantised", "outlined", "planned")
        for spec, *options in ((GRAPH,), (MODEL,), (MODEL, "--dtype", "int8"), (SPECS / "decoder.yaml",), (SPECS / "encoder.yaml",),
                               (SPECS / "attention-kinds.yaml",), (DATES,), (DATES, "--dtype", "int8")):
            weights = self.weights if spec == GRAPH else "random:1"
            emitted = [attnc("compile", spec, "--weights", weights, *options, "--emit", phase).stdout.rstrip() for phase in phases]
            for begin, module in enumerate(emitted):
                for phase, wanted in list(zip(phases, emitted))[max(begin, 1):]:
                    done = subprocess.run([ATTNC_OPT, f"--attn-{phase}"], input=module, capture_output=True, text=True)
                    self.assertEqual((0, wanted), (done.returncode, done.stdout.rstrip()), f"{spec.name} {options} {phases[begin]} to {phase}")


if __name__ == "__main__":
    unittest.main()
