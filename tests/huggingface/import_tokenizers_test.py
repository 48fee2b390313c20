#!/usr/bin/env python3
"""Tokenizers of each family in folders as Hugging Face's transformers saves them, imported and compared.

See library.py for what it needs. Nothing is compiled: the spec says what a bundle would do.
"""

import json
import pathlib
import tempfile
import unittest

from library import attnc, sentencepiece, tokenize, transformers, yaml
from tokenizers_test import CORPUS_TEXT, bart, bert, difficult_lines, mbart, nllb, pegasus, t5
from transformers.models.m2m_100.tokenization_m2m_100 import FAIRSEQ_LANGUAGE_CODES

SIZES = dict(d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2,
             encoder_ffn_dim=16, decoder_ffn_dim=16, max_position_embeddings=64)


def pieces(trained):
    """The vocabulary of a tokenizer of the package as transformers' classes take it."""
    model = json.loads(trained.to_str())["model"]
    return {"vocab": [tuple(piece) for piece in model["vocab"]]} if model["type"] == "Unigram" else {
        "vocab": model["vocab"], "merges": [tuple(merge) for merge in model.get("merges", [])]}


def sentencepiece_model(path, **options):
    path.with_suffix(".txt").write_text("\n".join(CORPUS_TEXT))
    sentencepiece.SentencePieceTrainer.train(input=str(path.with_suffix(".txt")), model_prefix=str(path), vocab_size=400,
                                             hard_vocab_limit=False, minloglevel=2, **options)
    path.with_suffix(".txt").unlink()
    pathlib.Path(f"{path}.vocab").unlink()
    pathlib.Path(f"{path}.model").rename(path)
    return sentencepiece.SentencePieceProcessor(model_file=str(path))


