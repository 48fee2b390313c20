#!/usr/bin/env python3
"""Real models against the outputs of other programs, and every answer against itself in other company."""

import json
import unittest

from bundles import SPECS, attnc, compile_bundle, ids, lay_out, reference, run_ids, variants


class CompiledModel:
    """Tests of a model against itself; subclasses name it."""

    model = None
    count = None  # of the reference's pairs: a cut reference is not a reference

    @classmethod
    def setUpClass(cls):
        cls.pairs = reference(cls.model)["pairs"]
        assert len(cls.pairs) == cls.count, f"{cls.model}: {len(cls.pairs)} pairs"
        cls.sources = [p["source_ids"] for p in cls.pairs]
        cls.bundle = compile_bundle(lay_out(SPECS / f"{cls.model}.yaml", cls.model))

    def test_answers_do_not_depend_on_batch_or_threads(self):
        for options in ([], ["--beam", 4]):
            alone = run_ids(self.bundle, self.sources, *options, "--batch", 1, "--threads", 1)
            for batch, threads in ((1, 2), (7, 1), (32, 2)):
                together = run_ids(self.bundle, self.sources, *options, "--batch", batch, "--threads", threads)
                self.assertEqual(alone, together, f"batch {batch}, threads {threads}")

    def test_variants_give_equal_tokens(self):
        answers = [[i for i, _ in run_ids(self.bundle, self.sources, "--beam", 2, "--variant", v)] for v in variants()]
        for variant, answer in zip(variants(), answers):
            self.assertEqual(answers[0], answer, variant)


class RealModel(CompiledModel):
    """Tests shared by the Transformers, whose references have one form."""

    def assert_n_best(self, beam):
        """Complete n-best lists: same ids, scores within 1e-4."""
        wanted = [h for p in self.pairs for h in p[f"beam{beam}"]]
        got = run_ids(self.bundle, self.sources, "--beam", beam, "--n-best", beam)
        self.assertEqual([h["ids"] for h in wanted], [i for i, _ in got])
        for hypothesis, (_, score) in zip(wanted, got):
            self.assertAlmostEqual(hypothesis["score"], score, delta=1e-4)

    def test_greedy_equals_the_reference(self):
        got = run_ids(self.bundle, self.sources)
        self.assertEqual([p["greedy"]["ids"] for p in self.pairs], [i for i, _ in got])
        for pair, (_, score) in zip(self.pairs, got):
            self.assertAlmostEqual(pair["greedy"]["score"], score, delta=1e-4)

    def test_beam_2_equals_the_reference(self):
        self.assert_n_best(2)

    def test_beam_4_equals_the_reference(self):
        self.assert_n_best(4)

    def test_teacher_forced_log_probabilities_equal_the_reference(self):
        pairs = [p for p in self.pairs if "teacher_forced" in p]
        text = "".join(f"{ids(p['source_ids'])}\t{ids(p['teacher_forced']['target_ids_with_eos'][:-1])}\n" for p in pairs)
        lines = attnc("score", self.bundle, "--ids", "--json", text=text).splitlines()
        self.assertEqual(len(pairs), len(lines))
        for pair, line in zip(pairs, lines):
            got = json.loads(line)["tokens"]
            wanted = pair["teacher_forced"]["log_probs"]
            self.assertEqual(len(wanted), len(got))
            for a, b in zip(wanted, got):
                self.assertAlmostEqual(a, b["log_probability"], delta=1e-4)


class ArenTransliteration(RealModel, unittest.TestCase):
    model = "aren-transliteration"
    count = 85

    def test_text_goes_in_and_comes_out(self):
        text = "".join(p["source"] + "\n" for p in self.pairs)
        wanted = [p["greedy"]["text"] for p in self.pairs]
        self.assertEqual(wanted, attnc("run", self.bundle, text=text).splitlines())

    def test_a_forced_prefix_is_continued(self):
        for example in reference(self.model)["prefix_examples"]:
            got = attnc("run", self.bundle, "--beam", 2, "--prefix", example["prefix"], text=example["source"] + "\n")
            self.assertEqual(example["beam2"], got.strip())


class MisakiBart(RealModel, unittest.TestCase):
    model = "misaki-bart-g2p-us"
    count = 57


class G2pGru(CompiledModel, unittest.TestCase):
    """A GRU encoder-decoder without attention."""

    model = "g2p-en-gru"
    count = 71

    def test_greedy_equals_the_reference(self):
        got = run_ids(self.bundle, self.sources, "--length-penalty", 0)
        self.assertEqual([p["greedy"]["ids"] for p in self.pairs], [i for i, _ in got])
        for pair, (_, score) in zip(self.pairs, got):
            self.assertAlmostEqual(pair["greedy"]["cum_logprob"], score, delta=1e-4)

    def test_text_goes_in_and_comes_out(self):
        text = "".join(p["source"] + "\n" for p in self.pairs)
        self.assertEqual([p["expected"] for p in self.pairs], attnc("run", self.bundle, text=text).splitlines())

    def test_beams_equal_the_reference(self):
        text = "".join(p["source"] + "\n" for p in self.pairs)
        for beam in (2, 4):
            wanted = [h for p in self.pairs for h in p[f"beam{beam}"]]
            lines = attnc("run", self.bundle, "--scores", "--beam", beam, "--n-best", beam, text=text).splitlines()
            got = [line.rsplit("\t", 1) for line in lines]
            self.assertEqual([h["text"] for h in wanted], [text for text, _ in got])
            for hypothesis, (_, score) in zip(wanted, got):
                self.assertAlmostEqual(hypothesis["score"], float(score), delta=1e-4)

    def test_teacher_forced_log_probabilities_equal_the_reference(self):
        pairs = [p for p in self.pairs if "teacher_forced" in p]
        text = "".join(f"{ids(p['source_ids'])}\t{ids(p['teacher_forced']['target_ids'][:-1])}\n" for p in pairs)
        lines = attnc("score", self.bundle, "--ids", "--json", text=text).splitlines()
        self.assertEqual(71, len(lines))
        for pair, line in zip(pairs, lines):
            got, wanted = json.loads(line)["tokens"], pair["teacher_forced"]["log_probs_f64"]
            self.assertEqual(len(wanted), len(got))
            for a, b in zip(wanted, got):
                self.assertAlmostEqual(a, b["log_probability"], delta=1e-4)


if __name__ == "__main__":
    unittest.main()
