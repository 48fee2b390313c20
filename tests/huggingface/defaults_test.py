#!/usr/bin/env python3
"""What import takes where a config.json lacks a key: what its class has in transformers, or an error.

See library.py for what it needs. Nothing is compiled.
"""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from library import transformers

SIDES = dict(vocab_size=60, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
             decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16)
T5_SIZES = dict(vocab_size=60, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2)


class Defaults(unittest.TestCase):
    def imported(self, config):
        """The spec, or what is said of the error."""
        with tempfile.TemporaryDirectory(prefix="attnc-huggingface-") as output:
            (self.source / "config.json").write_text(json.dumps(config))
            done = subprocess.run([os.environ["ATTNC"], "import", self.source, "-o", output], capture_output=True, text=True)
            return ("" if done.returncode else (pathlib.Path(output) / "model.yaml").read_text()), done.stderr

    def compare(self, model):
        """Takes each key away that has the class's own value."""
        scratch = tempfile.TemporaryDirectory(prefix="attnc-huggingface-")
        self.addCleanup(scratch.cleanup)
        self.source = pathlib.Path(scratch.name)
        model.save_pretrained(self.source)
        (self.source / "generation_config.json").write_text("{}")
        config = json.loads(json.dumps(model.config.to_dict()))
        wanted, messages = self.imported(config)
        self.assertTrue(wanted, messages)
        default = json.loads(json.dumps(type(model.config)().to_dict()))
        for key in [key for key in config if config[key] == default.get(key)]:
            with self.subTest(key=key):
                got, messages = self.imported({other: value for other, value in config.items() if other != key})
                if got:
                    self.assertEqual(wanted, got)
                else:
                    self.assertIn("' is missing", messages)

    def test_bart(self):
        self.compare(transformers.BartForConditionalGeneration(transformers.BartConfig(**SIDES)))

    def test_mbart(self):
        self.compare(transformers.MBartForConditionalGeneration(transformers.MBartConfig(**SIDES)))

    def test_marian(self):
        self.compare(transformers.MarianMTModel(transformers.MarianConfig(
            **SIDES, pad_token_id=59, decoder_start_token_id=59)))

    def test_marian_of_the_class_tokens(self):
        self.compare(transformers.MarianMTModel(transformers.MarianConfig(**{**SIDES, "vocab_size": 58101})))

    def test_pegasus(self):
        self.compare(transformers.PegasusForConditionalGeneration(transformers.PegasusConfig(**SIDES)))

    def test_m2m_100(self):
        self.compare(transformers.M2M100ForConditionalGeneration(transformers.M2M100Config(**SIDES)))

    def test_t5(self):
        self.compare(transformers.T5ForConditionalGeneration(transformers.T5Config(**T5_SIZES, decoder_start_token_id=0)))

    def test_mt5(self):
        self.compare(transformers.MT5ForConditionalGeneration(transformers.MT5Config(**T5_SIZES)))

    def test_gpt2(self):
        self.compare(transformers.GPT2LMHeadModel(transformers.GPT2Config(n_embd=16, n_layer=1, n_head=2)))

    def test_bert(self):
        self.compare(transformers.BertForPreTraining(transformers.BertConfig(
            vocab_size=60, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)))


if __name__ == "__main__":
    unittest.main()
