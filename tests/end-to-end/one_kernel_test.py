#!/usr/bin/env python3
"""examples/one-kernel: one attention, one kernel, and a C program that needs the bundle's header and archive alone."""

import subprocess
import unittest

from bundles import CC, ROOT, attnc, compile_bundle, scratch

EXAMPLE = ROOT / "examples/one-kernel"


class OneKernel(unittest.TestCase):
    def test_the_graph_is_one_kernel(self):
        self.assertIn("\n1 kernel:\n", attnc("explain", EXAMPLE / "attention.yaml"))

    def test_the_program_gives_what_loops_give(self):
        bundle = compile_bundle(EXAMPLE / "attention.yaml")
        program = scratch("program")
        subprocess.run([*CC, "-std=c11", "-Wall", "-Wextra", "-Werror", EXAMPLE / "main.c", "-o",
                        program, f"-I{bundle}", bundle / "libone_kernel.a", "-lm"], check=True)
        done = subprocess.run([program], capture_output=True, text=True)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertIn("the kernel gives what the loops give", done.stdout)


if __name__ == "__main__":
    unittest.main()
