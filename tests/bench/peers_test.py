#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The benchmark with peers, as far as it goes without them: which rows there are, and what is written of results. Where
torch and transformers are, also whether the tolerances find wrong outputs."""

import contextlib
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom

PEERS = pathlib.Path(__file__).with_name("peers")
sys.path.append(str(PEERS))

from limits import best_limits, limit_seconds  # noqa: E402
from ratios import add_ratios  # noqa: E402
from rows import QUICK, Row, all_rows, choose  # noqa: E402

LIMITS = {"threads": 1, "operations": {"f32": 2e11}, "read": {str(1 << 20): 1e11, str(1 << 27): 2e10}}


def peers(*arguments):
    return subprocess.run([sys.executable, PEERS, *map(str, arguments)], capture_output=True, text=True)


def result(row, times, **rest):
    return {**row.as_dict(), "name": row.name, "difference": {name: 0.0 for name in times}, "missing": {},
            "failed": {}, "wrong": [], "milliseconds": {name: {"minimum": t, "median": t * 1.1} for name, t in times.items()}, **rest}


class Rows(unittest.TestCase):
    def test_names_are_unique_and_rows_of_one_process_follow_each_other(self):
        rows = all_rows()
        self.assertEqual(len(rows), len({row.name for row in rows}))
        groups = [(row.dtype, row.threads) for row in rows]
        changes = [group for group, before in zip(groups, [None, *groups]) if group != before]
        self.assertEqual(len(changes), len(set(groups)))

    def test_patterns_choose_by_name_and_by_beginning(self):
        self.assertEqual(["decode f32 1t batch 8 beam 1", "decode f32 1t batch 8 beam 4"],
                         [row.name for row in choose(["decode f32 1t batch 8"])])
        self.assertEqual({"int8"}, {row.dtype for row in choose(["* int8 2t"])})
        self.assertGreater(len(choose(list(QUICK))), 15)

    def test_a_pattern_without_rows_is_an_error(self):
        with self.assertRaisesRegex(SystemExit, "no row is called 'decode f64'"):
            choose(["decode f64"])

    def test_list_names_every_row(self):
        self.assertEqual([row.name for row in all_rows()], peers("--list").stdout.splitlines())

    def test_wrong_usage_says_what_is_needed(self):
        self.assertIn("--attnc is needed", peers().stderr)
        self.assertIn("--write needs --output", peers("--write", "results.json").stderr)
        self.assertIn("--output needs --machine", peers("--attnc", "attnc", "--output", "docs").stderr)
        self.assertIn("--machine is 'a b/c'; it takes letters", peers("--output", "docs", "--machine", "a b/c").stderr)
        self.assertIn("--output is 'nowhere', where there is no performance.md",
                      peers("--output", "nowhere", "--machine", "m").stderr)
        self.assertIn("--attnc is 'nowhere', which is not a file", peers("--attnc", "nowhere").stderr)
        self.assertIn("--python is 'nowhere'", peers("--attnc", __file__, "--python", "nowhere").stderr)
        self.assertIn("--rounds is 0; it must be at least 1", peers("--attnc", "attnc", "--rounds", "0").stderr)
        self.assertIn("--seconds is nan", peers("--attnc", "attnc", "--seconds", "nan").stderr)
        self.assertIn("--quick chooses what --rows would", peers("--quick", "--rows", "encode").stderr)
        self.assertIn("no row is called 'nonsense'", peers("--list", "--rows", "nonsense").stderr)

    def test_list_names_what_is_chosen(self):
        self.assertEqual([row.name for row in choose(list(QUICK))], peers("--quick", "--list").stdout.splitlines())


class Limits(unittest.TestCase):
    def test_one_sentence_is_held_against_reading_and_many_against_sums(self):
        # 38,404,096 weights in a step: 7.7 ms at 20 GB/s, or 0.4 ms of sums for one row and 24.6 ms for 64.
        one, many = (limit_seconds(Row("decode", "f32", 1, batch=batch), LIMITS) for batch in (1, 64))
        self.assertAlmostEqual(32 * 7.68e-3, one, delta=0.1 * one)  # and some for the encoder
        self.assertGreater(many, 32 * 64 * 2 * 38.4e6 / 2e11)

    def test_a_type_without_limit_has_no_share(self):
        self.assertIsNone(limit_seconds(Row("encode", "int8", 1, length=128), LIMITS))

    def test_the_higher_ones_count(self):
        one = [{"threads": 1, "operations": {"f32": 1, "int8": 5}, "read": {"64": 3}}]
        other = [{"threads": 1, "operations": {"f32": 2, "int8": 4}, "read": {"64": 2}}]
        self.assertEqual([{"threads": 1, "operations": {"f32": 2, "int8": 5}, "read": {"64": 3}}], best_limits(one, other))


@unittest.skipUnless(importlib.util.find_spec("torch") and importlib.util.find_spec("transformers"), "no PyTorch")
class Tolerances(unittest.TestCase):
    """Of each part of a layer, the rows of one weight in another order."""

    @classmethod
    def setUpClass(cls):
        from engines import PyTorch
        from network import make_model
        scratch = tempfile.TemporaryDirectory(prefix="attnc-peers-")
        cls.addClassCleanup(scratch.cleanup)
        folder = pathlib.Path(scratch.name)
        make_model(folder / "hf")
        cls.right, cls.wrong = PyTorch(folder, "f32", 1), PyTorch(folder, "f32", 1)

    def spoil(self, name):
        """Until the test ends."""
        import torch
        weight = self.wrong.load().get_parameter(f"model.{name}.weight")
        kept = weight.clone()
        self.addCleanup(weight.copy_, kept)
        weight.copy_(kept[torch.randperm(len(kept), generator=torch.Generator().manual_seed(0))])

    def test_tokens_of_one_wrong_linear_are_less_probable_than_allowed(self):
        import numpy
        from inputs import sources
        from measure import difference_of_scores, tolerance
        row = Row("decode", "int8", 1, batch=4)
        wanted = numpy.array(self.right.score(sources(row), self.right.decode(row)()))
        for name in ("encoder.layers.3.self_attn.v_proj", "encoder.layers.3.fc1", "decoder.layers.3.self_attn.v_proj",
                     "decoder.layers.3.encoder_attn.v_proj", "decoder.layers.3.fc2"):
            with self.subTest(name):
                self.spoil(name)
                lost = wanted - self.right.score(sources(row), self.wrong.decode(row)())
                self.assertGreater(difference_of_scores(lost), tolerance(row))
                self.doCleanups()

    def test_an_encoder_with_one_wrong_linear_differs_by_more_than_allowed(self):
        import torch
        from inputs import sources
        from measure import relative, tolerance
        row = Row("encode", "int8", 1, length=128)
        right, wrong = (engine.load().model.encoder for engine in (self.right, self.wrong))
        ids = torch.tensor(sources(row))
        wanted = right(ids).last_hidden_state.numpy()
        for name in ("encoder.layers.0.self_attn.v_proj", "encoder.layers.3.self_attn.out_proj", "encoder.layers.3.fc1"):
            with self.subTest(name):
                self.spoil(name)
                self.assertGreater(relative(wrong(ids).last_hidden_state.numpy(), wanted), tolerance(row))
                self.doCleanups()


def places(*names):
    """A page with nothing but places for tables."""
    return "".join(f"<!-- written by tests/bench/peers on {name} -->\n<!-- until here -->\n" for name in names)


class Written(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="attnc-peers-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def write(self, page, *rows):
        report = {"started": "today", "machine": "m", "versions": {"attnc": "x"}, "peers": ["CTranslate2", "PyTorch"],
                  "rounds": 3, "limits": [LIMITS], "rows": list(rows)}
        (self.folder / "results.json").write_text(json.dumps(report))
        (self.folder / "performance.md").write_text(page)
        return peers("--write", self.folder / "results.json", "--output", self.folder, "--machine", "m")

    def test_tables_take_the_place_of_those_before(self):
        row = Row("decode", "f32", 1)
        measured = result(row, {"attnc": 320.0, "CTranslate2": 640.0, "PyTorch": 1280.0}, best_peer="CTranslate2",
                          ratio={"minimum": 2.0, "median": 2.0})
        lacking = result(Row("decode", "int8", 1), {"PyTorch": 100.0}, best_peer="PyTorch")
        lacking |= {"missing": {"attnc": "not built yet"}, "failed": {"CTranslate2": "ended"}}
        other = "<!-- written by tests/bench/peers on other -->\ntheirs\n<!-- until here -->\n"
        mine = "<!-- written by tests/bench/peers on m -->\nearlier tables\n<!-- until here -->\n"
        overview = "<!-- written by tests/bench/peers on all machines -->\nearlier ratios\n<!-- until here -->\n"
        page = other + "before\n" + mine + overview + "after\n"
        done = self.write(page, measured, lacking)
        self.assertEqual(0, done.returncode, done.stderr)
        page = (self.folder / "performance.md").read_text()
        self.assertNotIn("earlier", page)
        self.assertTrue(page.startswith(other + "before\n") and page.endswith("after\n"))
        self.assertIn("| f32 1t batch 1 beam 1 | 100 | **50** | 25 | 2.00 (2.00) | 79% |", page)
        self.assertIn("| int8 1t batch 1 beam 1 | - | failed | **320** | - | - |", page)
        self.assertIn("* attnc: not built yet (decode int8).", page)
        self.assertIn("| one thread, beside the best peer | aim | m |\n|---|---|---|\n| decode f32 batch 1 beam 1 | 1.05 | **2.00** |\n\n"
                      "| share of the limit | m |\n|---|---|\n| requests f32 1t | 79% to 79% |\n<!-- until here -->", page)
        picture = xml.dom.minidom.parse(str(self.folder / "images" / "performance-m.svg"))
        texts = [node.firstChild.data for node in picture.getElementsByTagName("text")]
        self.assertIn("decode f32 1t batch 1 beam 1", texts)
        self.assertTrue(any(text.startswith("2.00 x CTranslate2, 100 tokens/s") for text in texts))

    def test_a_faster_peer_with_wrong_outputs_is_told_beside_the_best_one(self):
        row = result(Row("decode", "f32", 1), {"attnc": 320.0, "CTranslate2": 480.0, "PyTorch": 1280.0},
                     best_peer="PyTorch", ratio={"minimum": 4.0, "median": 4.0})
        row |= {"wrong": ["CTranslate2"], "difference": {"CTranslate2": 2.2}}
        done = self.write(places("m", "all machines"), row)
        self.assertEqual(0, done.returncode, done.stderr)
        page = (self.folder / "performance.md").read_text()
        self.assertIn("| f32 1t batch 1 beam 1 | 100 | 67* | **25** | 4.00 (4.00), 1.50* |", page)
        self.assertIn("| decode f32 batch 1 beam 1 | 1.05 | **1.50*** |", page)
        self.assertIn("* CTranslate2: outputs differ too much (decode f32 1t batch 1 beam 1 by 2.2).", page)
        self.assertIn("1.50 x a peer whose outputs differ too much",
                      (self.folder / "images" / "performance-m.svg").read_text())

    def test_the_first_tables_are_of_one_thread_two_threads_and_kernels_beside_pytorch(self):
        times = {"attnc": 10.0, "CTranslate2": 14.0, "PyTorch": 30.0}
        rows = [result(Row("decode", "int8", threads), times, best_peer="CTranslate2", ratio={"minimum": 1.4, "median": 1.4})
                for threads in (1, 2)]
        rows[0]["starting"] = {"load": 3.25, "first_token": 4.5, "first_step": 1.5, "tenth_step": 1.0}
        rows.append(result(Row("attention", "f32", 1, length=512), times, best_peer="CTranslate2",
                           ratio={"minimum": 1.4, "median": 1.4}))
        done = self.write(places("m", "all machines"), *rows)
        self.assertEqual(0, done.returncode, done.stderr)
        page = (self.folder / "performance.md").read_text()
        self.assertIn("| one thread, beside the best peer | aim | m |\n|---|---|---|\n"
                      "| decode int8 batch 1 beam 1 | 1.35 | **1.40** |\n\n"
                      "| two threads, beside the best peer | aim | m |\n|---|---|---|\n"
                      "| decode int8 batch 1 beam 1 | 1.8 | 1.40 |\n\n"
                      "| one thread, beside PyTorch | aim | m |\n|---|---|---|\n"
                      "| attention f32 512 | 1.1 | **3.00** |\n\n| share of the limit | m |\n", page)
        self.assertIn("| attnc | loading | first token, with the encoder | first step | tenth step |\n|---|---|---|---|---|\n"
                      "| int8 1t batch 1 beam 1 | 3.25 | 4.50 | 1.50 | 1.00 |", page)
        self.assertNotIn("Behind the best peer", page)

    def test_all_rows_that_are_behind_are_named(self):
        rows = [result(Row("matmul", "bf16", 2, shape=(256, 2048, 512)), {"attnc": 10.0, "PyTorch": times}, best_peer="PyTorch",
                       ratio={"minimum": times / 10, "median": 1.0}) for times in (9.12, 9.96)]
        rows[1]["name"] = "as fast"
        self.assertEqual(0, self.write(places("m", "all machines"), *rows).returncode)
        self.assertIn("* Behind the best peer on `m`: matmul bf16 2t 256 x 2048 x 512 (0.91).\n",
                      (self.folder / "performance.md").read_text())

    def test_rows_that_are_behind_by_medians_alone_are_named(self):
        rows = [result(Row("encode", "f32", 1, 8, length=length), {"attnc": 10.0, "PyTorch": 11.0}, best_peer="PyTorch",
                       ratio={"minimum": 1.1, "median": median}) for length, median in ((128, 0.97), (512, 1.0))]
        self.assertEqual(0, self.write(places("m", "all machines"), *rows).returncode)
        self.assertIn("* Behind it on `m` by medians alone: encode f32 1t 8 x 128 (0.97).\n",
                      (self.folder / "performance.md").read_text())

    def test_the_readme_has_the_numbers_in_short(self):
        docs = self.folder / "docs"
        docs.mkdir()
        readme = self.folder / "README.md"
        readme.write_text("before\n" + places("all machines, in short"))
        rows = [result(Row("decode", "f32", 1, batch=batch), {"attnc": 10.0, "PyTorch": ratio * 10}, best_peer="PyTorch",
                       ratio={"minimum": ratio, "median": ratio}) for batch, ratio in ((1, 1.24), (8, 2.0))]
        self.folder = docs
        self.assertEqual(0, self.write(places("m", "all machines"), *rows).returncode)
        self.assertIn("decodes 1.2 to 2.0 times as fast in\nfloat32, - in bfloat16", readme.read_text())
        self.assertTrue((docs / "images" / "performance-m-short.svg").is_file())

    def test_rows_that_were_measured_before_are_not_lost(self):
        one, two = (result(Row("decode", "f32", threads), {"attnc": 10.0}) for threads in (1, 2))
        self.assertEqual(0, self.write(places("m", "all machines"), one, two).returncode)
        done = self.write(places("m", "all machines"), one)
        self.assertEqual(2, done.returncode)
        self.assertIn("has rows that the new tables would lack, as 'decode f32 2t batch 1 beam 1'", done.stderr)
        self.assertEqual(0, self.write(places("m", "all machines"), two, one).returncode)

    def test_peers_that_more_threads_slow_down_are_named(self):
        rows = [result(Row("decode", "int8", threads), {"attnc": 320.0 / threads, "CTranslate2": 600.0 + threads})
                for threads in (1, 2)]
        done = self.write(places("m", "all machines"), *rows)
        self.assertEqual(0, done.returncode, done.stderr)
        page = (self.folder / "performance.md").read_text()
        self.assertIn("* CTranslate2 is slower with two threads than with one: decode int8 batch 1 beam 1.", page)
        self.assertNotIn("attnc is slower", page)

    def test_a_new_machine_gets_a_section(self):
        done = self.write(places("all machines"), result(Row("decode", "int8", 1), {"PyTorch": 100.0}))
        self.assertEqual(0, done.returncode, done.stderr)
        page = (self.folder / "performance.md").read_text()
        self.assertIn("\n\n## m\n\n<!-- written by tests/bench/peers on m -->\nm; attnc x; one run of 3 rounds", page)
        self.assertIn("* Not measured: decode f32 1t, encode f32 1t, ", page)
        self.assertIn("decode int8 1t batch 8 beam 1, ", page)

    def test_a_page_without_a_place_for_the_overview_is_an_error(self):
        done = self.write("no place\n")
        self.assertEqual(2, done.returncode)
        self.assertIn("has no place for the table of all machines", done.stderr)
        self.assertEqual(["performance.md", "results.json"], sorted(file.name for file in self.folder.iterdir()))

    def test_results_that_are_none_are_errors(self):
        page = self.folder / "performance.md"
        page.write_text(places("all machines"))
        for name, text in (("list.json", "[]"), ("none.json", "{"), ("nothing.json", None)):
            if text:
                (self.folder / name).write_text(text)
            done = peers("--write", self.folder / name, "--output", self.folder, "--machine", "m")
            self.assertEqual(2, done.returncode)
            self.assertIn(name, done.stderr.splitlines()[-1])


@unittest.skipUnless(importlib.util.find_spec("numpy"), "no numpy")
class Failures(unittest.TestCase):
    def test_what_attnc_cannot_compile_is_a_failure(self):
        from attnc import Attnc
        from worker import Failed
        scratch = tempfile.TemporaryDirectory(prefix="attnc-peers-")
        self.addCleanup(scratch.cleanup)
        row = Row("attention", "f32", 1, length=128)
        for says, reason in (("attnc: error: no memory", "cannot compile: no memory"), ("", "cannot compile: no message")):
            compiler = pathlib.Path(scratch.name) / "attnc"
            compiler.write_text(f"#!/bin/sh\necho '{says}' >&2\nexit 1\n")
            compiler.chmod(0o755)
            attnc = Attnc(compiler, pathlib.Path(scratch.name))
            with contextlib.redirect_stdout(None):
                attnc.prepare([row], keep=False)
            for ask in (lambda: attnc.times(row, 1), lambda: attnc.output(row)):
                with self.assertRaisesRegex(Failed, reason):
                    ask()

    def test_outputs_without_a_probability_are_the_engines_failure(self):
        from measure import unscorable
        self.assertEqual("", unscorable([[1, 2], [3, 4]], [[5, 6], [7, 8]]))
        for output, reason in (([[1, 2]], "outputs of [2] tokens"), ([[1, 2], [3]], "outputs of [2, 1] tokens"),
                               ([[1, 2], [3, 32000]], "a token 32000"), ([[1, 2], [-1, 4]], "a token -1")):
            self.assertIn(reason, unscorable(output, [[5, 6], [7, 8]]))


class Differences(unittest.TestCase):
    """A sentence or a row that is wrong shows however many others are right."""

    def setUp(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("needs NumPy, which the benchmark's environment has")
        self.numpy = numpy

    def test_of_sentences_the_mean_counts_or_one_that_is_wrong(self):
        from measure import difference_of_scores
        lost = self.numpy.array([0.1, -0.1, 0.3] + 61 * [0.0])
        self.assertAlmostEqual(0.3 / 64, difference_of_scores(lost))
        self.assertEqual(0.0, difference_of_scores(-abs(lost)))
        lost[7] = 4.6
        self.assertEqual(4.6, difference_of_scores(lost))

    def test_of_arrays_all_numbers_count_or_a_row_that_is_wrong(self):
        from measure import relative
        wanted = self.numpy.random.default_rng(1).standard_normal((2, 512, 64), self.numpy.float32)
        near = wanted * self.numpy.float32(1.01)
        self.assertAlmostEqual(0.01, relative(near, wanted), 4)
        near[1, 3] = wanted[0, 5]
        self.assertGreater(relative(near, wanted), 1)
        near[1, 3, 7] = self.numpy.nan
        self.assertFalse(relative(near, wanted) <= 1e9)


class SeveralWorkers(unittest.TestCase):
    class Worker:
        def __init__(self, differs, milliseconds):
            self.differs, self.milliseconds = differs, milliseconds

        def difference(self, row, differs, allowed):
            if self.differs is None:
                from worker import Failed
                raise Failed("ended")
            return self.differs

        def times(self, row, seconds):
            return [self.milliseconds]

    def test_the_fastest_one_counts_whose_outputs_are_right(self):
        from worker import Failed, Fastest
        right, wrong, ended = self.Worker(0.1, 5.0), self.Worker(3.0, 2.0), self.Worker(None, 1.0)
        for workers, difference, times in (([right, self.Worker(0.2, 4.0)], 0.2, 4.0), ([wrong, right], 0.1, 5.0),
                                           ([ended, right], 0.1, 5.0), ([wrong, ended], 3.0, 2.0)):
            fastest = Fastest(workers)
            self.assertEqual(difference, fastest.difference(None, None, 0.3))
            self.assertEqual([times], fastest.times(None, 1))
        with self.assertRaises(Failed):
            Fastest([ended]).difference(None, None, 0.3)


class Ratios(unittest.TestCase):
    def test_wrong_outputs_have_none(self):
        times = {"attnc": 10.0, "PyTorch": 100.0, "OpenVINO": 50.0}
        for wrong, best, ratio in (([], "OpenVINO", 5.0), (["OpenVINO"], "PyTorch", 10.0), (["attnc"], "OpenVINO", None)):
            row = result(Row("decode", "f32", 1), times)
            row["difference"] |= {name: 2.0 for name in wrong}
            add_ratios(row, 1e-3)
            self.assertEqual((wrong, best), (row["wrong"], row["best_peer"]))
            self.assertEqual(ratio, row["ratio"]["minimum"] if "ratio" in row else None)


if __name__ == "__main__":
    unittest.main()