class Imported(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="attnc-huggingface-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.source = self.folder / "source"

    def save(self, model, tokenizer):
        model.save_pretrained(self.source)
        tokenizer.save_pretrained(self.source)

    def model_of(self, kind, size, **options):
        config = getattr(transformers, kind + "Config")(**SIZES, vocab_size=size, **options)
        name = "MarianMTModel" if kind == "Marian" else kind + "ForConditionalGeneration"
        return getattr(transformers, name)(config)

    def imported(self, *options):
        attnc("import", self.source, "-o", self.folder / "spec", *options)
        return yaml.safe_load((self.folder / "spec/model.yaml").read_text())["model"]

    def run_side(self, model, side, lines):
        tokenizer = model["tokenizer"].get(side, model["tokenizer"])
        unknown = model["tokens"].get("unknown", 0)
        if side == "source":
            unknown = model["tokens"].get("source_unknown", unknown)
        size = model["vocabulary"].get(side, model["vocabulary"]["target"])  # a decoder alone has one
        return tokenize(self.folder / "spec", tokenizer, size, unknown, lines)

    def assert_as_likely(self, processor, wanted, got, line):
        """The same pieces, or others of the same text and sum of scores: of ties each SentencePiece takes one."""
        if wanted == got:
            return
        self.assertEqual("".join(wanted), "".join(got), repr(line[:80]))
        scores = [sum(map(processor.get_score, map(processor.piece_to_id, pieces))) for pieces in (wanted, got)]
        self.assertAlmostEqual(*scores, msg=repr(line[:80]), delta=1e-3)

    def compare(self, tokenizer, *options, lines=None, sources=(), processor=None):
        """Sources as the tokenizer encodes them, and outputs as it decodes them without special tokens.

        With the model of a Unigram as `processor`, ties are no errors.
        """
        model = self.imported(*options)
        lines = lines or difficult_lines()
        sources = [*lines, *sources]
        around = [model["tokens"].get(key, []) for key in ("source_start", "source_end")]
        start, end = ([ids] if isinstance(ids, int) else ids for ids in around)
        for line, (ids, _) in zip(sources, self.run_side(model, "source", sources), strict=True):
            wanted, got = tokenizer(line).input_ids, start + ids + end
            if processor:
                self.assert_as_likely(processor, *map(tokenizer.convert_ids_to_tokens, (wanted, got)), line)
            else:
                self.assertEqual(wanted, got, repr(line[:80]))
        for line, (ids, text) in zip(lines, self.run_side(model, "target", lines), strict=True):
            wanted = tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
            self.assertEqual(wanted.strip(), text.strip(), repr(line[:80]))
        return model

    def test_bart(self):
        tokenizer = transformers.BartTokenizer(**pieces(bart()))
        self.save(self.model_of("Bart", len(tokenizer)), tokenizer)
        model = self.compare(tokenizer)
        self.assertEqual(([0], [2]), (model["tokens"]["source_start"], model["tokens"]["source_end"]))

    def test_bart_of_two_files(self):
        mask = transformers.AddedToken("<mask>", lstrip=True, special=True)
        tokenizer = transformers.BartTokenizer(**pieces(bart()), mask_token=mask)
        self.save(self.model_of("Bart", len(tokenizer)), tokenizer)
        saved = json.loads((self.source / "tokenizer.json").read_text())["model"]
        (self.source / "tokenizer.json").unlink()
        (self.source / "vocab.json").write_text(json.dumps(saved["vocab"]))
        (self.source / "merges.txt").write_text("#version: 0.2\n" + "".join(" ".join(m) + "\n" for m in saved["merges"]))
        self.compare(tokenizer)

    def test_gpt2_of_two_files(self):
        self.source.mkdir()
        trained = pieces(bart())
        trained["vocab"]["<|endoftext|>"] = end = len(trained["vocab"])
        tokenizer = transformers.GPT2Tokenizer(**trained)
        self.save(transformers.GPT2LMHeadModel(transformers.GPT2Config(
            vocab_size=len(tokenizer), n_embd=16, n_layer=1, n_head=2, eos_token_id=end)), tokenizer)
        (self.source / "tokenizer.json").unlink()
        (self.source / "vocab.json").write_text(json.dumps(trained["vocab"]))
        (self.source / "merges.txt").write_text("".join(" ".join(merge) + "\n" for merge in trained["merges"]))
        self.compare(tokenizer, sources=["a<|endoftext|> b"])

    def test_pegasus(self):
        tokenizer = transformers.PegasusTokenizer(**pieces(pegasus()))
        self.save(self.model_of("Pegasus", len(tokenizer)), tokenizer)
        self.compare(tokenizer)

    def test_mbart_puts_the_language_behind_the_end(self):
        tokenizer = transformers.MBartTokenizer(**pieces(mbart()), src_lang="de_DE", tgt_lang="fr_XX")
        self.save(self.model_of("MBart", len(tokenizer)), tokenizer)
        model = self.compare(tokenizer)
        self.assertEqual([2, tokenizer.convert_tokens_to_ids("de_DE")], model["tokens"]["source_end"])
        self.assertEqual(tokenizer.convert_tokens_to_ids("fr_XX"), model["tokens"]["start"])

    def test_mbart_50_takes_languages_from_flags(self):
        special = [(token, 0.0) for token in ("<unk>", "<s>", "</s>")]  # as a SentencePiece model begins
        tokenizer = transformers.MBart50Tokenizer(vocab=special + pieces(mbart())["vocab"][4:], src_lang="en_XX")
        self.save(self.model_of("MBart", len(tokenizer)), tokenizer)
        tokenizer.src_lang = "ko_KR"
        model = self.compare(tokenizer, "--source-language", "ko_KR", "--target-language", "ja_XX")
        self.assertEqual(tokenizer.convert_tokens_to_ids("ja_XX"), model["decoding"]["forced_bos_token_id"])

    def test_nllb(self):
        tokenizer = transformers.NllbTokenizer(**pieces(nllb()), src_lang="deu_Latn", tgt_lang="kor_Hang")
        self.save(self.model_of("M2M100", len(tokenizer)), tokenizer)
        model = self.compare(tokenizer)
        self.assertEqual([tokenizer.convert_tokens_to_ids("deu_Latn")], model["tokens"]["source_start"])
        self.assertEqual(tokenizer.convert_tokens_to_ids("kor_Hang"), model["decoding"]["forced_bos_token_id"])

    def test_m2m_100(self):
        self.source.mkdir()
        path = self.source / "sentencepiece.bpe.model"
        processor = sentencepiece_model(path, model_type="bpe")
        known = ["<s>", "<pad>", "</s>", "<unk>"] + [processor.id_to_piece(i) for i in range(3, len(processor) - 40)]
        (self.source / "vocab.json").write_text(json.dumps({piece: i for i, piece in enumerate(known)}))
        languages = [f"__{code}__" for code in FAIRSEQ_LANGUAGE_CODES["m2m100"]]
        tokenizer = transformers.M2M100Tokenizer(str(self.source / "vocab.json"), str(path), src_lang="en", tgt_lang="ko",
                                                 additional_special_tokens=languages)
        self.save(self.model_of("M2M100", len(known) + 108), tokenizer)
        tokenizer.src_lang = "fr"
        lines = [line for line in difficult_lines() if "\0" not in line]
        model = self.compare(tokenizer, "--source-language", "fr", lines=lines, sources=["__de__ a __fr__b"])
        self.assertEqual(tokenizer.get_lang_id("ko"), model["decoding"]["forced_bos_token_id"])

    def compare_fairseq(self, kind, name, languages, **config):
        """A folder without tokenizer.json: a SentencePiece model, and ids by the rule of fairseq's vocabularies."""
        self.source.mkdir()
        processor = sentencepiece_model(self.source / "sentencepiece.bpe.model")
        ids = {language: len(processor) + 1 + i for i, language in enumerate(languages)}
        self.model_of(kind, len(processor) + len(ids) + 2).save_pretrained(self.source)
        (self.source / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": name, **config}))
        model = self.imported()
        special = ["<s>", "</s>", "<pad>", "<unk>", "<mask>", *languages]
        lines = [line for line in difficult_lines() if "\0" not in line and not any(token in line for token in special)]
        for line, (got, text) in zip(lines, self.run_side(model, "source", lines), strict=True):
            got = [0 if token == 3 else token - 1 for token in got]
            self.assert_as_likely(processor, *map(processor.id_to_piece, (processor.encode(line), got)), line)
            self.assertEqual(processor.decode([piece for piece in got if piece]).strip(), text.strip(), repr(line[:80]))
        (got, _), = self.run_side(model, "source", ["a<mask>" + languages[-1]])
        self.assertEqual([ids[languages[-1]] + 1, ids[languages[-1]]], got[-2:])
        self.assertEqual(ids, model["tokens"]["languages"])
        return model["tokens"], model.get("decoding", {}), ids

    def test_mbart_without_tokenizer_json(self):
        languages = transformers.models.mbart.tokenization_mbart.FAIRSEQ_LANGUAGE_CODES
        tokens, _, ids = self.compare_fairseq("MBart", "MBartTokenizer", languages, src_lang="en_XX", tgt_lang="ro_RO")
        self.assertEqual(([2, ids["en_XX"]], ids["ro_RO"]), (tokens["source_end"], tokens["start"]))

    def test_mbart_50_without_tokenizer_json(self):
        languages = transformers.models.mbart50.tokenization_mbart50.FAIRSEQ_LANGUAGE_CODES
        tokens, decoding, ids = self.compare_fairseq("MBart", "MBart50TokenizerFast", languages, src_lang="sl_SI",
                                                     tgt_lang="ko_KR")
        self.assertEqual(([ids["sl_SI"]], [2]), (tokens["source_start"], tokens["source_end"]))
        self.assertEqual(ids["ko_KR"], decoding["forced_bos_token_id"])

    def test_nllb_without_tokenizer_json(self):
        languages = transformers.models.nllb.tokenization_nllb.FAIRSEQ_LANGUAGE_CODES
        tokens, decoding, ids = self.compare_fairseq("M2M100", "NllbTokenizer", languages, src_lang="zul_Latn",
                                                     tgt_lang="ace_Arab")
        self.assertEqual(([ids["zul_Latn"]], [2]), (tokens["source_start"], tokens["source_end"]))
        self.assertEqual(ids["ace_Arab"], decoding["forced_bos_token_id"])

    def test_marian(self):
        self.source.mkdir()
        source = sentencepiece_model(self.source / "source.spm")
        target = sentencepiece_model(self.source / "target.spm", character_coverage=0.98)
        known = sorted({p.id_to_piece(i) for p in (source, target) for i in range(3, len(p) - 30)})
        (self.source / "vocab.json").write_text(json.dumps(
            {piece: i for i, piece in enumerate(["</s>", "<unk>", ">>fra<<", *known, "<pad>"])}))
        tokenizer = transformers.MarianTokenizer(*(str(self.source / name) for name in ("source.spm", "target.spm", "vocab.json")))
        size = len(known) + 4
        self.save(self.model_of("Marian", size, pad_token_id=size - 1, eos_token_id=0, decoder_start_token_id=size - 1),
                  tokenizer)
        lines = [line for line in difficult_lines() if "\0" not in line]
        self.compare(tokenizer, lines=lines, sources=[">>fra<< Hello the word"], processor=source)


if __name__ == "__main__":
    unittest.main()
