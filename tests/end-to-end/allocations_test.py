#!/usr/bin/env python3
"""The compiled entries of a model and of a graph allocate nothing, nor do steps of decoding."""

import os
import subprocess
import unittest

from bundles import ROOT, compile_bundle


class Allocations(unittest.TestCase):
    def test_no_entry_and_no_step_allocates(self):
        model, graph = ROOT / "examples/korean-english/model.yaml", ROOT / "examples/textbook/biases.yaml"
        bundles = [compile_bundle(model), compile_bundle(graph)]
        bundles += [compile_bundle(model, "--dtype", dtype, "--target", "host") for dtype in ("bf16", "int8")]
        done = subprocess.run([os.environ["COUNT_ALLOCATIONS"], *bundles], capture_output=True, text=True)
        self.assertEqual((0, ""), (done.returncode, done.stdout + done.stderr))


if __name__ == "__main__":
    unittest.main()
