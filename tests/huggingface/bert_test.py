#!/usr/bin/env python3
"""A small random BERT made by Hugging Face's transformers, compiled from bert.yaml and compared.

See library.py for what it needs.
"""

import json
import pathlib
import tempfile
import unittest

from library import attnc, line, torch, transformers

SPEC = pathlib.Path(__file__).resolve().parent / "bert.yaml"
SENTENCES = [[1, 5, 6, 2], [1, 2], [1] + list(range(4, 59)) + [2], [1, 3, 9, 3, 11, 2]]


class Bert(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="attnc-bert-")
        folder = pathlib.Path(cls.scratch.name)
        torch.manual_seed(7)
        cls.model = transformers.BertForPreTraining(transformers.BertConfig(
            vocab_size=60, hidden_size=48, num_hidden_layers=3, num_attention_heads=4, intermediate_size=80,
            max_position_embeddings=64, initializer_range=0.3)).eval()
        with torch.no_grad():  # biases and norms that do something
            for values in cls.model.parameters():
                if values.dim() == 1:
                    values.add_(0.2 * torch.randn_like(values))
        cls.model.save_pretrained(folder / "source")
        cls.bundle = folder / "bundle"
        attnc("compile", SPEC, "-o", cls.bundle, "--target", "host", "--weights", folder / "source")

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def run_json(self, text, *options):
        return [json.loads(answer) for answer in
                attnc("run", self.bundle, "--ids", "--json", *options, text=text).splitlines()]

    def outputs(self, sentence, types=None):
        types = torch.tensor([types or [0] * len(sentence)])
        with torch.no_grad():
            return self.model.bert(torch.tensor([sentence]), token_type_ids=types)

    def assert_close(self, wanted, got):
        self.assertLessEqual((wanted - torch.tensor(got)).abs().max().item(), 1e-4)

    def test_hidden_states_are_within_1e_4(self):
        for sentence, answer in zip(SENTENCES, self.run_json("\n".join(map(line, SENTENCES)), "--vectors", "tokens")):
            self.assert_close(self.outputs(sentence).last_hidden_state[0], answer["vectors"])

    def test_pooled_pairs_are_within_1e_4(self):
        first, second = [1, 5, 6, 2], [9, 10, 2]
        answer, = self.run_json(line(first) + "\t" + line(second), "--vectors", "pooled")
        wanted = self.outputs(first + second, [0] * 4 + [1] * 3).pooler_output[0]
        self.assert_close(wanted, answer["vector"])

    def test_masked_tokens_are_within_1e_4(self):
        answer, = self.run_json(line(SENTENCES[3]), "--fill-mask", "--n-best", 60)
        with torch.no_grad():
            logits = self.model(torch.tensor([SENTENCES[3]])).prediction_logits[0].log_softmax(-1)
        for number, position in enumerate([1, 3]):
            best = [output["masks"][number] for output in answer["outputs"]]
            self.assertEqual(logits[position].argsort(descending=True)[0].item(), best[0]["id"])
            self.assert_close(logits[position][[b["id"] for b in best]], [b["log_probability"] for b in best])


if __name__ == "__main__":
    unittest.main()
