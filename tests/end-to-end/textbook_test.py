#!/usr/bin/env python3
"""The worked examples of examples/textbook, compiled and called from C, and the one with weights from a file."""

import json
import math
import random
import struct
import subprocess
import unittest

from bundles import CC, ROOT, compile_bundle, scratch
from kernel_call import Bundle

EXAMPLE = ROOT / "examples/textbook"


def write_weights(path, shapes):
    """A safetensors file of multiples of 1/64 in [-1/8, 1/8]; returns them by name."""
    source, header, data, values = random.Random(7), {}, b"", {}
    for name, shape in shapes.items():
        values[name] = [source.randint(-8, 8) / 64 for _ in range(math.prod(shape))]
        packed = struct.pack(f"<{len(values[name])}f", *values[name])
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(packed)]}
        data += packed
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return values


class Textbook(unittest.TestCase):
    def test_worked_examples_give_the_numbers_of_the_book(self):
        bundles = [compile_bundle(EXAMPLE / f"{n}.yaml") for n in ("three-words", "eight-words", "scores")]
        program = scratch("program")
        libraries = [next(b.glob("*.a")) for b in bundles]
        subprocess.run([*CC, "-std=c11", EXAMPLE / "textbook.c", "-o", program,
                        *(f"-I{b}" for b in bundles), *libraries, "-lm"], check=True)
        done = subprocess.run([program, *(b / "weights.safetensors" for b in bundles)], capture_output=True, text=True)
        self.assertEqual((0, "every number is the book's\n", ""), (done.returncode, done.stdout, done.stderr))

    def test_a_module_with_biases_gives_what_loops_give(self):
        parts = ("query", "key", "value")
        file = scratch("weights.safetensors")
        values = write_weights(file, {f"{part}_{kind}": [5, 20] if kind == "weight" else [5]
                                      for part in parts for kind in ("weight", "bias")})
        bundle = Bundle(compile_bundle(EXAMPLE / "biases.yaml", "--weights", file))
        source = random.Random(8)
        words = [source.randint(-64, 64) / 64 for _ in range(4 * 20)]

        def project(part, word):
            weight, bias = values[f"{part}_weight"], values[f"{part}_bias"]
            return [bias[o] + sum(weight[o * 20 + i] * words[word * 20 + i] for i in range(20)) for o in range(5)]

        q, k, v = ([project(part, word) for word in range(4)] for part in parts)
        got, = bundle.call("attend", {"batch": 1, "query": 4}, words)
        for i in range(4):
            scores = [math.exp(sum(a * b for a, b in zip(q[i], k[j])) / math.sqrt(5)) for j in range(4)]
            for w in range(5):
                wanted = sum(s * v[j][w] for j, s in enumerate(scores)) / sum(scores)
                # Projections are below 3, sums of 20 terms in float32: 40 roundings of 2^-24 each.
                self.assertAlmostEqual(wanted, got[i * 5 + w], delta=1e-5)


if __name__ == "__main__":
    unittest.main()
