#!/usr/bin/env python3
"""The Transformer's base model compiles for all CPUs, and its speed can be measured. How fast it is, is not tested here."""

import json
import unittest

from bundles import SPECS, attnc, scratch, variants


class TransformerBase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bundle = scratch("transformer-base")
        attnc("compile", SPECS / "transformer-base.yaml", "-o", cls.bundle)

    def test_the_spec_has_at_most_40_lines_and_the_bundle_five_variants_unless_told(self):
        self.assertLessEqual(len((SPECS / "transformer-base.yaml").read_text().splitlines()), 40)
        manifest = json.loads((self.bundle / "manifest.json").read_text())
        self.assertEqual(["x86-64", "avx2", "avx512", "zen4", "zen5"], [variant["name"] for variant in manifest["variants"]])

    def test_variants_that_the_machine_cannot_run_are_refused(self):
        for name in {"x86-64", "avx2", "avx512", "zen4", "zen5"} - set(variants()):
            done = attnc("run", self.bundle, "--ids", "--variant", name, text="5\n", check=False)
            self.assertNotEqual(0, done.returncode)
            self.assertIn("this machine cannot run", done.stderr)

    def test_a_sentence_has_the_same_bits_where_more_are_given_than_are_encoded_together(self):
        text = "".join(" ".join(str(5 + (7 * s + 3 * i) % 900) for i in range(1 + s % 30)) + "\n" for s in range(60))
        options = ["--ids", "--json", "--max-length", 2]
        alone = attnc("run", self.bundle, *options, "--batch", 1, text=text)
        for threads in 1, 2, 3:  # 60 x 30 tokens, of which 512 are encoded together by each thread
            self.assertEqual(alone, attnc("run", self.bundle, *options, "--batch", 60, "--threads", threads, text=text))

    def test_short_sources_have_the_same_bits_beside_a_long_one(self):
        lengths = [1, 3, 300, 129, 7, 3, 128, 40]  # states have room for 300 of each
        text = "".join(" ".join(str(5 + (7 * s + 3 * i) % 900) for i in range(n)) + "\n" for s, n in enumerate(lengths))
        for variant in set(variants()) & {"x86-64", "avx2", "avx512", "zen4", "zen5"}:
            options = ["--ids", "--json", "--max-length", 3, "--beam", 2, "--variant", variant]
            alone = attnc("run", self.bundle, *options, "--batch", 1, text=text)
            self.assertEqual(alone, attnc("run", self.bundle, *options, "--batch", 8, "--threads", 2, text=text), variant)

    def bench(self, *options):
        return json.loads(attnc("bench", self.bundle, *options, "--seconds", 0, "--json"))

    def test_a_session_for_one_sentence_of_64_tokens_takes_less_than_4_MB(self):
        report = self.bench("--batch", 1, "--source-length", 64, "--target-length", 64)
        self.assertLess(report["arena_bytes"] + report["state_bytes"], 4e6, report)

    def test_profiles_count_once_what_beams_read_of_their_source(self):
        def bytes_for(beam):
            report = self.bench("--batch", 2, "--beam", beam, "--source-length", 64, "--target-length", 3, "--profile")
            [line] = [line for line in report["kernels"] if line["entry"] == "step" and line["kernel"].startswith("attention_shared")]
            return line["bytes"] / line["calls"]
        keys_and_values = 2 * 2 * 64 * 512 * 4
        self.assertGreater(bytes_for(1), keys_and_values)
        self.assertLess(bytes_for(4), 1.2 * keys_and_values)  # queries and results are of each beam

    def test_bench_reports_greedy_and_beams_of_every_batch(self):
        for batch in (1, 8, 64):
            for beam in (1, 4):
                report = json.loads(attnc("bench", self.bundle, "--batch", batch, "--beam", beam, "--source-length", 3,
                                          "--target-length", 2, "--threads", 2, "--json"))
                asked = {"batch": batch, "beam": beam, "source_length": 3, "target_length": 2, "threads": 2}
                self.assertEqual(asked, {key: report[key] for key in asked})
                self.assertGreater(report["tokens_per_second"], 0)
                self.assertLessEqual(report["ms_minimum"], report["ms_median"])
                # Two tokens of each sentence in every request: the two numbers are of one measurement.
                self.assertAlmostEqual(report["tokens_per_second"] * report["ms_median"] / 1000, 2 * batch, places=6)


if __name__ == "__main__":
    unittest.main()
