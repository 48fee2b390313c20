#!/usr/bin/env python3
"""Small random models made by Hugging Face's transformers, imported, compiled and compared with `generate`.

See library.py for what it needs.
"""

import json
import pathlib
import tempfile
import unittest

from library import attnc, line, torch, transformers

WORDS = 60
SIZES = dict(vocab_size=WORDS, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
             decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, max_position_embeddings=64,
             init_std=0.3)
SOURCES = [[5, 6, 7], [9], [11, 12, 13, 14, 15, 16, 17, 18], [20, 21, 20, 22], list(range(23, 52))]
LENGTH = 20


class Family:
    """One family; a subclass makes its model."""

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="attnc-huggingface-")
        folder = pathlib.Path(cls.scratch.name)
        torch.manual_seed(7)
        cls.model = cls.make().eval()
        with torch.no_grad():  # biases and norms that do something
            for name, values in cls.model.named_parameters():
                if values.dim() == 1:
                    values.add_(0.2 * torch.randn_like(values))
            if hasattr(cls.model, "final_logits_bias"):
                cls.model.final_logits_bias.normal_(std=0.5)
        # The library forces the end token at the longest length, which has nothing to do with the network.
        cls.model.generation_config.forced_eos_token_id = None
        cls.model.config.forced_eos_token_id = None
        cls.save(folder / "source")
        attnc("import", folder / "source", "-o", folder / "spec")
        attnc("compile", folder / "spec/model.yaml", "-o", folder / "bundle", "--target", "host")
        cls.bundle = folder / "bundle"

    @classmethod
    def save(cls, folder):
        cls.model.save_pretrained(folder)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def generate(self, source, **options):
        ids = torch.tensor([source])
        ends = self.model.generation_config.eos_token_id
        ends = ends if isinstance(ends, list) else [ends]
        out = self.model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=LENGTH, do_sample=False,
                                  **options)[0].tolist()[1:]
        return out[:next((i for i, token in enumerate(out) if token in ends), len(out))]

    def decode(self, *options):
        lines = attnc("run", self.bundle, "--ids", "--max-length", LENGTH, *options, text="\n".join(map(line, SOURCES)))
        return [[int(i) for i in text.split()] for text in lines.splitlines()]

    def test_log_probabilities_are_within_1e_4(self):
        targets = [[4, 8, 15, 16], [23], list(range(3, 25)), [42, 42], []]
        text = "".join(line(s) + "\t" + line(t) + "\n" for s, t in zip(SOURCES, targets))
        answers = attnc("score", self.bundle, "--ids", "--json", text=text).splitlines()
        self.assertEqual(len(SOURCES), len(answers))
        config = self.model.generation_config
        for source, target, answer in zip(SOURCES, targets, answers):
            inputs = torch.tensor([[config.decoder_start_token_id] + target])
            with torch.no_grad():
                logits = self.model(input_ids=torch.tensor([source]), decoder_input_ids=inputs).logits[0]
            end = config.eos_token_id if isinstance(config.eos_token_id, int) else config.eos_token_id[0]
            wanted = logits.log_softmax(-1)[range(len(target) + 1), target + [end]]
            got = [token["log_probability"] for token in json.loads(answer)["tokens"]]
            self.assertEqual(len(wanted), len(got))
            for a, b in zip(wanted.tolist(), got):
                self.assertAlmostEqual(a, b, delta=1e-4)

    def test_greedy_ids_equal_generate(self):
        self.assertEqual([self.generate(s) for s in SOURCES], self.decode())

    def test_beam_4_ids_equal_generate(self):
        wanted = [self.generate(s, num_beams=4, early_stopping=True) for s in SOURCES]
        self.assertEqual(wanted, self.decode("--beam", 4, "--early-stopping", "true"))


class Marian(Family, unittest.TestCase):
    @staticmethod
    def make():
        return transformers.MarianMTModel(transformers.MarianConfig(
            **SIZES, pad_token_id=59, eos_token_id=0, decoder_start_token_id=59, activation_function="swish",
            scale_embedding=True))


class Bart(Family, unittest.TestCase):
    @staticmethod
    def make():
        return transformers.BartForConditionalGeneration(transformers.BartConfig(**SIZES))


class BartOfManyEnds(Bart):
    """Any of these tokens ends an output, so that many do."""

    @staticmethod
    def make():
        model = Bart.make()
        model.generation_config.eos_token_id = [2, 7, 11, *range(30, 45)]
        return model


