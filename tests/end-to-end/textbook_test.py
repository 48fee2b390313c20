#!/usr/bin/env python3
"""Worked examples of the textbook, written as graphs, compiled and called from C."""

import subprocess
import unittest

from bundles import CC, SPECS, compile_bundle, scratch

SOURCE = SPECS.parent / "textbook.c"


class Textbook(unittest.TestCase):
    def test_worked_examples_give_the_numbers_of_the_book(self):
        bundles = [compile_bundle(SPECS / f"textbook-{n}.yaml") for n in ("three-words", "eight-words")]
        program = scratch("program")
        libraries = [next(b.glob("*.a")) for b in bundles]
        subprocess.run([*CC, "-std=c11", SOURCE, "-o", program, *(f"-I{b}" for b in bundles),
                        *libraries, "-lm"], check=True)
        done = subprocess.run([program, *(b / "weights.safetensors" for b in bundles)], capture_output=True, text=True)
        self.assertEqual((0, "", ""), (done.returncode, done.stdout, done.stderr))


if __name__ == "__main__":
    unittest.main()
