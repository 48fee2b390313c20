#!/usr/bin/env python3
"""A small random GPT-2 made by Hugging Face's transformers, imported, compiled and compared with `generate`.

See library.py for what it needs.
"""

import json
import pathlib
import tempfile
import unittest

from library import attnc, line, torch, transformers

PROMPTS = [[5, 6, 7], [9], list(range(10, 50)), [40, 40, 41, 3, 8, 1, 0], [44, 43]]
LENGTH = 20


class Gpt2(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="attnc-gpt2-")
        folder = pathlib.Path(cls.scratch.name)
        torch.manual_seed(7)
        cls.model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
            vocab_size=60, n_embd=48, n_layer=3, n_head=4, n_inner=80, n_positions=64, initializer_range=0.3,
            bos_token_id=59, eos_token_id=59, pad_token_id=59)).eval()
        with torch.no_grad():  # biases and norms that do something
            for values in cls.model.parameters():
                if values.dim() == 1:
                    values.add_(0.2 * torch.randn_like(values))
        cls.model.save_pretrained(folder / "source")
        attnc("import", folder / "source", "-o", folder / "spec")
        cls.bundle = folder / "bundle"
        attnc("compile", folder / "spec/model.yaml", "-o", cls.bundle, "--target", "host")

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def generate(self, prompt, **options):
        ids = torch.tensor([prompt])
        out = self.model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=LENGTH, do_sample=False,
                                  **options)[0].tolist()[len(prompt):]
        return out[: out.index(59)] if 59 in out else out

    def decode(self, *options):
        text = "".join(line(p) + "\n" for p in PROMPTS)
        lines = attnc("run", self.bundle, "--ids", "--max-length", LENGTH, *options, text=text).splitlines()
        return [[int(i) for i in answer.split()] for answer in lines]

    def test_log_probabilities_are_within_1e_4(self):
        targets = [[4, 8, 15, 16], [23], list(range(3, 25)), [42, 42], []]
        text = "".join(line(p) + "\t" + line(t) + "\n" for p, t in zip(PROMPTS, targets))
        answers = attnc("score", self.bundle, "--ids", "--json", text=text).splitlines()
        for prompt, target, answer in zip(PROMPTS, targets, answers, strict=True):
            with torch.no_grad():
                logits = self.model(torch.tensor([prompt + target])).logits[0, len(prompt) - 1:].log_softmax(-1)
            wanted = logits[range(len(target) + 1), target + [59]].tolist()
            got = [token["log_probability"] for token in json.loads(answer)["tokens"]]
            for a, b in zip(wanted, got, strict=True):
                self.assertAlmostEqual(a, b, delta=1e-4)

    def test_greedy_ids_equal_generate(self):
        self.assertEqual([self.generate(p) for p in PROMPTS], self.decode())

    def test_beam_4_ids_equal_generate(self):
        wanted = [self.generate(p, num_beams=4, early_stopping=True) for p in PROMPTS]
        self.assertEqual(wanted, self.decode("--beam", 4, "--early-stopping", "true"))

    def test_rules_count_the_prompt_as_generate_does(self):
        search = dict(num_beams=4, early_stopping=True)
        flags = ["--beam", 4, "--early-stopping", "true"]
        wanted = [self.generate(p, repetition_penalty=1.5, **search) for p in PROMPTS]
        self.assertEqual(wanted, self.decode("--repetition-penalty", 1.5, *flags))
        wanted = [self.generate(p, repetition_penalty=1.5) for p in PROMPTS]
        self.assertEqual(wanted, self.decode("--repetition-penalty", 1.5))
        wanted = [self.generate(p, no_repeat_ngram_size=2) for p in PROMPTS]
        self.assertEqual(wanted, self.decode("--no-repeat-ngram-size", 2))


if __name__ == "__main__":
    unittest.main()
