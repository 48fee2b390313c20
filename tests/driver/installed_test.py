#!/usr/bin/env python3
"""attnc works where it is installed: in a folder that moves, without the Python environment that it was built with.

usage: CMAKE=cmake BUILD=build ATTNC=build/bin/attnc installed_test.py
"""
import os
import subprocess
import unittest

from bundle_test import GRAPH, BundleTest, attnc, read_folder


class Installed(BundleTest):
    def test_an_installed_compiler_brings_halide_along_and_compiles(self):
        prefix, moved = self.folder / "prefix", self.folder / "moved"
        subprocess.run([os.environ["CMAKE"], "--install", os.environ["BUILD"], "--prefix", prefix, "--component", "attnc"],
                       capture_output=True, check=True, timeout=300)
        prefix.rename(moved)
        installed = moved / "bin/attnc"
        loaded = subprocess.run(["ldd", installed], capture_output=True, text=True, check=True, timeout=300).stdout
        self.assertRegex(loaded, rf"libHalide\.so => {moved}/bin/\.\./lib\S*/libHalide\.so")
        self.assertNotIn("not found", loaded)

        options = ("--weights", self.weights, "--target", "x86-64")
        done = subprocess.run([installed, "compile", GRAPH, "-o", self.folder / "theirs", *options], capture_output=True, text=True, timeout=1800)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual(0, attnc("compile", GRAPH, "-o", self.folder / "ours", *options).returncode)
        self.assertEqual(read_folder(self.folder / "ours"), read_folder(self.folder / "theirs"))


if __name__ == "__main__":
    unittest.main()
