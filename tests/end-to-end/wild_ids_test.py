#!/usr/bin/env python3
"""Ids, starts and lengths out of range in calls of graphs: the nearest element is read, in every kernel and variant."""

import random
import unittest

from bundles import compile_bundle, scratch
from kernel_call import Bundle

MOST = 2**31 - 1
SPEC = """name: wild
weights: {random: 1}
graph:
  - name: embed
    inputs:
      ids: {shape: [batch, query], type: i32}
      table: {shape: [rows, width: 8]}
      places: {shape: [place, width: 8]}
    ops:
      embedded: {embed: [ids, table]}
      result: {add_positions: [embedded, places], offset: 1}
    outputs: result
  - name: pick
    inputs:
      x: {shape: [batch, query, width: 5]}
      index: {shape: [batch], type: i32}
      ids: {shape: [batch, query], type: i32}
    ops:
      taken: {take: [x, index]}
      probable: {log_softmax: taken}
      result: {pick: [probable, ids]}
    outputs: result
  - name: predict
    inputs:
      x: {shape: [batch, query, width: 8]}
      ids: {shape: [batch, query], type: i32}
    weights: {words: {shape: [37, 8]}}
    ops:
      logits: {linear: [x, words]}
      probable: {log_softmax: logits}
      result: {pick: [probable, ids]}
    outputs: result
  - name: attend
    inputs:
      q: {shape: [batch, head: 2, query, width: 8]}
      k: {shape: [batch, head: 2, key, width: 8]}
      index: {shape: [batch], type: i32}
      starts: {shape: [batch], type: i32}
      lengths: {shape: [batch], type: i32}
      kinds: {shape: [batch, key], type: i32}
    weights:
      angles: {shape: [9, 8], sinusoid: concatenated}
      bias: {value: [1, 2, 3]}
    ops:
      turned: {rotary: [q, angles, starts]}
      taken: {take: [k, index]}
      products: {matmul: [turned, taken], transposed: true}
      moved: {score_map: [products, bias], score: "s + bias[key]"}
      bent: {score_map: [moved, kinds, bias], score: "s + bias[kinds[batch, key]]"}
      padded: {padding_mask: [bent, lengths]}
      before: {prefix_mask: [padded, lengths]}
      shares: {softmax: before}
      result: {matmul: [shares, taken]}
    outputs: result
  - name: window
    inputs:
      q: {shape: [batch, head: 2, query, width: 8]}
      k: {shape: [batch, head: 2, key, width: 8]}
      starts: {shape: [batch], type: i32}
    ops:
      products: {matmul: [q, k], transposed: true}
      near: {window_mask: [products, starts], before: 2, after: 3}
      shares: {softmax: near}
      result: {matmul: [shares, k]}
    outputs: result
"""


def numbers(count, seed):
    source = random.Random(seed)
    return [source.randint(-64, 64) / 64 for _ in range(count)]


def queries_and_keys(query):
    """Of two sentences with two heads: that many queries, and seven keys."""
    return numbers(2 * 2 * query * 8, 5), numbers(2 * 2 * 7 * 8, 6)


class WildIds(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        spec = scratch("wild.yaml")
        spec.write_text(SPEC)
        cls.bundle = Bundle(compile_bundle(spec))

    def check(self, entry, sizes, *pairs):
        """Each of `pairs` is what is given, and what it has to be taken for."""
        for name, variant in self.bundle.variants().items():
            wild, tame = ([self.bundle.call(entry, sizes, *inputs, variant=variant)] for inputs in zip(*pairs))
            self.assertEqual(tame, wild, name)

    def test_embed_and_add_positions(self):
        sizes = {"batch": 2, "query": 4, "rows": 5, "place": 3}
        table, places = numbers(40, 1), numbers(24, 2)
        ids = ([-1, -MOST - 1, 5, MOST, 2**30, -2**20, 6, 3], [0, 0, 4, 4, 4, 0, 4, 3])
        self.check("embed", sizes, ids, (table, table), (places, places))
        got, = self.bundle.call("embed", sizes, ids[0], table, places)
        wanted = [table[8 * ids[1][row] + i] + places[8 * min(row % 4 + 1, 2) + i]
                  for row in range(8) for i in range(8)]
        self.assertEqual(wanted, got)

    def test_take_and_pick(self):
        x = numbers(30, 3)
        self.check("pick", {"batch": 2, "query": 3}, (x, x), ([-7, 2], [0, 1]),
                   ([-1, 5, MOST, -MOST - 1, 2, 1000], [0, 4, 4, 0, 2, 4]))

    def test_pick_of_a_vocabulary(self):
        x = numbers(48, 4)
        self.check("predict", {"batch": 2, "query": 3}, (x, x),
                   ([-1, 37, MOST, -MOST - 1, 2, 38], [0, 36, 36, 0, 2, 36]))

    def test_attention(self):
        for query in 1, 6:
            q, k = queries_and_keys(query)
            for starts in ([-2**30, 2**30], [-20, 9]), ([9, -query], [8 + query, -query]):
                self.check("attend", {"batch": 2, "query": query, "key": 7}, (q, q), (k, k),
                           ([-MOST - 1, MOST], [0, 1]), starts, ([7, MOST], [7, 7]),
                           ([-1, 3, MOST, 1] * 3 + [5, 0], [0, 2, 2, 1] * 3 + [2, 0]))
            for length in -1, -MOST - 1:
                self.check("attend", {"batch": 2, "query": query, "key": 7}, (q, q), (k, k), ([0, 1], [0, 1]),
                           ([0, 0], [0, 0]), ([length, 3], [0, 3]), ([0] * 14, [0] * 14))

    def test_starts_of_any_value_are_harmless(self):
        """Past 2^30 sums of positions overflow: some row of the table is read."""
        for query in 1, 6:
            q, k = queries_and_keys(query)
            for variant in self.bundle.variants().values():
                for starts in [MOST, -MOST - 1], [MOST - 3, -MOST + 3]:
                    sizes = {"batch": 2, "query": query, "key": 7}
                    got, = self.bundle.call("attend", sizes, q, k, [0, 1], starts, [7, 3], [0] * 14, variant=variant)
                    self.assertLessEqual(max(map(abs, got)), 1.0001)  # a mean of keys
                    got, = self.bundle.call("window", sizes, q, k, starts, variant=variant)
                    self.assertLessEqual(max(map(abs, got)), 1.0001)

    def test_windows_past_the_keys_hide_all(self):
        for query in 1, 6:
            q, k = queries_and_keys(query)
            for start in -2**30, 2**30, -20, 20:
                got, = self.bundle.call("window", {"batch": 2, "query": query, "key": 7}, q, k, [start, 1])
                self.assertEqual([0] * 2 * query * 8, got[:2 * query * 8])


if __name__ == "__main__":
    unittest.main()
