#!/usr/bin/env python3
"""The example's bundle against its own reference and its unseen pairs."""

import json
import pathlib
import shutil
import subprocess
import unittest

from bundles import ROOT, attnc, build_program, compile_bundle, run_ids, scratch

EXAMPLE = ROOT / "examples/korean-english"
SOURCES = pathlib.Path(__file__).resolve().parent


class KoreanEnglish(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bundle = compile_bundle(EXAMPLE / "model.yaml")

    def test_the_sentence_of_the_readme_is_translated(self):
        got = attnc("run", self.bundle, text="어제 카페 갔었어 거기 사람 많더라\n")
        self.assertEqual("I went to the cafe yesterday there were many people\n", got)

    def test_at_least_95_percent_of_unseen_pairs_come_out_exactly(self):
        pairs = [line.split("\t") for line in (EXAMPLE / "test.tsv").read_text().splitlines()]
        got = attnc("run", self.bundle, "--batch", 32, "--threads", 2, text="".join(p[0] + "\n" for p in pairs)).splitlines()
        self.assertEqual(1000, len(pairs))
        self.assertEqual(len(pairs), len(got))
        exact = sum(line == pair[1] for line, pair in zip(got, pairs))
        self.assertGreaterEqual(exact, 950)

    def test_greedy_equals_the_reference_of_the_training_framework(self):
        reference = json.loads((EXAMPLE / "reference.json").read_text())
        got = run_ids(self.bundle, [r["source_ids"] for r in reference], "--beam", 1, "--length-penalty", 0)
        self.assertEqual([r["output_ids"] for r in reference], [i for i, _ in got])
        for wanted, (_, score) in zip(reference, got):
            self.assertAlmostEqual(wanted["score"], score, delta=1e-4)

    def test_any_flipped_bit_of_the_manifest_is_refused(self):
        damaged = shutil.copytree(self.bundle, scratch("damaged"))
        program = build_program(SOURCES / "flip_manifest.c")
        done = subprocess.run([program, damaged], capture_output=True, text=True)
        self.assertEqual((0, ""), (done.returncode, done.stdout + done.stderr))

    def test_a_damaged_tokenizer_is_refused(self):
        damaged = shutil.copytree(self.bundle, scratch("damaged"))
        tokenizer = damaged / "tokenizer.model"
        content = bytearray(tokenizer.read_bytes())
        content[len(content) // 2] ^= 1
        tokenizer.write_bytes(content)
        done = attnc("run", damaged, check=False)
        self.assertEqual(1, done.returncode)
        self.assertIn("does not match its hash", done.stderr)

    def test_the_c_program_embeds_the_bundle(self):
        program = build_program(EXAMPLE / "embed.c", f"-I{self.bundle}", self.bundle / "libkorean_english.a")
        done = subprocess.run([program, self.bundle], input="어제 카페 갔었어 거기 사람 많더라\n", capture_output=True, text=True)
        self.assertEqual("I went to the cafe yesterday there were many people\n", done.stdout, done.stderr)

    def test_many_sessions_on_one_model_find_what_one_finds(self):
        program = build_program(SOURCES / "sessions.c")
        sentences = [line.split("\t")[0] for line in (EXAMPLE / "test.tsv").read_text().splitlines()[:5]]
        done = subprocess.run([program, self.bundle, *sentences], capture_output=True, text=True)
        self.assertEqual((0, "0\n", ""), (done.returncode, done.stdout, done.stderr))


if __name__ == "__main__":
    unittest.main()
