#!/usr/bin/env python3
"""The example's bundle against its own reference and its unseen pairs."""

import json
import pathlib
import re
import shutil
import subprocess
import unittest

from bundles import ROOT, attnc, build_program, compile_bundle, run_ids, scratch, variants

EXAMPLE = ROOT / "examples/korean-english"
SOURCES = pathlib.Path(__file__).resolve().parent
WEIGHT = re.compile(r"<title>([0-9.]+)</title>")  # of a cell of the picture


class KoreanEnglish(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bundle = compile_bundle(EXAMPLE / "model.yaml")

    def test_the_sentence_of_the_readme_is_translated(self):
        got = attnc("run", self.bundle, text="어제 카페 갔었어 거기 사람 많더라\n")
        self.assertEqual("I went to the cafe yesterday there were many people\n", got)

    def test_all_unseen_pairs_come_out_exactly_with_each_variant(self):
        pairs = [line.split("\t") for line in (EXAMPLE / "test.tsv").read_text().splitlines()]
        self.assertEqual(1000, len(pairs))
        for variant in variants():
            got = attnc("run", self.bundle, "--variant", variant, "--batch", 32, "--threads", 2, text="".join(p[0] + "\n" for p in pairs))
            self.assertEqual([pair[1] for pair in pairs], got.splitlines(), variant)

    def test_the_picture_of_the_readme_is_drawn(self):
        for variant in variants():
            drawing = scratch("attention.svg")
            attnc("run", self.bundle, "--variant", variant, "--attention", drawing, text="어제 카페 갔었어 거기 사람 많더라\n")
            shown, drawn = [WEIGHT.split(file.read_text()) for file in (ROOT / "docs/images/attention.svg", drawing)]
            self.assertEqual(shown[::2], drawn[::2], variant)  # all but the weights
            for wanted, got in zip(shown[1::2], drawn[1::2]):
                self.assertAlmostEqual(float(wanted), float(got), delta=1.5e-5)  # variants differ in the last digit shown

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

    def test_more_sentences_than_a_session_can_have_are_no_lines_mistake(self):
        done = attnc("run", self.bundle, "--batch", 1048576, "--beam", 64, text="하나\n둘\n", check=False)
        self.assertEqual((2, ""), (done.returncode, done.stdout))
        self.assertIn(" = 67108864", done.stderr)
        self.assertNotIn("line", done.stderr)

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
        sentence, wanted = "어제 카페 갔었어 거기 사람 많더라\n", "I went to the cafe yesterday there were many people\n"
        done = subprocess.run([program, self.bundle], input=sentence, capture_output=True, text=True)
        self.assertEqual((0, wanted), (done.returncode, done.stdout), done.stderr)
        for length, message in ((4094, "tokens in a line, at most 128"), (4095, "a line has more than 4094 bytes")):
            done = subprocess.run([program, self.bundle], input=sentence + "a" * length + "\n", capture_output=True, text=True)
            self.assertEqual((1, wanted), (done.returncode, done.stdout))
            self.assertIn(message, done.stderr)

    def test_many_sessions_on_one_model_find_what_one_finds(self):
        program = build_program(SOURCES / "sessions.c")
        sentences = [line.split("\t")[0] for line in (EXAMPLE / "test.tsv").read_text().splitlines()[:5]]
        done = subprocess.run([program, self.bundle, *sentences], capture_output=True, text=True)
        self.assertEqual((0, "0\n", ""), (done.returncode, done.stdout, done.stderr))

    def test_a_host_that_leaves_tasks_out_fails_every_call(self):
        """Kernels do not look at what their loops return."""
        done = subprocess.run([build_program(SOURCES / "failing_host.c"), self.bundle], capture_output=True, text=True)
        self.assertEqual((0, "", ""), (done.returncode, done.stdout, done.stderr))


if __name__ == "__main__":
    unittest.main()
