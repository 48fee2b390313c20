#!/usr/bin/env python3
"""A weight of a graph may be a linear's matrix and something else as well, and stand beside axes that are sizes."""

import unittest

from bundles import compile_bundle, scratch
from exact import matrix
from kernel_call import Bundle


def product(rows, weight):
    return [sum(x * w for x, w in zip(row, line)) for row in rows for line in weight]


X, W, U = matrix(3, 20, 1), matrix(40, 20, 2), matrix(7, 20, 3)


class SharedWeights(unittest.TestCase):
    def call(self, ops, outputs, inputs="x: {shape: [n, k: 20]}", dtype="f32", tensors=(sum(X, []),), sizes={"n": 3}):
        spec = scratch("shared.yaml")
        lines = "".join(f"    {line}\n" for line in ops)
        spec.write_text(f"name: shared\ngraph:\n  name: run\n  inputs: {{{inputs}}}\n  weights: {{w: {{value: {W}}}, u: {{value: {U}}}}}\n"
                        f"  ops:\n{lines}  outputs: [{', '.join(outputs)}]\n")
        return Bundle(compile_bundle(spec, "--target", "host", "--dtype", dtype)).call("run", sizes, *tensors)

    def compare(self, expected, got, tolerance=2e-5):
        self.assertEqual(len(expected), len(got))
        self.assertLess(max(abs(a - b) for a, b in zip(expected, got)), tolerance)

    def test_parts_and_elements_of_a_linears_matrix(self):
        readers = {"slice: w, at: 3, width: 4": [x for row in W for x in row[3:7]],
                   "slice: w, at: 0, width: 20": sum(W, []),
                   "scale: w, by: 2": [2 * x for row in W for x in row],
                   "add: [w, w]": [2 * x for row in W for x in row],
                   "linear: [w, u]": product(W, U)}
        for reader, expected in readers.items():
            for dtype in ("f32", "bf16", "int8"):
                with self.subTest(reader=reader, dtype=dtype):
                    u = ["v: {linear: [x, u]}"] if "u" not in reader else []
                    y, z, *_ = self.call(["y: {linear: [x, w]}", f"z: {{{reader}}}", *u], ["y", "z", *(["v"] if u else [])], dtype=dtype)
                    # What a weight is read for beside a linear is read of float32; a linear's own matrix may be rounded.
                    self.compare(product(X, W), y, 2e-5 if dtype == "f32" else 0.15)
                    self.compare(expected, z, 2e-5 if dtype == "f32" or "linear" not in reader else 0.15)

    def test_products_with_a_weight_beside_a_size(self):
        y, _ = self.call(["y: {matmul: [x, w], transposed: true}", "z: {linear: [x, u]}"], ["y", "z"])
        self.compare(product(X, W), y)

    def test_rows_of_a_weight_by_ids_whose_number_is_a_size(self):
        ids = [2, 39, 0, 7]
        y, z = self.call(["y: {take: [w, i]}", "z: {linear: [y, u]}"], ["y", "z"], inputs="i: {shape: [n], type: i32}", tensors=(ids,), sizes={"n": 4})
        self.compare([x for i in ids for x in W[i]], y)
        self.compare(product([W[i] for i in ids], U), z)


if __name__ == "__main__":
    unittest.main()
