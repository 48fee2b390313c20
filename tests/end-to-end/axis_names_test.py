#!/usr/bin/env python3
"""Axes of a graph may be called as kernels call theirs: query, key, head, width, batch, row. Names tell axes apart, no more."""

import math
import unittest

from bundles import compile_bundle, scratch
from exact import numbers
from kernel_call import Bundle


class AxisNames(unittest.TestCase):
    def call(self, inputs, op, sizes, *tensors):
        """The result of a graph of one op, whose inputs are `inputs`."""
        spec = scratch("names.yaml")
        lines = "".join(f"    {name}: {shape}\n" for name, shape in inputs.items())
        spec.write_text(f"name: named\ngraph:\n  name: run\n  inputs:\n{lines}  ops:\n{op}  outputs: result\n")
        got, = Bundle(compile_bundle(spec, "--target", "host")).call("run", sizes, *tensors)
        return got

    def compare(self, expected, got):
        self.assertEqual(len(expected), len(got))
        self.assertLess(max(abs(a - b) for a, b in zip(expected, got)), 2e-5)

    def test_products(self):
        shares, values = numbers(3 * 7, 1), numbers(7 * 20, 2)
        expected = [sum(shares[q * 7 + k] * values[k * 20 + w] for k in range(7)) for q in range(3) for w in range(20)]
        for rows, columns in (("query", "key"), ("key", "query"), ("head", "width"), ("row", "batch")):
            with self.subTest(rows=rows, columns=columns):
                inputs = {"shares": f"{{shape: [{rows}, {columns}]}}", "values": f"{{shape: [{columns}, depth: 20]}}"}
                got = self.call(inputs, "    result: {matmul: [shares, values]}\n", {rows: 3, columns: 7}, shares, values)
                self.compare(expected, got)

    def test_products_to_which_something_is_added(self):
        q, k, bias = numbers(3 * 20, 1), numbers(7 * 20, 2), numbers(3 * 7, 3)
        expected = [sum(q[i * 20 + w] * k[j * 20 + w] for w in range(20)) + bias[i * 7 + j] for i in range(3) for j in range(7)]
        inputs = {"q": "{shape: [query, width: 20]}", "k": "{shape: [key, width: 20]}", "bias": "{shape: [query, key]}"}
        op = "    product: {matmul: [q, k], transposed: true}\n    result: {add: [product, bias]}\n"
        self.compare(expected, self.call(inputs, op, {"query": 3, "key": 7}, q, k, bias))

    def test_additive_scores(self):
        q, k, weight = numbers(2 * 3 * 20, 1), numbers(2 * 7 * 20, 2), numbers(2 * 20, 3)
        row = lambda tensor, length, h, i: tensor[(h * length + i) * 20:(h * length + i + 1) * 20]
        expected = [sum(w * math.tanh(x + y) for w, x, y in zip(row(weight, 1, h, 0), row(q, 3, h, i), row(k, 7, h, j)))
                    for h in range(2) for i in range(3) for j in range(7)]
        for head, width in (("head", "width"), ("heads", "depth")):
            with self.subTest(head=head, width=width):
                inputs = {"q": f"{{shape: [batch, {head}, query, {width}]}}", "k": f"{{shape: [batch, {head}, key, {width}]}}",
                          "weight": f"{{shape: [{head}, {width}]}}"}
                op = "    result: {additive_scores: [q, k, weight]}\n"
                self.compare(expected, self.call(inputs, op, {"batch": 1, head: 2, "query": 3, "key": 7, width: 20}, q, k, weight))

    def test_attention_by_additive_scores(self):
        q, k, weight, v = numbers(2 * 3 * 20, 1), numbers(2 * 7 * 20, 2), numbers(2 * 20, 3), numbers(2 * 7 * 4, 4)
        row = lambda tensor, length, h, i: tensor[(h * length + i) * 20:(h * length + i + 1) * 20]
        expected = []
        for h in range(2):
            for i in range(3):
                scores = [sum(w * math.tanh(x + y) for w, x, y in zip(row(weight, 1, h, 0), row(q, 3, h, i), row(k, 7, h, j))) for j in range(7)]
                shares = [math.exp(score) for score in scores]
                expected += [sum(share * v[(h * 7 + j) * 4 + c] for j, share in enumerate(shares)) / sum(shares) for c in range(4)]
        for head, width in (("head", "width: 20"), ("heads", "depth: 20"), ("head: 2", "width"), ("heads: 2", "depth")):
            with self.subTest(head=head, width=width):
                inputs = {"q": f"{{shape: [batch, {head}, query, {width}]}}", "k": f"{{shape: [batch, {head}, key, {width}]}}",
                          "weight": f"{{shape: [{head}, {width}]}}", "v": f"{{shape: [batch, {head}, key, value: 4]}}"}
                op = ("    scores: {additive_scores: [q, k, weight]}\n    shares: {softmax: scores}\n"
                      "    result: {matmul: [shares, v]}\n")
                sizes = {"batch": 1, "query": 3, "key": 7, **{name: size for name, size in ((head, 2), (width, 20)) if ":" not in name}}
                self.compare(expected, self.call(inputs, op, sizes, q, k, weight, v))

    def test_tables_of_words(self):
        table, ids = numbers(10 * 20, 1), [0, 5, 9, 1, 7, 2]
        expected = [x for i in ids for x in table[i * 20:(i + 1) * 20]]
        for name in ("query", "row", "batch"):
            with self.subTest(name=name):
                inputs = {"ids": "{shape: [n, length], type: i32}", "table": f"{{shape: [{name}, width: 20]}}"}
                got = self.call(inputs, "    result: {embed: [ids, table]}\n", {"n": 2, "length": 3, name: 10}, ids, table)
                self.compare(expected, got)

    def test_tables_of_angles(self):
        x = numbers(2 * 1 * 3 * 4, 1)
        angles = [f(p * w) for p in range(9) for f in (math.cos, math.sin) for w in (1, 0.5)]
        turned = []
        for n in range(2):
            for p in range(3):
                a, b, c, d = x[(n * 3 + p) * 4:(n * 3 + p + 1) * 4]
                cos, sin = angles[p * 4:p * 4 + 2], angles[p * 4 + 2:p * 4 + 4]
                turned += [a * cos[0] - c * sin[0], b * cos[1] - d * sin[1], c * cos[0] + a * sin[0], d * cos[1] + b * sin[1]]
        results = []
        for name in ("query", "position"):
            inputs = {"x": "{shape: [n, head: 1, length, width: 4]}", "table": f"{{shape: [{name}, width: 4]}}"}
            results.append(self.call(inputs, "    result: {rotary: [x, table], interleaved: false}\n", {"n": 2, "length": 3, name: 9}, x, angles))
        self.assertEqual(*results)
        self.assertNotEqual(x, results[0])


if __name__ == "__main__":
    unittest.main()