class UntiedBart(Bart):
    """Source, target and output have a table each."""

    @staticmethod
    def make():
        return transformers.BartForConditionalGeneration(transformers.BartConfig(**SIZES, tie_word_embeddings=False))


class BartWithAnotherHead(Bart):
    """The config ties the tables, but the file has another one for the output, which counts."""

    @staticmethod
    def make():
        model = Bart.make()
        table = model.lm_head.weight.detach()
        model.lm_head.weight = torch.nn.Parameter(table + 0.3 * torch.randn_like(table))
        return model

    @classmethod
    def save(cls, folder):
        super().save(folder)
        assert cls.model.config.tie_word_embeddings
        cls.model = type(cls.model).from_pretrained(folder).eval()
        assert not torch.equal(cls.model.lm_head.weight, cls.model.model.shared.weight)


class MBart(Family, unittest.TestCase):
    @staticmethod
    def make():
        return transformers.MBartForConditionalGeneration(transformers.MBartConfig(
            **SIZES, decoder_start_token_id=2, scale_embedding=True))


class UntiedMBart(MBart):
    @staticmethod
    def make():
        return transformers.MBartForConditionalGeneration(transformers.MBartConfig(
            **SIZES, decoder_start_token_id=2, tie_word_embeddings=False))


class Pegasus(Family, unittest.TestCase):
    @staticmethod
    def make():
        return transformers.PegasusForConditionalGeneration(transformers.PegasusConfig(
            **SIZES, activation_function="relu", scale_embedding=True))


class PegasusOfOtherTables(Pegasus):
    """The file's tables of positions are no sinusoids; they count."""

    @classmethod
    def make(cls):
        model = Pegasus.make()
        for side in (model.model.encoder, model.model.decoder):
            with torch.no_grad():
                side.embed_positions.weight.normal_()
        return model


class PegasusInHalfPrecision(Pegasus):
    """The tables of positions are rounded with the others, and count so."""

    @classmethod
    def save(cls, folder):
        cls.model.half().save_pretrained(folder)
        cls.model = type(cls.model).from_pretrained(folder, dtype=torch.float32).eval()


class M2M100(Family, unittest.TestCase):
    @staticmethod
    def make():
        return transformers.M2M100ForConditionalGeneration(transformers.M2M100Config(**SIZES))


class UntiedM2M100(M2M100):
    @staticmethod
    def make():
        return transformers.M2M100ForConditionalGeneration(transformers.M2M100Config(**SIZES, tie_word_embeddings=False))


T5_SIZES = dict(vocab_size=WORDS, d_model=32, d_kv=12, d_ff=64, num_layers=2, num_heads=4,
                relative_attention_num_buckets=8, relative_attention_max_distance=10, decoder_start_token_id=0)


class T5(Family, unittest.TestCase):
    """Version 1.0: ReLU, tied and scaled."""

    @staticmethod
    def make():
        return transformers.T5ForConditionalGeneration(transformers.T5Config(**T5_SIZES))


class T5Gated(Family, unittest.TestCase):
    """Version 1.1: gated GELU, and outputs that are not scaled."""

    @staticmethod
    def make():
        return transformers.T5ForConditionalGeneration(transformers.T5Config(
            **T5_SIZES, feed_forward_proj="gated-gelu", tie_word_embeddings=False))


class T5OfAnotherActivation(T5Gated):
    """What the config says of the activation prevails over what follows from `feed_forward_proj`."""

    @staticmethod
    def make():
        return transformers.T5ForConditionalGeneration(transformers.T5Config(
            **T5_SIZES, feed_forward_proj="gated-gelu", dense_act_fn="relu", tie_word_embeddings=False))


class MT5(Family, unittest.TestCase):
    @staticmethod
    def make():
        return transformers.MT5ForConditionalGeneration(transformers.MT5Config(
            **T5_SIZES, feed_forward_proj="gated-gelu", tie_word_embeddings=False))


class BartInShards(Bart):
    """bfloat16 weights in several files with an index; the sides differ in shape."""

    @staticmethod
    def make():
        sizes = dict(SIZES, decoder_ffn_dim=48, decoder_attention_heads=2)
        return transformers.BartForConditionalGeneration(transformers.BartConfig(**sizes))

    @classmethod
    def save(cls, folder):
        cls.model.to(torch.bfloat16).save_pretrained(folder, max_shard_size="40KB")
        assert (folder / "model.safetensors.index.json").exists()
        cls.model.to(torch.float32)


