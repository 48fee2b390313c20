#!/usr/bin/env python3
"""The dates' bundle against its own reference and its unseen days."""

import json
import re
import unittest

from bundles import ROOT, attnc, compile_bundle, run_ids, scratch

EXAMPLE = ROOT / "examples/dates"


class Dates(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bundle = compile_bundle(EXAMPLE / "model.yaml")

    def test_at_least_99_percent_of_unseen_days_come_out_exactly(self):
        pairs = [line.split("\t") for line in (EXAMPLE / "test.tsv").read_text().splitlines()]
        got = attnc("run", self.bundle, "--threads", 2, text="".join(p[0] + "\n" for p in pairs)).splitlines()
        self.assertEqual(1000, len(pairs))
        self.assertEqual(len(pairs), len(got))
        self.assertGreaterEqual(sum(line == pair[1] for line, pair in zip(got, pairs)), 990)

    def test_greedy_equals_the_reference_of_the_training_framework(self):
        reference = json.loads((EXAMPLE / "reference.json").read_text())
        got = run_ids(self.bundle, [r["source_ids"] for r in reference], "--length-penalty", 0)
        self.assertEqual([r["output_ids"] for r in reference], [i for i, _ in got])
        for wanted, (_, score) in zip(reference, got):
            self.assertAlmostEqual(wanted["score"], score, delta=1e-4)

    def test_the_year_is_read_where_it_stands(self):
        drawing = scratch("heat.svg")
        text = "Sat, the 3rd of May 1979"
        self.assertEqual("1979-05-03\n", attnc("run", self.bundle, "--attention", drawing, text=text + "\n"))
        weights = [float(value) for value in re.findall(r"<title>([^<]*)</title>", drawing.read_text())]
        columns = len(text) + 1  # with the end token
        self.assertEqual(0, len(weights) % columns)
        rows = [weights[at:at + columns] for at in range(0, len(weights), columns)]
        for row in rows:
            self.assertAlmostEqual(1, sum(row), delta=columns * 1e-5)  # five digits are drawn
        for digit in (2, 3):
            self.assertGreater(sum(rows[digit][text.index("1979"):]), 0.5)


if __name__ == "__main__":
    unittest.main()
