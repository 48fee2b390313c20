#!/usr/bin/env python3
"""Graphs of attention with every score, mask, kind of heads and positions: compiled, called, compared with plain
loops in double precision. Each is one attention kernel."""

import math
import random
import unittest

from bundles import attnc, compile_bundle, scratch
from exact import numbers
from kernel_call import Bundle
from positions import t5_bucket, turn


class Shape:
    """Sizes of one attention: batch, heads, heads of keys, queries, keys, width, width of values."""

    def __init__(self, batch=2, heads=4, key_heads=4, queries=7, keys=7, width=20, value_width=20):
        self.batch, self.heads, self.key_heads, self.queries = batch, heads, key_heads, queries
        self.keys, self.width, self.value_width = keys, width, value_width

    def inputs(self):
        return [numbers(self.batch * self.heads * self.queries * self.width, 1),
                numbers(self.batch * self.key_heads * self.keys * self.width, 2),
                numbers(self.batch * self.key_heads * self.keys * self.value_width, 3)]

    def sizes(self):
        return {"batch": self.batch, "query_length": self.queries, "key_length": self.keys}

    def query(self, q, b, h, i):
        at = ((b * self.heads + h) * self.queries + i) * self.width
        return q[at:at + self.width]

    def key(self, k, b, h, j):
        at = ((b * self.key_heads + h * self.key_heads // self.heads) * self.keys + j) * self.width
        return k[at:at + self.width]

    def value(self, v, b, h, j):
        at = ((b * self.key_heads + h * self.key_heads // self.heads) * self.keys + j) * self.value_width
        return v[at:at + self.value_width]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def attend(shape, inputs, score):
    """softmax(score) and softmax(score) values, as flat lists; `score(q, k, b, h, i, j)` is -inf where the key is hidden."""
    q, k, v = inputs
    shares, context = [], []
    for b in range(shape.batch):
        for h in range(shape.heads):
            for i in range(shape.queries):
                asked = shape.query(q, b, h, i)
                scores = [score(asked, shape.key(k, b, h, j), b, h, i, j) for j in range(shape.keys)]
                highest = max(scores)
                weights = [0 if s == -math.inf else math.exp(s - highest) for s in scores]
                total = sum(weights) or 1
                shares += [weight / total for weight in weights]
                for w in range(shape.value_width):
                    context.append(sum(weights[j] * shape.value(v, b, h, j)[w] for j in range(shape.keys)) / total)
    return shares, context


def graph(shape, ops, inputs="", weights=""):
    """A spec whose `ops` lead from query, key and value to `masked`."""
    return f"""name: attention
graph:
  name: attend
  inputs:
    query: {{shape: [batch, head: {shape.heads}, query_length, width: {shape.width}]}}
    key: {{shape: [batch, {"key_head" if shape.key_heads != shape.heads else "head"}: {shape.key_heads}, key_length, width: {shape.width}]}}
    value: {{shape: [batch, {"key_head" if shape.key_heads != shape.heads else "head"}: {shape.key_heads}, key_length, value_width: {shape.value_width}]}}
{inputs}  weights: {{{weights}}}
  ops:
{ops}    weights_of_keys: {{softmax: masked}}
    context: {{matmul: [weights_of_keys, value]}}
  outputs: context
"""


PRODUCTS = "    products: {matmul: [query, key], transposed: true}\n"


class AttentionGraphs(unittest.TestCase):
    def compile(self, text, kernels=1):
        spec = scratch("attention.yaml")
        spec.write_text(text)
        explained = attnc("explain", spec)
        names = [line.split(",")[0].strip() for line in explained.splitlines()]
        attentions = [name for name in names if name.startswith("attention_") and not name.startswith("attention_weights_")]
        self.assertEqual(kernels, len(attentions), explained)
        self.kernels = [name for name in names if name.startswith(("attention_", "matmul_", "softmax_"))]
        return Bundle(compile_bundle(spec, "--target", "host"))

    def check(self, shape, text, score, more=(), tolerance=2e-5, kernels=1):
        """Compares with the loops; `more` inputs follow query, key and value. Kernel tests cover the variants."""
        bundle = self.compile(text, kernels)
        inputs = shape.inputs()
        _, expected = attend(shape, inputs, score)
        got, = bundle.call("attend", shape.sizes(), *inputs, *more)
        self.assertFalse(any(math.isnan(x) for x in got))
        self.assertLess(max(abs(a - b) for a, b in zip(got, expected)), tolerance)

    # Scores ---------------------------------------------------------------------------------------------------------

    def test_dot_products(self):
        shape = Shape(width=4, value_width=72, queries=3)
        ops = "    masked: {matmul: [query, key], transposed: true}\n"
        self.check(shape, graph(shape, ops), lambda q, k, *at: dot(q, k))

    def test_scaled_dot_products(self):
        shape = Shape(width=72, value_width=4, keys=513, queries=1, batch=1)
        ops = PRODUCTS + "    masked: {scale: products, by: 0.25}\n"
        self.check(shape, graph(shape, ops), lambda q, k, *at: 0.25 * dot(q, k))

    def test_general_scores_with_and_without_bias(self):
        for bias in (False, True):
            shape = Shape(batch=2, heads=1, key_heads=1, width=3, value_width=3)
            matrix, offset = [[1, 0.5, -1], [0, 2, 0.25], [-0.5, 1, 1]], [0.5, -1, 0.25]
            inputs = "    rows: {shape: [batch, query_length, width: 3]}\n"
            text = graph(shape, f"""    turned: {{linear: [rows, general{", offset" if bias else ""}]}}
    heads: {{split_heads: turned, heads: 1}}
    masked: {{matmul: [heads, key], transposed: true}}
""", inputs, f"general: {{value: {matrix}}}" + (f", offset: {{value: {offset}}}" if bias else ""))
            text = "\n".join(line for line in text.splitlines() if not line.startswith("    query:")) + "\n"
            q, k, v = shape.inputs()
            bundle = self.compile(text)
            turned = lambda row: [dot(row, m) + (o if bias else 0) for m, o in zip(matrix, offset)]
            _, expected = attend(shape, [q, k, v], lambda q, k, *at: dot(turned(q), k))
            got, = bundle.call("attend", shape.sizes(), k, v, q)
            self.assertLess(max(abs(a - b) for a, b in zip(got, expected)), 2e-5)

    def test_additive_scores(self):
        shape = Shape(heads=2, key_heads=1, queries=5, keys=37)
        weight = numbers(20, 9)
        ops = "    masked: {additive_scores: [query, key, weight]}\n"
        # tanh is off by 5e-7, so a score by 20 times that.
        self.check(shape, graph(shape, ops, weights=f"weight: {{value: {weight}}}"),
                   lambda q, k, *at: sum(w * math.tanh(x + y) for w, x, y in zip(weight, q, k)))

    def test_cosine_scores(self):
        shape = Shape(width=72)
        ops = """    query_direction: {l2_norm: query, epsilon: 1e-8}
    key_direction: {l2_norm: key, epsilon: 1e-8}
    products: {matmul: [query_direction, key_direction], transposed: true}
    masked: {scale: products, by: 10}
"""
        self.check(shape, graph(shape, ops),
                   lambda q, k, *at: 10 * dot(q, k) / math.sqrt(dot(q, q) * dot(k, k)))

    def test_an_expression_of_score_and_positions(self):
        shape = Shape(queries=37, keys=140, batch=1)
        slopes = [0.5, 0.25, 0.125, 0.0625]
        ops = PRODUCTS + '    masked: {score_map: [products, slope], score: "softcap(s, 30) + slope[head] * (key - query)"}\n'
        self.check(shape, graph(shape, ops, weights=f"slope: {{value: {slopes}}}"),
                   lambda q, k, b, h, i, j: 30 * math.tanh(dot(q, k) / 30) + slopes[h] * (j - i))

    # Masks ----------------------------------------------------------------------------------------------------------

    def test_masks_with_bounds(self):
        hidden = -math.inf
        lengths = [0, 130]
        cases = {
            "causal_mask: products": ((), lambda b, i, j: j <= i),
            "padding_mask: [products, lengths]": (lengths, lambda b, i, j: j < lengths[b]),
            "window_mask: products, before: 5, after: 2": ((), lambda b, i, j: i - 5 <= j <= i + 2),
            "window_mask: products, before: 140, after: 0": ((), lambda b, i, j: i - 140 <= j <= i),
            "window_mask: products, after: 3": ((), lambda b, i, j: j <= i + 3),
            "window_mask: [products, lengths], before: 1, after: 0": (lengths, lambda b, i, j: lengths[b] + i - 1 <= j <= lengths[b] + i),
            "prefix_mask: [products, lengths]": (lengths, lambda b, i, j: j <= i or j < lengths[b]),
        }
        shape = Shape(heads=2, key_heads=2, queries=150, keys=150, width=4, value_width=4)
        for mask, (given, isSeen) in cases.items():
            with self.subTest(mask=mask):
                ops = PRODUCTS + f"    masked: {{{mask}}}\n"
                inputs = "    lengths: {shape: [batch], type: i32}\n" if given else ""
                self.check(shape, graph(shape, ops, inputs),
                           lambda q, k, b, h, i, j: dot(q, k) if isSeen(b, i, j) else hidden, [given] if given else [])

    def test_boolean_additive_and_conditional_masks(self):
        hidden = -math.inf
        keys = 300  # three blocks; masks from outside hide all of the second
        shape = Shape(queries=5, keys=keys)
        source = random.Random(4)
        allowed = [source.randint(0, 1) for _ in range(2 * 5 * keys)]
        added = [hidden if source.random() < 0.3 else source.randint(-8, 8) / 8
                 for _ in range(2 * 4 * 5 * keys)]
        for mask, nothing in ((allowed, 0), (added, hidden)):
            for i in range(len(mask)):
                if 128 <= i % keys < 256 or i < keys:  # the first query sees nothing
                    mask[i] = nothing
        at = lambda b, i, j: (b * 5 + i) * keys + j
        full = lambda b, h, i, j: ((b * 4 + h) * 5 + i) * keys + j
        boolean = "    allowed: {shape: [batch, query_length, key_length], type: i32}\n"
        bias = "    bias: {shape: [batch, head: 4, query_length, key_length]}\n"
        cases = [
            ("score_map: [products, allowed], mask: 'allowed[batch, query, key] != 0'", boolean, allowed,
             lambda s, b, h, i, j: s if allowed[at(b, i, j)] else hidden),
            ("score_map: [products, bias], score: 's + bias[batch, head, query, key]'", bias, added,
             lambda s, b, h, i, j: s + added[full(b, h, i, j)]),
            ("add: [products, bias]", bias, added, lambda s, b, h, i, j: s + added[full(b, h, i, j)]),
            ("score_map: products, mask: 'key <= query and not (key % 3 == 1)'", "", None,
             lambda s, b, h, i, j: s if j <= i and j % 3 != 1 else hidden),
            ("score_map: products, score: 'select(abs(key - query) < 3, 2 * s, -inf)'", "", None,
             lambda s, b, h, i, j: 2 * s if abs(j - i) < 3 else hidden),
        ]
        for op, inputs, given, score in cases:
            with self.subTest(op=op):
                self.check(shape, graph(shape, PRODUCTS + f"    masked: {{{op}}}\n", inputs),
                           lambda q, k, b, h, i, j: score(dot(q, k), b, h, i, j), [given] if given else [])

    def test_what_is_hidden_stays_hidden(self):
        shape = Shape()
        ops = PRODUCTS + """    causal: {causal_mask: products}
    masked: {score_map: causal, score: 'tanh(s) + 1'}
"""
        self.check(shape, graph(shape, ops),
                   lambda q, k, b, h, i, j: math.tanh(dot(q, k)) + 1 if j <= i else -math.inf)

    def test_what_is_hidden_stays_hidden_in_memory(self):
        shape = Shape()
        ops = PRODUCTS + """    causal: {causal_mask: products}
    masked: {score_map: causal, score: 'tanh(s) + 1'}
"""
        text = graph(shape, ops).replace("outputs: context", "outputs: [context, masked]")
        bundle = self.compile(text, kernels=0)
        got, masked = bundle.call("attend", shape.sizes(), *shape.inputs())
        _, expected = attend(shape, shape.inputs(),
                             lambda q, k, b, h, i, j: math.tanh(dot(q, k)) + 1 if j <= i else -math.inf)
        self.assertLess(max(abs(a - b) for a, b in zip(got, expected)), 2e-5)
        self.assertEqual([-math.inf if n % 7 > n // 7 % 7 else 0 for n in range(len(masked))],
                         [x if x == -math.inf else 0 for x in masked])

    # Heads ----------------------------------------------------------------------------------------------------------

    def test_grouped_and_multi_query_heads(self):
        for heads, key_heads, width in ((8, 2, 64), (4, 1, 20), (6, 3, 72), (1, 1, 80)):
            with self.subTest(heads=heads, key_heads=key_heads):
                shape = Shape(heads=heads, key_heads=key_heads, width=width, queries=3, keys=37)
                ops = PRODUCTS + "    masked: {scale: products, by: 0.125}\n"
                self.check(shape, graph(shape, ops), lambda q, k, *at: dot(q, k) / 8)

    def test_heads_too_wide_for_one_kernel_are_left_apart(self):
        lengths = [0, 30]
        for key_heads, width, value_width in ((2, 1025, 3), (1, 4, 1025)):
            with self.subTest(width=width, value_width=value_width):
                shape = Shape(heads=2, key_heads=key_heads, width=width, value_width=value_width, queries=3, keys=37)
                ops = PRODUCTS + """    scaled: {scale: products, by: 0.03}
    masked: {padding_mask: [scaled, lengths]}
"""
                self.check(shape, graph(shape, ops, "    lengths: {shape: [batch], type: i32}\n"),
                           lambda q, k, b, h, i, j: 0.03 * dot(q, k) if j < lengths[b] else -math.inf, [lengths], kernels=0)

    def test_turned_keys_are_left_apart(self):
        shape = Shape(queries=3, keys=37, width=20)
        ops = "    products: {matmul: [query, key]}\n    masked: {scale: products, by: 0.25}\n"
        text = graph(shape, ops).replace("key_length, width: 20]", "width: 20, key_length]", 1)
        bundle = self.compile(text, kernels=0)
        query, key, value = shape.inputs()
        turned = [key[(head * 37 + j) * 20 + w] for head in range(2 * 4) for w in range(20) for j in range(37)]
        got, = bundle.call("attend", shape.sizes(), query, turned, value)
        _, expected = attend(shape, [query, key, value], lambda q, k, *at: 0.25 * dot(q, k))
        self.assertLess(max(abs(a - b) for a, b in zip(got, expected)), 2e-5)

    def test_weights_beside_the_context(self):
        for queries, keys, width in ((1, 1, 4), (3, 37, 20), (70, 130, 64)):
            with self.subTest(queries=queries, keys=keys, width=width):
                shape = Shape(heads=4, key_heads=2, queries=queries, keys=keys, width=width)
                lengths = [0, max(1, keys - 7)]
                ops = PRODUCTS + """    scaled: {scale: products, by: 0.2}
    masked: {padding_mask: [scaled, lengths]}
"""
                text = graph(shape, ops, "    lengths: {shape: [batch], type: i32}\n").replace("outputs: context", "outputs: [context, weights_of_keys]")
                bundle = self.compile(text, kernels=0)
                self.assertEqual(["attention_weights", "matmul"], [name.rsplit("_4x")[0] for name in self.kernels])
                inputs = shape.inputs()
                weights, context = attend(shape, inputs, lambda q, k, b, h, i, j: 0.2 * dot(q, k) if j < lengths[b] else -math.inf)
                for got, expected in zip(bundle.call("attend", shape.sizes(), *inputs, lengths), (context, weights)):
                    self.assertEqual(len(expected), len(got))
                    self.assertLess(max(abs(a - b) for a, b in zip(got, expected)), 2e-5)

    def test_the_mean_of_weights(self):
        shape = Shape(batch=1, queries=7, keys=37, width=64)
        text = graph(shape, PRODUCTS + "    masked: {scale: products, by: 0.2}\n")
        text = "\n".join(line for line in text.splitlines() if not line.startswith("    value:"))
        text = text.replace("context: {matmul: [weights_of_keys, value]}", "mean: {mean_heads: weights_of_keys}").replace("outputs: context", "outputs: mean")
        bundle = self.compile(text, kernels=0)
        self.assertEqual(["attention_weights_4x64_mean_heads"], self.kernels)
        inputs = shape.inputs()
        weights, _ = attend(shape, inputs, lambda q, k, *at: 0.2 * dot(q, k))
        got, = bundle.call("attend", shape.sizes(), *inputs[:2])
        size = shape.queries * shape.keys
        self.assertEqual(size, len(got))
        for i in range(size):
            self.assertAlmostEqual(sum(weights[head * size + i] for head in range(4)) / 4, got[i], delta=2e-5)

    def test_heads_of_a_width_that_is_a_size_are_left_apart(self):
        for sized in ("width", "value_width"):
            with self.subTest(sized=sized):
                shape = Shape(queries=3, keys=37)
                text = graph(shape, PRODUCTS + "    masked: {scale: products, by: 0.2}\n").replace(f", {sized}: 20]", f", {sized}]")
                bundle = self.compile(text, kernels=0)
                inputs = shape.inputs()
                _, expected = attend(shape, inputs, lambda q, k, *at: 0.2 * dot(q, k))
                got, = bundle.call("attend", {**shape.sizes(), sized: 20}, *inputs)
                self.assertLess(max(abs(a - b) for a, b in zip(got, expected)), 2e-5)

    def test_batches_may_be_called_as_other_axes_of_kernels(self):
        lengths = [5, 30]
        for name in ("query", "key"):
            with self.subTest(name=name):
                shape = Shape(queries=3, keys=37)
                ops = PRODUCTS + "    masked: {padding_mask: [products, lengths]}\n"
                text = graph(shape, ops, "    lengths: {shape: [batch], type: i32}\n").replace("[batch", f"[{name}")
                text = text.replace("query: {", "q: {").replace("key: {", "k: {").replace("[query, key]", "[q, k]")
                sizes = {name: 2, "query_length": 3, "key_length": 37}
                bundle = self.compile(text)
                got, = bundle.call("attend", sizes, *shape.inputs(), lengths)
                _, expected = attend(shape, shape.inputs(), lambda q, k, b, h, i, j: dot(q, k) if j < lengths[b] else -math.inf)
                self.assertEqual(len(expected), len(got))
                self.assertLess(max(abs(a - b) for a, b in zip(got, expected)), 2e-5)

    def test_one_query_of_many_keys(self):
        """A task is a head of a row; where there is one head alone, a span of a row's keys."""
        for heads, width in ((8, 64), (1, 64), (2, 20)):
            with self.subTest(heads=heads, width=width):
                shape = Shape(heads=heads, key_heads=heads, queries=1, keys=700, width=width, value_width=width)
                lengths = [513, 700]
                ops = PRODUCTS + """    scaled: {scale: products, by: 0.2}
    masked: {padding_mask: [scaled, lengths]}
"""
                text = graph(shape, ops, "    lengths: {shape: [batch], type: i32}\n").replace("query_length", "query: 1")
                bundle = self.compile(text)
                got, = bundle.call("attend", {"batch": 2, "key_length": 700}, *shape.inputs(), lengths)
                _, expected = attend(shape, shape.inputs(), lambda q, k, b, h, i, j: 0.2 * dot(q, k) if j < lengths[b] else -math.inf)
                self.assertLess(max(abs(a - b) for a, b in zip(got, expected)), 2e-5)

    # Positions ------------------------------------------------------------------------------------------------------

    def test_alibi(self):
        shape = Shape(queries=37, keys=37, batch=1)
        slopes = [2 ** (-2 * (h + 1)) for h in range(4)]
        ops = PRODUCTS + "    masked: {score_map: [products, slope], score: 's - slope[head] * abs(key - query)'}\n"
        self.check(shape, graph(shape, ops, weights=f"slope: {{value: {slopes}}}"),
                   lambda q, k, b, h, i, j: dot(q, k) - slopes[h] * abs(j - i))

    def test_buckets_of_t5(self):
        shape = Shape(queries=150, keys=150, batch=1, width=4, value_width=4)
        bias = [[(7 * n + 3 * h) % 16 / 8 for h in range(4)] for n in range(32)]
        for name, bidirectional in (("bucket", True), ("causal_bucket", False)):
            ops = PRODUCTS + f"    masked: {{score_map: [products, bias], score: 's + bias[{name}(key - query, 32, 128), head]'}}\n"
            self.check(shape, graph(shape, ops, weights=f"bias: {{value: {bias}}}"),
                       lambda q, k, b, h, i, j: dot(q, k) + bias[t5_bucket(j - i, bidirectional, 32, 128)][h])

    def test_rotary_positions(self):
        for interleaved, turned, starts in ((True, 20, None), (False, 20, [5, 0]), (True, 8, [1, 3]), (False, 12, None)):
            with self.subTest(interleaved=interleaved, turned=turned, starts=starts):
                shape = Shape()
                more = ", starts" if starts else ""
                ops = f"""    turned_query: {{rotary: [query, table{more}], interleaved: {str(interleaved).lower()}}}
    turned_key: {{rotary: [key, table{more}], interleaved: {str(interleaved).lower()}}}
    masked: {{matmul: [turned_query, turned_key], transposed: true}}
"""
                inputs = "    starts: {shape: [batch], type: i32}\n" if starts else ""
                text = graph(shape, ops, inputs, f"table: {{shape: [64, {turned}], sinusoid: concatenated, base: 500}}")

                at = lambda row, position: turn(row, position, turned, 500, interleaved)
                start = lambda b: starts[b] if starts else 0
                self.check(shape, text, lambda q, k, b, h, i, j: dot(at(q, start(b) + i), at(k, start(b) + j)),
                           [starts] if starts else [])


class Expressions(unittest.TestCase):
    """Expressions of given scores, without a softmax: each value is seen."""

    CASES = {  # expression: (its value, tolerance)
        "s": (lambda s, b, h, q, k: s, 0),
        "1.5": (lambda s, b, h, q, k: 1.5, 0),
        "-s * 2 + 3 - 4 * s": (lambda s, b, h, q, k: -s * 2 + 3 - 4 * s, 1e-6),
        "batch * 1000 + head * 100 + query * 10 + key": (lambda s, b, h, q, k: b * 1000 + h * 100 + q * 10 + k, 0),
        "(key - query) // 3": (lambda s, b, h, q, k: (k - q) // 3, 0),
        "(key - query) % 3": (lambda s, b, h, q, k: (k - q) % 3, 0),
        "(key - query) / 4": (lambda s, b, h, q, k: (k - q) / 4, 1e-6),
        "select(key < query, 1, 0) + select(key <= query, 10, 0)": (lambda s, b, h, q, k: (k < q) + 10 * (k <= q), 0),
        "select(key > query, 1, 0) + select(key >= query, 10, 0)": (lambda s, b, h, q, k: (k > q) + 10 * (k >= q), 0),
        "select(key == query, 1, 0) + select(key != query, 10, 0)": (lambda s, b, h, q, k: (k == q) + 10 * (k != q), 0),
        "select(s < 0.25, 1, 0) + select(s <= 0.25, 10, 0)": (lambda s, b, h, q, k: (s < .25) + 10 * (s <= .25), 0),
        "select(s > 0.25, 1, 0) + select(s >= 0.25, 10, 0)": (lambda s, b, h, q, k: (s > .25) + 10 * (s >= .25), 0),
        "select(s == 0.25, 1, 0) + select(s != 0.25, 10, 0)": (lambda s, b, h, q, k: (s == .25) + 10 * (s != .25), 0),
        "select(key < 2 and query < 2 or not key < 4, 1, 2)": (lambda s, b, h, q, k: 1 if k < 2 and q < 2 or not k < 4 else 2, 0),
        "abs(key - query) + abs(s)": (lambda s, b, h, q, k: abs(k - q) + abs(s), 1e-6),
        "min(key, query, 2) + max(s, 0.5, -s)": (lambda s, b, h, q, k: min(k, q, 2) + max(s, .5, -s), 1e-6),
        "floor(s * 4)": (lambda s, b, h, q, k: math.floor(s * 4), 0),
        "exp(s) + log(key + 1) + sqrt(key)": (lambda s, b, h, q, k: math.exp(s) + math.log(k + 1) + math.sqrt(k), 4e-6),
        "tanh(s) + sigmoid(s)": (lambda s, b, h, q, k: math.tanh(s) + 1 / (1 + math.exp(-s)), 2e-6),
        "bucket(key - query, 8, 12) + 100 * causal_bucket(key - query, 4, 7)":
            (lambda s, b, h, q, k: t5_bucket(k - q, True, 8, 12) + 100 * t5_bucket(k - q, False, 4, 7), 0),
        "softcap(40 * s, 30)": (lambda s, b, h, q, k: 30 * math.tanh(40 * s / 30), 2e-5),
        "bias[head, key - query + 2]": (lambda s, b, h, q, k: 10 * h + max(0, min(4, k - q + 2)), 0),
        "kinds[batch, key] * 2": (lambda s, b, h, q, k: 2 * ((b + k) % 3), 0),
    }

    def test_each_operator_and_function(self):
        shape = (2, 3, 5, 6)
        ops = "".join(f'    value{n}: {{score_map: [scores, bias, kinds], score: "{text}"}}\n'
                      for n, text in enumerate(self.CASES))
        bias = [[10 * h + i for i in range(5)] for h in range(3)]
        spec = scratch("expressions.yaml")
        spec.write_text(f"""name: expressions
graph:
  name: map
  inputs:
    scores: {{shape: [batch, head: 3, query, key]}}
    kinds: {{shape: [batch, key], type: i32}}
  weights: {{bias: {{value: {bias}}}}}
  ops:
{ops}  outputs: [{", ".join(f"value{n}" for n in range(len(self.CASES)))}]
""")
        bundle = Bundle(compile_bundle(spec))
        scores = numbers(2 * 3 * 5 * 6, 5)
        kinds = [(b + k) % 3 for b in range(2) for k in range(6)]
        places = [(b, h, q, k) for b in range(2) for h in range(3) for q in range(5) for k in range(6)]
        for variant, number in bundle.variants().items():
            results = bundle.call("map", {"batch": 2, "query": 5, "key": 6}, scores, kinds, variant=number)
            for (text, (value, tolerance)), got in zip(self.CASES.items(), results):
                for score, place, x in zip(scores, places, got):
                    self.assertLessEqual(abs(x - value(score, *place)), tolerance, (variant, text, score, place))


if __name__ == "__main__":
    unittest.main()