class BartOfHalves(Bart):
    """float16 weights."""

    @classmethod
    def save(cls, folder):
        cls.model.to(torch.float16).save_pretrained(folder)
        cls.model.to(torch.float32)


class BertPair(Family, unittest.TestCase):
    """BERT2BERT; the sides differ in shape and vocabulary."""

    @staticmethod
    def make():
        sizes = dict(hidden_size=32, max_position_embeddings=64, initializer_range=0.3, num_attention_heads=4)
        encoder = transformers.BertConfig(vocab_size=WORDS, num_hidden_layers=2, intermediate_size=64, **sizes)
        sizes.update(num_attention_heads=2, is_decoder=True, add_cross_attention=True)
        decoder = transformers.BertConfig(vocab_size=50, num_hidden_layers=3, intermediate_size=48, **sizes)
        config = transformers.EncoderDecoderConfig.from_encoder_decoder_configs(encoder, decoder)
        config.decoder_start_token_id, config.pad_token_id, config.eos_token_id = 2, 0, 3
        return transformers.EncoderDecoderModel(config=config)


class UntiedBertPair(BertPair):
    @classmethod
    def make(cls):
        model = BertPair.make()
        model.config.decoder.tie_word_embeddings = False
        return transformers.EncoderDecoderModel(config=model.config)


class Bert(unittest.TestCase):
    """Vectors of tokens, and the tokens that masks are filled with."""

    MASK = 4

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="attnc-huggingface-")
        self.addCleanup(scratch.cleanup)
        folder = pathlib.Path(scratch.name)
        torch.manual_seed(7)
        self.model = transformers.BertForPreTraining(transformers.BertConfig(
            vocab_size=WORDS, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
            max_position_embeddings=64, initializer_range=0.3)).eval()
        with torch.no_grad():
            for _, values in self.model.named_parameters():
                if values.dim() == 1:
                    values.add_(0.2 * torch.randn_like(values))
        self.model.save_pretrained(folder / "source")
        self.save_tokenizer(folder / "source")
        attnc("import", folder / "source", "-o", folder / "spec")
        attnc("compile", folder / "spec/model.yaml", "-o", folder / "bundle", "--target", "host")
        self.bundle = folder / "bundle"

    def save_tokenizer(self, folder):
        words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + [f"w{i}" for i in range(5, WORDS)]
        (folder / "vocab.txt").write_text("".join(word + "\n" for word in words))

    def run_sources(self, *options):
        text = "".join(" ".join(f"w{i}" for i in source) + "\n" for source in SOURCES)
        return attnc("run", self.bundle, "--json", *options, text=text).splitlines()

    def outputs(self, ids, model):
        with torch.no_grad():
            return model(input_ids=torch.tensor([ids]))

    def test_vectors_are_within_1e_4(self):
        for which in ("tokens", "pooled"):
            answers = self.run_sources("--vectors", which)
            self.assertEqual(len(SOURCES), len(answers))
            for source, answer in zip(SOURCES, answers):
                out = self.outputs([2] + source + [3], self.model.bert)
                wanted = out.last_hidden_state[0] if which == "tokens" else out.pooler_output
                got = json.loads(answer)["vectors" if which == "tokens" else "vector"]
                self.assertLess((wanted - torch.tensor(got)).abs().max().item(), 1e-4)

    def test_masks_are_filled_with_the_most_probable_tokens(self):
        for source in SOURCES[2:]:
            masked = [2] + source[:1] + [self.MASK] + source[2:] + [3]
            best = self.outputs(masked, self.model).prediction_logits[0, 2].argmax().item()
            wanted = masked[:2] + [best] + masked[3:]
            self.assertEqual(line(wanted) + "\n", attnc("run", self.bundle, "--ids", "--fill-mask", text=line(masked)))


class BertOfIds(Bert):
    """A folder without a tokenizer, which tells of no mask token either."""

    test_masks_are_filled_with_the_most_probable_tokens = None

    def save_tokenizer(self, folder):
        pass

    def run_sources(self, *options):
        text = "".join(line([2, *source, 3]) + "\n" for source in SOURCES)
        return attnc("run", self.bundle, "--ids", "--json", *options, text=text).splitlines()


if __name__ == "__main__":
    unittest.main()
