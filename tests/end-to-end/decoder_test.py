#!/usr/bin/env python3
"""A decoder that stands alone: prompts prefilled and continued, compared with network.py."""

import json
import math
import unittest

from bundles import SPECS, attnc, compile_bundle, ids, scratch, variants
from network import ACTIVATIONS, Network, make_weights

PROMPTS = [[5, 6, 7], [9], list(range(10, 37)), [40, 40, 41, 3, 8, 1, 0], [44, 43]]
LENGTH = 12  # of outputs; the spec's default
TOLERANCE = 1e-4  # as in encoder_test.py


class DecoderTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        spec = SPECS / "decoder.yaml"
        weights = scratch("decoder.safetensors")
        cls.weights = make_weights(spec, weights, seed=4)
        cls.bundle = compile_bundle(spec, "--weights", weights)
        cls.network = Network(cls.weights, "decoder", heads=5, layers=3, activation="silu", gated=True, pre=True,
                              embedding_scale=math.sqrt(20))

    def wanted(self, prompt, output):
        """The log-probabilities of all tokens after the prompt and after each of the output's tokens."""
        rows = self.network.run(prompt + output)[len(prompt) - 1:]
        rows = [[ACTIVATIONS["gelu_tanh"](x) for x in row] for row in self.network.linear(rows, "decoder.transform.fc")]
        rows = self.network.norm(rows, "decoder.transform.norm")
        return self.network.log_probabilities(rows, "decoder.out_proj.bias")

    def decode(self, prompts, *options):
        text = "".join(ids(p) + "\n" for p in prompts)
        return [json.loads(line)["outputs"] for line in
                attnc("run", self.bundle, "--ids", "--json", *options, text=text).splitlines()]

    def assert_probable(self, prompt, output):
        """The output's log-probabilities are those of the reference, which reads all of it anew."""
        tokens = output["ids"] + ([2] if output["ended"] else [])
        wanted = self.wanted(prompt, tokens[:-1])
        for row, token, got in zip(wanted, tokens, output["log_probabilities"], strict=True):
            self.assertAlmostEqual(row[token], got, delta=TOLERANCE)
        return wanted, tokens

    def test_greedy_search_takes_the_references_best_tokens_in_every_variant(self):
        for variant in variants():
            for prompt, outputs in zip(PROMPTS, self.decode(PROMPTS, "--variant", variant)):
                with self.subTest(variant=variant, prompt=prompt):
                    wanted, tokens = self.assert_probable(prompt, outputs[0])
                    self.assertEqual([max(range(45), key=row.__getitem__) for row in wanted], tokens)

    def test_each_hypothesis_of_a_beam_remembers_its_own_past(self):
        for prompt, outputs in zip(PROMPTS, self.decode(PROMPTS, "--beam", 4, "--n-best", 4)):
            self.assertEqual(4, len({tuple(output["ids"]) for output in outputs}))
            for output in outputs:
                self.assert_probable(prompt, output)

    def test_samples_are_as_probable_as_the_reference_says(self):
        for prompt, outputs in zip(PROMPTS, self.decode(PROMPTS, "--sample", "--n-best", 3, "--seed", 5)):
            for output in outputs:
                self.assert_probable(prompt, output)

    def test_scores_are_the_references(self):
        targets = [[3, 4], [], [1, 2, 3], [44], list(range(20))]
        text = "".join(ids(p) + "\t" + ids(t) + "\n" for p, t in zip(PROMPTS, targets))
        for variant in variants():
            answers = attnc("score", self.bundle, "--ids", "--json", "--variant", variant, text=text).splitlines()
            for prompt, target, answer in zip(PROMPTS, targets, answers, strict=True):
                tokens = json.loads(answer)["tokens"]
                for row, token, got in zip(self.wanted(prompt, target), target + [2], tokens, strict=True):
                    self.assertEqual(token, got["id"])
                    self.assertAlmostEqual(row[token], got["log_probability"], delta=TOLERANCE)

    def test_a_prompt_has_the_same_bits_in_any_batch(self):
        text = "".join(ids(p) + "\n" for p in PROMPTS * 3)
        for options in [], ["--beam", 4, "--n-best", 2], ["--sample", "--n-best", 2]:
            alone = attnc("run", self.bundle, "--ids", "--json", "--batch", 1, *options, text=text)
            for others in ["--batch", 7], ["--batch", 15, "--threads", 3]:
                self.assertEqual(alone, attnc("run", self.bundle, "--ids", "--json", *others, *options, text=text))

    def test_threads_read_prompts_of_their_own(self):
        text = "".join(ids([(3 * n + i) % 45 for i in range(20 + n % 17)]) + "\n" for n in range(80)) # some 400 tokens for each
        alone = attnc("run", self.bundle, "--ids", "--json", "--batch", 1, text=text)
        for threads in 1, 2, 3:
            self.assertEqual(alone, attnc("run", self.bundle, "--ids", "--json", "--batch", 80, "--threads", threads, text=text))

    def test_rows_of_ended_prompts_leave_the_batch(self):
        """Every fourth token ends an output, so outputs end at many places: rows behind move into their slots."""
        spec = scratch("many_ends.yaml")
        ends = f"end: {list(range(2, 45, 4))}"
        spec.write_text((SPECS / "decoder.yaml").read_text().replace("end: 2", ends))
        weights = scratch("many_ends.safetensors")
        make_weights(spec, weights, seed=4)
        bundle = compile_bundle(spec, "--weights", weights, "--target", "host")
        text = "".join(ids([*p, n % 45]) + "\n" for n, p in enumerate(PROMPTS * 8))
        for options in ["--no-repeat-ngram-size", 1], ["--no-repeat-ngram-size", 1, "--beam", 3], ["--sample", "--n-best", 2, "--temperature", 9]:
            alone = attnc("run", bundle, "--ids", "--json", "--batch", 1, *options, text=text)
            lengths = {len(output["ids"]) for line in alone.splitlines() for output in json.loads(line)["outputs"]}
            self.assertGreater(len(lengths), 3, lengths)
            for batch in 5, 40:
                self.assertEqual(alone, attnc("run", bundle, "--ids", "--json", "--batch", batch, *options, text=text))

    def test_tokens_may_come_in_the_prompt_or_one_by_one(self):
        for prompt in PROMPTS[0], PROMPTS[3]:
            whole, = self.decode([prompt], "--max-length", 5)
            stepped, = self.decode([prompt[:1]], "--prefix", ids(prompt[1:]), "--max-length", 4 + len(prompt))
            self.assertEqual(prompt[1:] + whole[0]["ids"], stepped[0]["ids"])
            for a, b in zip(whole[0]["log_probabilities"], stepped[0]["log_probabilities"][len(prompt) - 1:]):
                self.assertAlmostEqual(a, b, delta=TOLERANCE)

    def test_rules_look_at_the_prompt_too(self):
        for prompt, outputs in zip(PROMPTS, self.decode(PROMPTS, "--no-repeat-ngram-size", 1)):
            tokens = prompt + outputs[0]["ids"]
            new = tokens[len(prompt):]
            self.assertEqual(len(new), len(set(new)))
            self.assertFalse(set(prompt) & set(new))

    def test_prompt_and_output_share_the_positions(self):
        for search in ([], ["--beam", 3], ["--sample"]):
            rules = ["--suppress-tokens", 2, *search]
            (cut,), (long,) = self.decode([PROMPTS[2], PROMPTS[0]], *rules, "--max-length", 40)
            self.assertEqual((22, 40), (len(cut["ids"]), len(long["ids"]))) # 27 + 22: the last token is not read
            self.assertEqual([[cut]], self.decode([PROMPTS[2]], *rules, "--max-length", 22))
            self.assert_probable(PROMPTS[2], cut)
        done = attnc("score", self.bundle, "--ids", text=f"{ids(PROMPTS[2])}\t{ids(range(3, 25))}\n", check=False)
        self.assertEqual(1, done.returncode)
        self.assertIn("a prompt and what follows it have 49 tokens, the model has positions for 48", done.stderr)

    def test_there_is_no_attention_to_a_source(self):
        for options in ["--alignments"], ["--coverage-penalty", 1], ["--attention", scratch("none.svg")]:
            done = attnc("run", self.bundle, "--ids", *options, text=ids(PROMPTS[0]) + "\n", check=False)
            self.assertEqual((2, ""), (done.returncode, done.stdout), options)
            self.assertIn("need attention to the source, which 'decoder' does not have", done.stderr)

    def test_a_prefix_may_fill_the_positions(self):
        prefix = list(range(3, 25))
        (got,), = self.decode([PROMPTS[2]], "--prefix", ids(prefix), "--max-length", 22)
        self.assertEqual(prefix, got["ids"])
        self.assert_probable(PROMPTS[2], got)

    def test_the_golden_vectors_are_checked(self):
        self.assertIn("3 golden cases", attnc("inspect", self.bundle, "--self-check"))


class LanguagesTest(unittest.TestCase):
    def test_the_attention_picture_is_of_the_language_that_is_asked_for(self):
        def drawn(start, *options):
            spec, picture = scratch("languages.yaml"), scratch("languages.svg")
            spec.write_text(f"""
name: languages
model:
  kind: encoder_decoder
  width: 32
  heads: 2
  encoder: {{layers: 1}}
  decoder: {{layers: 1}}
  feed_forward: {{width: 32}}
  vocabulary: {{source: 40, target: 40}}
  tokens: {{start: {start}, end: 2, languages: {{aa: 5, bb: 6}}}}
  tokenizer: {{kind: ids}}
  decoding: {{max_length: 6}}
""")
            bundle = compile_bundle(spec, "--weights", "random:1", "--target", "host")
            said = attnc("run", bundle, "--ids", "--attention", picture, *options, text="7 8 9 10\n")
            return said, picture.read_text()
        asked = drawn(5, "--target-language", "bb")
        self.assertEqual(drawn(6), asked)
        self.assertNotEqual(drawn(5), asked)


if __name__ == "__main__":
    unittest.main()
