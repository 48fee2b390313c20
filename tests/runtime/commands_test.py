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
        return subprocess.run([ATTNC, *map(str, arguments)], input=text, capture_output=True, text=True, timeout=600)

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
        # No room for an end token.
        self.assertEqual(["z y"], self.run_lines("--prefix", "z y", "--max-length", 2, sources=["a b"]))

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
            ("run", ["--ids"], "3 2\n3 x\n", "line 2: 'x' is not a token id"),
            ("run", ["--ids"], "3 4\n3 99\n5\n", "line 2: token 1 of the source is 99, but the vocabulary's ids are 0 to"),
            ("run", [], "a\n" + "a" * 40 + "\n", "line 2: the source has 41 tokens, the model takes at most 32"),
            ("run", ["--batch", "2"], "a\n" + "a" * (17 << 20), "line 2: has more than 16777216 bytes"),
            ("score", [], "abc\n", "line 1: has no TAB"),
            ("score", [], "abc\tx\ty\n", "line 1: has more than one TAB"),
            ("score", ["--ids"], "3\t4\n\n3\t99\n", "line 3: token 0 of the target is 99"),
            ("score", ["--ids"], "3\t4\n3\t" + "4 " * 24 + "\n", "line 2: the target has 24 tokens, the model takes at most 23"),
        ):
            done = self.call(command, self.bundle, *options, text=text)
            self.assertEqual(1, done.returncode, (command, options))
            self.assertIn(part, done.stderr)

    def test_lines_before_one_that_is_too_long_are_written(self):
        done = self.call("run", self.bundle, text="a\nb\n" + "a" * (17 << 20))
        self.assertEqual((1, self.run_lines(sources=["a", "b"])), (done.returncode, done.stdout.splitlines()))
        self.assertIn("line 3: has more than 16777216 bytes", done.stderr)

    def test_wrong_options_are_reported_once_and_without_a_line(self):
        for options, part in (
            (["--num-beam-groups", 2], "'num_beam_groups' is 2, which does not divide 'beam' (1)"),
            (["--diversity-penalty", 1], "'diversity_penalty' needs 'num_beam_groups' of 2 or more"),
            (["--sample", "--coverage-penalty", 1], "'coverage_penalty' is for searches, not for samples"),
            (["--min-length", 9, "--max-length", 8], "'min_length' is 9, more than 'max_length' (8)"),
            (["--max-length", 25], "'max_length' is 25, but the model's positions end at 24"),
            (["--n-best", 3], "'n_best' is 3, but a 'beam' of 1 with a 'patience' of 1 gives at most 1"),
            (["--beam", 2, "--n-best", 3], "'n_best' is 3, but a 'beam' of 2 with a 'patience' of 1 gives at most 2"),
            (["--beam", 100, "--alternatives", 100], "'beam' times 'n_best' is 10000"),
            (["--suppress-tokens", "3,99"], "'suppress_tokens' has the id 99, which is not in 0 to 6"),
            (["--forced-bos-token-id", 7], "'forced_bos_token_id' is 7"),
            (["--bad-words-ids", "3 x"], "--bad-words-ids: 'x' is not a token id"),
            (["--ids", "--prefix", "3 x"], "--prefix: 'x' is not a token id"),
            (["--ids", "--prefix", "3 99"], "--prefix: token 1 of the target is 99, but the vocabulary's ids are 0 to 6"),
            (["--variant", "none"], "--variant: the bundle has no variant 'none'; it has future, plain"),
            (["--seed", 5], "--seed: has no effect without --sample"),
            (["--sample", "--no-sample", "--top-p", 0.9], "--top-p: has no effect without --sample"),
            (["--sample", "--beam", 4], "--beam (--num-beams): has no effect on samples"),
            (["--sample", "--patience", 2], "--patience: has no effect on samples"),
            (["--patience", 2], "--patience: has no effect without a --beam of 2 or more"),
            (["--beam", 4, "--num-beam-groups", 4, "--patience", 2], "--patience: has no effect without a --beam of 2 or more (in each"),
            (["--early-stopping", "true"], "--early-stopping: has no effect without a --beam of 2 or more"),
            (["--min-alternative-probability", 0.1], "--min-alternative-probability: has no effect without --alternatives"),
        ):
            for text in ("", "a\nb\n"):
                self.refuse_all_lines(2, part, *options, text=text)

    def test_files_and_variants_that_cannot_be_used_are_reported_once_and_without_a_line(self):
        ids = pathlib.Path(self.scratch.name) / "ids.txt"
        ids.write_text("3 x")
        for options, part in (
            (["--shortlist", "/no/such/file"], "--shortlist: '/no/such/file' cannot be read"),
            (["--shortlist", ids], "ids.txt': 'x' is not a token id"),
            (["--shortlist", "/dev/zero"], "--shortlist: '/dev/zero' is more than 67108864 bytes long"),
            (["--variant", "future"], "needs no_such_feature"),
        ):
            for text in ("", "a\nb\n"):
                self.refuse_all_lines(1, part, *options, text=text)

    def refuse_all_lines(self, code, part, *options, text):
        done = self.call("run", self.bundle, *options, text=text)
        self.assertEqual((code, ""), (done.returncode, done.stdout), options)
        self.assertEqual(code, done.stderr.count("\n")) # wrong usage points to --help
        self.assertTrue(done.stderr.startswith("attnc: error: "), done.stderr)
        self.assertIn(part, done.stderr)
        self.assertNotIn("line", done.stderr)

    def test_what_was_right_before_a_mistake_is_printed(self):
        done = self.call("run", self.bundle, "--ids", text="3 4\n\n3 x\n5\n")
        self.assertEqual(1, done.returncode)
        self.assertEqual(self.run_lines("--ids", sources=["3 4", ""]), done.stdout.split("\n")[:-1])

    def test_scores_before_a_mistake_are_printed(self):
        good = "3 4\t5\n\n"
        wanted = self.lines("score", self.bundle, "--ids", text=good)
        for bad in ("3 4", "3 x\t4", "3\t99"):
            for batch in (1, 32):
                done = self.call("score", self.bundle, "--ids", "--batch", batch, text=f"{good}{bad}\n3\t4\n")
                self.assertEqual(1, done.returncode)
                self.assertEqual(wanted, done.stdout.split("\n")[:-1], bad)
                self.assertTrue(done.stderr.startswith("attnc: error: line 3: "), done.stderr)

    def test_bad_lines_are_skipped_in_score(self):
        pairs = ["3 4\t5", "3 4", "3\t99", "", "5 5 2\t4 4"]
        done = self.call("score", self.bundle, "--ids", "--skip-bad-lines", text="".join(p + "\n" for p in pairs))
        self.assertEqual(1, done.returncode)
        good = self.lines("score", self.bundle, "--ids", text=f"{pairs[0]}\n{pairs[4]}\n")
        self.assertEqual([good[0], "", "", "", good[1]], done.stdout.split("\n")[:-1])
        self.assertEqual(2, done.stderr.count("\n"))
        for part in ("line 2: has no TAB", "line 3: token 0 of the target is 99"):
            self.assertIn(part, done.stderr)

    def test_a_byte_order_mark_before_the_first_line_is_passed_over(self):
        self.assertEqual(self.run_lines(sources=["abc", "da"]), self.lines("run", self.bundle, text="\ufeffabc\nda\n"))
        inside = self.lines("run", self.bundle, "--scores", text="a\n\ufeffabc\n")[1]
        self.assertNotEqual(self.run_lines("--scores", sources=["abc"]), [inside])

    def test_bad_lines_can_be_skipped(self):
        sources = ["3 4", "3 x", "3 99", "5 5 2"]
        done = self.call("run", self.bundle, "--ids", "--skip-bad-lines", text="".join(s + "\n" for s in sources))
        self.assertEqual(1, done.returncode)
        good = self.run_lines("--ids", sources=[sources[0], sources[3]])
        self.assertEqual([good[0], "", "", good[1]], done.stdout.split("\n")[:-1])
        for part in ("line 2: 'x' is not a token id", "line 3: token 1 of the source is 99"):
            self.assertIn(part, done.stderr)

    def test_lines_come_out_as_they_come_in(self):
        with subprocess.Popen([ATTNC, "run", self.bundle], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
            wanted = self.run_lines(sources=["abc", "da"])
            for source, output in zip(["abc", "da"], wanted):
                run.stdin.write(source + "\n")
                run.stdin.flush()
                self.assertEqual(output + "\n", run.stdout.readline())  # the next line has not been written yet
            run.stdin.close()

    def test_batches_by_tokens_keep_results_and_their_order(self):
        sources = ["a" * (1 + 7 * i % 13) + "bcd"[i % 3] for i in range(50)] + ["", "한"]
        wanted = self.run_lines("--beam", 2, "--scores", sources=sources)
        for options in (["--batch-tokens", 30], ["--batch-tokens", 1], ["--batch-tokens", 100, "--batch", 3]):
            self.assertEqual(wanted, self.run_lines("--beam", 2, "--scores", *options, sources=sources))

    def test_json_has_ids_tokens_scores_and_alignments(self):
        lines = [json.loads(l) for l in self.run_lines("--beam", 2, "--n-best", 2, "--json", "--alignments")]
        self.assertEqual([[], 2], [lines[4]["outputs"], len(lines[0]["outputs"])])
        self.assertEqual(list(range(1, len(SOURCES) + 1)), [line["line"] for line in lines])
        best = lines[0]["outputs"][0]
        self.assertEqual(best["text"], " ".join(best["tokens"]))
        self.assertAlmostEqual(best["total"], sum(best["log_probabilities"]), places=5)
        self.assertEqual(len(best["ids"]) + best["ended"], len(best["log_probabilities"]))
        # The toy looks at the position of the target, or at the last of "abc" and the end token.
        self.assertEqual([[min(t, 3), t] for t in range(len(best["ids"]))], best["alignment"])

    def test_alignments_are_pairs_of_positions(self):
        plain = self.run_lines("--scores")
        for line, aligned in zip(plain, self.run_lines("--scores", "--alignments")):
            words = line.split("\t")[0].split()
            pairs = aligned[len(line):].split()
            self.assertTrue(aligned.startswith(line))
            self.assertEqual(list(range(len(words))), [int(p.split("-")[1]) for p in pairs])

    def test_rules_for_tokens_are_kept(self):
        shortlist = pathlib.Path(self.scratch.name) / "shortlist"
        shortlist.write_text("3 5\n")

        def outputs(*options):
            return [[int(i) for i in l.split()] for l in self.run_lines("--ids", "--beam", 3, *options, sources=["3 4", "5 6 7"])]

        for ids in outputs("--shortlist", shortlist):
            self.assertLessEqual(set(ids), {3, 5})
        for ids in outputs("--no-repeat-ngram-size", 1):
            self.assertEqual(len(ids), len(set(ids)))
        for ids in outputs("--suppress-tokens", "3,4", "--min-length", 5):
            self.assertFalse({3, 4} & set(ids))
        for ids in outputs("--forced-bos-token-id", 6, "--begin-suppress-tokens", "3,4,5", "--min-length", 2):
            self.assertEqual([6, 6], ids[:2])
        for ids in outputs("--max-length", 4, "--min-length", 4, "--forced-eos-token-id", 5):
            self.assertEqual(5, ids[3])
        for ids in outputs("--bad-words-ids", "3", "--bad-words-ids", "4 4", "--min-length", 9):
            self.assertNotIn(3, ids)
            self.assertNotIn((4, 4), zip(ids, ids[1:]))
        self.assertNotEqual(outputs("--repetition-penalty", 5), outputs())

    def test_other_searches_give_other_outputs(self):
        for options in (["--num-beam-groups", 4, "--diversity-penalty", 9], ["--alternatives", 3]):
            n_best = [] if options[0] == "--alternatives" else ["--n-best", 3]
            beam = ["--beam", 1] if options[0] == "--alternatives" else ["--beam", 4]
            got = self.run_lines(*beam, *n_best, *options, sources=["abc"])
            self.assertEqual(3, len({line.split()[0] if line else "" for line in got}), options)

    def test_samples_are_drawn_only_where_batches_keep_the_order(self):
        done = self.call("run", self.bundle, "--sample", "--batch-tokens", 9, text="a\n")
        self.assertEqual((2, ["attnc: error: --batch-tokens is not for samples, which depend on their place among the lines",
                              "Try 'attnc run --help'."]), (done.returncode, done.stderr.splitlines()))
        self.assertEqual(self.run_lines(), self.run_lines("--sample", "--no-sample"))

    def test_seeds_choose_samples(self):
        same = [self.run_lines("--sample", "--seed", 5, "--n-best", 3) for _ in range(2)]
        self.assertEqual(same[0], same[1])
        self.assertNotEqual(same[0], self.run_lines("--sample", "--seed", 6, "--n-best", 3))

    def test_help_is_in_groups(self):
        text = self.lines("run", "--help")
        for group in ("Search:", "Tokens:", "Sampling:", "Lines:", "Machine:"):
            self.assertIn(group, "\n".join(text))

    def test_beam_and_n_best_have_the_names_of_transformers_too(self):
        wanted = self.run_lines("--beam", 3, "--n-best", 2)
        self.assertEqual(wanted, self.run_lines("--num-beams", 3, "--num-return-sequences", 2))
        self.assertNotEqual(wanted, self.run_lines())

    def test_wrong_usage_names_the_option_and_exits_with_2(self):
        for arguments, part in (
            ([], "a command is missing; known are import, compile,"),
            (["rum"], "'rum' is not a command; did you mean 'run'?"),
            (["translate"], "'translate' is not a command; known are import, compile,"),
            (["--versoin"], "'--versoin' is not an option of 'attnc'; did you mean '--version'?"),
            (["run"], "BUNDLE is required"),
            (["run", "a", "b"], "'b' is one argument too many for 'attnc run'"),
            (["bench", self.bundle, "--batch", 0], "--batch: '0' is not in 1 to 1048576"),
            (["run", self.bundle, "--bem", 3], "'--bem' is not an option of 'attnc run'; did you mean '--beam'?"),
            (["run", self.bundle, "--n_best=3"], "'--n_best' is not an option of 'attnc run'; did you mean '--n-best'?"),
            (["run", self.bundle, "--beam", "x"], "--beam: 'x' is not a whole number from 1 to 1024"),
            (["run", self.bundle, "--beam", "1.5"], "--beam: '1.5' is not a whole number from 1 to 1024"),
            (["run", self.bundle, "--beam", 0], "--beam: '0' is not in 1 to 1024"),
            (["run", self.bundle, "--length-penalty", 11], "--length-penalty: '11' is not in -10 to 10"),
            (["run", self.bundle, "--length-penalty", "nan"], "--length-penalty: 'nan' is not a number from -10 to 10"),
            (["run", self.bundle, "--early-stopping", "maybe"], "--early-stopping: maybe not in {true,false,never}"),
            (["run", self.bundle, "--suppress-tokens", "3,x"], "--suppress-tokens: 'x' is not a whole number from 0 to 16777215"),
            (["run", self.bundle, "--seed", -1], "--seed: '-1' is not in 0 to 9007199254740991"),
            (["run", "--bad-words-ids", "3 4", self.bundle, "more"], "'more' is one argument too many"),
            (["score", self.bundle, "--threads", -1], "--threads: '-1' is not in 0 to 1024"),
        ):
            done = self.call(*arguments)
            self.assertEqual(2, done.returncode, arguments)
            self.assertIn(part, done.stderr)
            self.assertIn("--help'", done.stderr)

    def test_a_missing_bundle_is_an_error(self):
        done = self.call("run", "/no/such/bundle")
        self.assertEqual(1, done.returncode)
        self.assertIn("/no/such/bundle/manifest.json", done.stderr)
        self.assertEqual("attnc: error: the name of the bundle's folder is empty\n", self.call("run", "").stderr)

    def test_the_attention_picture_is_xml_with_every_token(self):
        picture = pathlib.Path(self.scratch.name) / "attention.svg"
        self.run_lines("--attention", picture, sources=["a", "한b"])
        texts = [t.firstChild.data for t in xml.dom.minidom.parse(str(picture)).getElementsByTagName("text")]
        self.assertEqual(["a", "</s>"], texts[:2])
        self.assertEqual("(end)", texts[-1])

    def test_the_attention_picture_of_an_output_that_was_cut_off_has_no_end(self):
        picture = pathlib.Path(self.scratch.name) / "cut.svg"
        for length in (1, 5, 24): # 24 is the most
            [line] = self.run_lines("--attention", picture, "--min-length", length, "--max-length", length, sources=["a"])
            texts = [t.firstChild.data for t in xml.dom.minidom.parse(str(picture)).getElementsByTagName("text")]
            self.assertEqual(["a", "</s>", *line.split()], texts)
            self.assertEqual(length, len(line.split()))

    def test_a_picture_that_cannot_be_written_is_told_before_anything_is_decoded(self):
        done = self.call("run", self.bundle, "--attention", "/nowhere/attention.svg", text="a\na\n")
        self.assertEqual((1, "", "attnc: error: /nowhere/attention.svg: cannot be written\n"), (done.returncode, done.stdout, done.stderr))

    def test_an_output_without_tokens_has_no_attention_picture(self):
        picture = pathlib.Path(self.scratch.name) / "none.svg"
        ends = pathlib.Path(self.scratch.name) / "ends"
        ends.write_text("2\n")
        done = self.call("run", self.bundle, "--attention", picture, "--shortlist", ends, "--min-length", 1, text="a\n")
        self.assertEqual((1, f"attnc: error: --attention {picture}: there was no line to draw\n"), (done.returncode, done.stderr))

    def test_bench_reports_what_was_asked_for(self):
        options = ["--batch", 2, "--source-length", 8, "--target-length", 6, "--beam", 2, "--profile", "--json"]
        report = json.loads(self.lines("bench", self.bundle, *options)[0])
        self.assertGreater(report["tokens_per_second"], 0)
        self.assertLessEqual(report["ms_minimum"], report["ms_median"])
        self.assertEqual(128, report["weight_bytes"])
        self.assertGreaterEqual(report["threads"], 1)  # as many as there are cores
        self.assertGreater(report["arena_bytes"], 0)
        self.assertEqual([], report["kernels"])  # the toy's entries tell nothing

    def test_bench_reports_the_start_of_a_process(self):
        def report(*options):
            return json.loads(self.lines("bench", self.bundle, "--batch", 2, "--source-length", 8, *options, "--json")[0])
        greedy = report("--target-length", 10)
        self.assertGreater(greedy["ms_load"], 0)
        self.assertGreater(greedy["ms_first_token"], 0)
        self.assertGreater(greedy["ms_tenth_step"], 0)
        self.assertGreaterEqual(greedy["ms_first_token"], greedy["ms_first_step"])
        self.assertGreaterEqual(greedy["ms_first_request"], greedy["ms_first_token"] + greedy["ms_tenth_step"])
        self.assertNotIn("ms_tenth_step", report("--target-length", 9))
        self.assertNotIn("ms_first_token", report("--target-length", 10, "--beam", 2))  # tokens come at the end there

    def test_bench_names_the_flags_that_a_decoder_needs_or_has_no_use_for(self):
        source = ["--batch", 2, "--source-length", 8]
        for options, message in (([], "--batch is needed for"), (source, "--target-length is needed for"),
                                 ([*source, "--target-length", 6, "--sizes", "query=3"], "--sizes has no meaning for")):
            done = self.call("bench", self.bundle, *options)
            self.assertEqual((2, ""), (done.returncode, done.stdout))
            self.assertIn(f"{message} 'toy', whose kind is encoder_decoder", done.stderr)

    def test_a_profile_picture_needs_a_profile(self):
        options = ["--batch", 1, "--source-length", 4, "--target-length", 4]
        picture = pathlib.Path(self.scratch.name) / "profile.svg"
        self.assertEqual(2, self.call("bench", self.bundle, *options, "--profile-picture", picture).returncode)
        self.lines("bench", self.bundle, *options, "--profile", "--profile-picture", picture)
        xml.dom.minidom.parse(str(picture))

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
