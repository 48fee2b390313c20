#!/usr/bin/env python3
"""Projections of one input are one linear: heads, linears and pointwise operations read its slices, which begin at any
column. Compared with plain loops in double precision; weights are literal."""

import unittest

from bundles import attnc, compile_bundle, scratch
from exact import matrix, numbers
from kernel_call import Bundle

WIDTH, INNER, HEADS = 20, 13, 3


def linear(rows, weight, bias=None):
    bias = bias or [0] * len(weight)
    return [[sum(x * w for x, w in zip(row, line)) + b for line, b in zip(weight, bias)] for row in rows]


A, B, C, D = matrix(INNER, WIDTH, 1), matrix(7, INNER, 2), matrix(INNER, WIDTH, 3), matrix(4 * HEADS, WIDTH, 4)
BIAS = numbers(INNER, 5)
SPEC = f"""name: projections
graph:
  name: project
  inputs: {{x: {{shape: [batch, query, width: {WIDTH}]}}}}
  weights: {{a: {{value: {A}}}, b: {{value: {B}}}, c: {{value: {C}}}, bias: {{value: {BIAS}}}, d: {{value: {D}}}}}
  ops:
    first: {{linear: [x, a]}}
    second: {{linear: [x, c, bias]}}
    third: {{linear: [x, d]}}
    of_linear: {{linear: [first, b]}}
    doubled: {{scale: second, by: 2}}
    of_pointwise: {{mul: [doubled, second]}}
    heads: {{split_heads: third, heads: {HEADS}}}
    of_heads: {{matmul: [heads, heads], transposed: true}}
  outputs: [of_linear, of_pointwise, of_heads]
"""


class Projections(unittest.TestCase):
    def test_slices_are_what_linears_of_their_own_give(self):
        spec = scratch("projections.yaml")
        spec.write_text(SPEC)
        explained = attnc("explain", spec)
        self.assertIn("merged: 3 projections of one input are one linear", explained)
        self.assertIn(f"linear_{WIDTH}x{2 * INNER + 4 * HEADS}, called in 1 place\n", explained)
        bundle = Bundle(compile_bundle(spec, "--target", "host"))
        for batch, query in ((1, 1), (1, 7), (3, 1), (2, 5)):
            with self.subTest(batch=batch, query=query):
                rows = matrix(batch * query, WIDTH, 6)
                second, third = linear(rows, C, BIAS), linear(rows, D)
                expected = [[y for row in linear(linear(rows, A), B) for y in row],
                            [2 * y * y for row in second for y in row],
                            [sum(third[b * query + i][h * 4 + w] * third[b * query + j][h * 4 + w] for w in range(4))
                             for b in range(batch) for h in range(HEADS) for i in range(query) for j in range(query)]]
                got = bundle.call("project", {"batch": batch, "query": query}, [x for row in rows for x in row])
                # Sums of at most 20 products below 1, then of 13 or 4 of these: 20 * 20 * 13 * 2^-24 < 4e-4.
                for result, right in zip(got, expected):
                    self.assertEqual(len(result), len(right))
                    self.assertLess(max(abs(x - y) for x, y in zip(result, right)), 4e-4)


if __name__ == "__main__":
    unittest.main()
