#!/usr/bin/env python3
"""attnc run, score, bench and inspect on the toy bundle. Standard library only."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest
import xml.dom.minidom

ATTNC, LIBRARY, WRITER = (os.environ[name] for name in ("ATTNC", "TOY_LIBRARY", "WRITE_TOY_BUNDLE"))
SOURCES = ["abc", "da", "한국é", "aZ", "", "cccc", "bad"]


class Commands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="attnc-commands-")
        cls.bundle = cls.write_bundle("toy")

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    @classmethod
    def write_bundle(cls, name):
        bundle = pathlib.Path(cls.scratch.name) / name
        subprocess.run([WRITER, LIBRARY, bundle], check=True)
        return bundle

    def call(self, *arguments, text=""):
        return subprocess.run([ATTNC, *map(str, arguments)], input=text, capture_output=True, text=True, timeout=120)

    def lines(self, *arguments, text=""):
        done = self.call(*arguments, text=text)
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stdout.split("\n")[:-1]

    def run_lines(self, *options, sources=SOURCES):
        return self.lines("run", self.bundle, *options, text="".join(s + "\n" for s in sources))

    def test_one_line_in_is_one_line_out_and_an_empty_line_stays(self):
        got = self.run_lines()
        self.assertEqual(len(SOURCES), len(got))
        self.assertEqual([not s for s in SOURCES], [not g for g in got])

    def test_n_best_gives_n_lines_each(self):
        best = self.run_lines("--beam", 3, "--scores")
        got = self.run_lines("--beam", 3, "--n-best", 3, "--scores")
        self.assertEqual(3 * len(SOURCES), len(got))
        self.assertEqual(best, got[::3])
        scores = [float(line.split("\t")[1]) for line in got[:3]]
        self.assertEqual(sorted(scores, reverse=True), scores)

    def test_batch_and_threads_change_nothing(self):
        for options in (["--beam", 3], ["--sample", "--seed", 5, "--n-best", 2]):
            alone = self.run_lines("--scores", "--batch", 1, "--threads", 1, *options)
            self.assertEqual(alone, self.run_lines("--scores", "--batch", 4, "--threads", 2, *options))

    def test_the_last_line_may_lack_its_end(self):
        got = self.lines("run", self.bundle, text="abc\r\nda")
        self.assertEqual(self.run_lines()[:2], got)

    def test_long_lines_get_a_larger_session(self):
        got = self.run_lines(sources=["a", "a" * 31])
        self.assertEqual(2, len(got))
        self.assertTrue(got[1])

    def test_ids_go_in_and_come_out(self):
        got = self.run_lines("--ids", sources=["3 4 5 2"])
        words = dict(zip("3456", "xyz?"))
        self.assertEqual(self.run_lines()[0], " ".join(words[i] for i in got[0].split()))

    def test_a_prefix_comes_first(self):
        for line in filter(None, self.run_lines("--prefix", "z y")):
            self.assertTrue(line.startswith("z y"), line)

    def test_lengths_are_kept(self):
        for line in filter(None, self.run_lines("--min-length", 4, "--max-length", 4, "--beam", 2)):
            self.assertEqual(4, len(line.split()))

    def test_scores_of_run_and_score_agree(self):
        ids, score = self.run_lines("--ids", "--scores", "--length-penalty", 0, sources=["3 4 5 2"])[0].split("\t")
        total, each = self.lines("score", self.bundle, "--ids", text=f"3 4 5 2\t{ids}\n\n")[0].split("\t")
        self.assertAlmostEqual(float(score), float(total), places=5)
        self.assertEqual(len(ids.split()) + 1, len(each.split()))

    def test_score_as_json_names_the_tokens(self):
        line = json.loads(self.lines("score", self.bundle, "--json", text="abc\tx nothing\n")[0])
        self.assertEqual(["x", "?", "</s>"], [t["token"] for t in line["tokens"]])
        self.assertAlmostEqual(line["total"], sum(t["log_probability"] for t in line["tokens"]), places=5)

    def test_mistakes_name_their_line_and_exit_with_1(self):
        for command, options, text, part in (
            ("run", ["--ids"], "3 2\n3 x\n", "line 2: 'x' is no token id"),
            ("run", ["--ids"], "3 99\n", "line 1: token 1 of source 0 is 99"),
            ("run", [], "a" * 40 + "\n", "source length must be from 1 to 32"),
            ("run", ["--beam", 2, "--n-best", 3], "a\n", "n_best is larger than the beam"),
            ("run", ["--variant", "future"], "", "needs no_such_feature"),
            ("score", [], "abc\n", "line 1: has no TAB"),
            ("inspect", ["--variant", "none"], "", "no variant 'none'"),
        ):
            done = self.call(command, self.bundle, *options, text=text)
            self.assertEqual(1, done.returncode, (command, options))
            self.assertIn(part, done.stderr)

    def test_wrong_usage_exits_with_2(self):
        for arguments in (["run"], ["run", self.bundle, "--beam", "x"], ["bench", self.bundle], ["run", "--nonsense"]):
            self.assertEqual(2, self.call(*arguments).returncode, arguments)

    def test_a_missing_bundle_is_an_error(self):
        done = self.call("run", "/no/such/bundle")
        self.assertEqual(1, done.returncode)
        self.assertIn("/no/such/bundle/manifest.json", done.stderr)

    def test_the_attention_picture_is_xml_with_every_token(self):
        picture = pathlib.Path(self.scratch.name) / "attention.svg"
        self.run_lines("--attention", picture, sources=["a", "한b"])
        texts = [t.firstChild.data for t in xml.dom.minidom.parse(str(picture)).getElementsByTagName("text")]
        self.assertEqual(["a", "</s>"], texts[:2])
        self.assertEqual("(end)", texts[-1])

    def test_bench_reports_what_was_asked_for(self):
        options = ["--batch", 2, "--source-length", 8, "--target-length", 6, "--beam", 2, "--profile", "--json"]
        report = json.loads(self.lines("bench", self.bundle, *options)[0])
        self.assertGreater(report["tokens_per_second"], 0)
        self.assertLessEqual(report["ms_minimum"], report["ms_median"])
        self.assertEqual(128, report["weight_bytes"])
        self.assertGreater(report["arena_bytes"], 0)

    def test_inspect_shows_the_parts(self):
        text = "\n".join(self.lines("inspect", self.bundle))
        for part in ("entry step", "64 * candidate * row", "variant plain (used on this machine)", "128 bytes"):
            self.assertIn(part, text)

    def test_self_check_finds_flipped_weight_bytes(self):
        bundle = self.write_bundle("flipped")
        self.assertEqual(0, self.call("inspect", bundle, "--self-check").returncode)
        weights = bundle / "weights.safetensors"
        content = bytearray(weights.read_bytes())
        content[-1] ^= 1
        weights.write_bytes(content)
        done = self.call("inspect", bundle, "--self-check")
        self.assertEqual(1, done.returncode)
        self.assertIn("tensor 'b'", done.stderr)


if __name__ == "__main__":
    unittest.main()
