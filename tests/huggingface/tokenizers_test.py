#!/usr/bin/env python3
"""Small tokenizers of each kind, trained here by the tokenizers package, compared with the runtime's.

See library.py for what it needs. `tokenizers_test.py --write FOLDER` writes the tokenizers and what is expected of them, as they are
committed in tests/runtime/tokenizers for TokenizerJsonTest.cpp.
"""

import json
import pathlib
import random
import sys
import tempfile
import unittest

from library import sentencepiece, tokenize
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors,
                        trainers)

CORPUS = [
    "The quick brown fox jumps over the lazy dog.", "It's what we'll do; they've said I'm right, you'd agree.",
    "Der schnelle braune Fuchs springt über den faulen Hund. Straße, Größe, Äpfel.",
    "Le cœur déçu mais l'âme plutôt naïve, Louÿs rêva de crapaüter en canoë.",
    "El pingüino Wenceslao hizo kilómetros bajo exhaustiva lluvia y frío; ¿añoraba a su querido cachorro?",
    "Съешь же ещё этих мягких французских булок да выпей чаю.", "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία.",
    "敏捷的棕色狐狸跳过了懒狗。", "いろはにほへと ちりぬるを カタカナ ｶﾀｶﾅ", "키스의 고유조건은 입술끼리 만나야 하고",
    "نص حكيم له سر قاطع وذو شأن عظيم", "דג סקרן שט בים מאוכזב", "ऋषियों को सताने वाले दुष्ट राक्षसों के राजा रावण का",
    "เป็นมนุษย์สุดประเสริฐเลิศคุณค่า", "Pchnąć w tę łódź jeża lub ośm skrzyń fig. 12345 67,890.12 ½ ² Ⅷ",
    "Tiếng Việt: Cụ thể, bạn sẽ tham gia một nhóm các giám đốc", "İstanbul'da ışık, ĞÜŞİÖÇ", "👍🏽 👨‍👩‍👧‍👦 🇩🇪 ☕️ ❤️",
]
DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs/architecture.md"
CORPUS_TEXT = [line for line in CORPUS for _ in range(6)] + DOCUMENT.read_text().splitlines()

DIFFICULT = [
    "", " ", "  ", "\t", "\n", " \n ", "a", " a", "a ", "  a  b  ", "a\tb\nc\r\nd", "a\u00a0b\u2003c\u3000d\u200bz", "\u2028\u2029\u0085x",
    "\u0000", "a\u0000b", "\u0001\u0002\u0007\u001b[0m\u007f\u0080\u009f", "\ufeffBOM", "\ufffd", "\ufffc\u2060\u00ad soft\u00adhyphen",
    "é e\u0301 é\u0301 ǟ a\u0308\u0304 o\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308", "ﬁ ﬂ ﬃ ﬅ Ǆ ǅ ĳ ŉ", "①②③ ⑳ ⒈ ㈠ ㊙ ㍿ ㎏ ㏒ ￥ ！？ＡＢＣａｂｃ１２３",
    "ﷺ ﷲ ﷽ \ufdfa", "각 \u1100\u1161\u11a8 가\u11a8 ᄀ가", "ก็ ำ น้ำ ກຳ", "क्षि क्\u200dष कि", "ß ẞ İ ı Σ ς σ Ω Å K", "x² y₃ ½ ¼ ⅓ Ⅷ ⅷ", "™ ® © № ℃ Å µ",
    "...", "…", "!!!???", "a.b,c;d:e", "(a)[b]{c}<d>", "'s 't 're 've 'm 'll 'd 'S", "I'm you're he'll they'd we've it's don't ''", "$5.00 £6 €7 ¥8 + = ~ ^ ` | \\ /",
    "日本語テキスト和English混合文本123", "北京2008年奥运会", "こんにちは、世界！", "안녕하세요 세계", "مرحبا بالعالم", "שלום עולם", "नमस्ते दुनिया", "สวัสดีชาวโลก",
    "😀", "😀😀 😀", "👨‍👩‍👧‍👦", "👍🏽👍🏿", "🇩🇪🇫🇷🇯", "❤️ ❤", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "🤷🏽‍♀️x", "𝒳𝓎𝔃 𝟙𝟚𝟛", "𠀀𠀁 𪚥 丽", "\U000e0001\U0010ffff\ue000",
    "<s>", "</s>", "<pad><unk>", "a<mask>b", "a <mask> b", "  <mask>  ", "<mask><mask>", "[CLS] x [SEP]", "[MASK]", "a [MASK] b[MASK]", "[mask]", "<special", "<<s>>", "en_XX", "xen_XX en_XXx en_XX.",
    "<extra_id_0> and <extra_id_1>", "Word WORD word wORD", "word.word", "▁", "▁▁a ▁b", "a▁b", "##ing ##", "Ġthe Ċ Ġ", "<0x41><0xE5>", "@@ a@@ b@@", "</w>",
    "x" * 99, "x" * 100, "x" * 101, "x" * 1000, "ab" * 3000, "é" * 100, "é" * 101, "漢" * 300, "a " * 2000, " " * 500, "\n" * 50, "." * 200, "e" + "\u0301" * 50,
    "the lowest newest widest", "thelowestnewestwidest", "Lowest.NEWEST,widest!", "1234567890 12 3 4.5 6,7", "http://example.com/a?b=c&d=e#f", "user@example.com", "C:\\Users\\x", "snake_case camelCase kebab-case",
    "\u202eright to left\u202c", "zero\u200bwidth\u200cjoin\u200der", "a\u0300b\u0301c\u0302", "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢", "ʰʱʲ ˢ ᴬ", "ⓗⓔⓛⓛⓞ", "½ cup", "1st 2nd", "a\u3000\u3000b", "\u3000a", "\u00a0", "\u2009x",
    "a<mask>\nb", "a<mask> \n \n b", "<mask>\n", "a\n\n\nb", "a\t\t\tb", "a\t \n \tb\n\t", "\u0301a", "\u0001a", "\u0344a", "za", "zza b", "Zword", "z",
]


def difficult_lines():
    """The lines above, all of the corpus, and lines put together at random from all of it."""
    draw = random.Random(5)
    pieces = [c for line in DIFFICULT + CORPUS for c in line if len(line) < 200] + [" "] * 60
    mixed = ["".join(draw.choice(pieces) for _ in range(draw.randrange(1, 40))) for _ in range(200)]
    words = " ".join(CORPUS).split()
    sentences = ["".join(draw.choice(words) + draw.choice(["", " ", " ", "  ", ", "]) for _ in range(draw.randrange(1, 20)))
                 for _ in range(100)]
    return DIFFICULT + CORPUS + mixed + sentences


def charsmap(rules=None):
    """SentencePiece's compiled map nmt_nfkc, or that of `rules`, taken out of a model that the library trains."""
    with tempfile.TemporaryDirectory(prefix="attnc-tokenizers-") as scratch:
        corpus, table = pathlib.Path(scratch, "corpus"), pathlib.Path(scratch, "rules.tsv")
        corpus.write_text("\n".join(CORPUS_TEXT))
        table.write_text("".join(f"{old}\t{new}\n" for old, new in rules or []))
        how = {"normalization_rule_tsv": str(table)} if rules else {"normalization_rule_name": "nmt_nfkc"}
        sentencepiece.SentencePieceTrainer.train(input=str(corpus), model_prefix=str(corpus), vocab_size=600,
                                                 hard_vocab_limit=False, minloglevel=2, **how)
        model = corpus.with_suffix(".model").read_bytes()
    return dict(protobuf_fields(dict(protobuf_fields(model))[3]))[2]  # normalizer_spec.precompiled_charsmap


def protobuf_fields(data):
    """(number, value) of each field of a message."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(data):
        key = varint()
        size = {0: 0, 1: 8, 2: 0, 5: 4}[key & 7]
        if key & 7 == 0:
            yield key >> 3, varint()
            continue
        size = size or varint()
        yield key >> 3, data[at:at + size]
        at += size


# A few rules of the kind that nmt_nfkc has, for files that are committed.
FEW_RULES = [("FB01", "66 69"), ("A0", "20"), ("3000", "20"), ("9", "20"), ("A", "20"), ("FF21", "41"), ("65 301", "E9"),
             ("1100 1161", "AC00"), ("1100 1161 11A8", "AC01"), ("2460", "31"), ("7", ""), ("1", ""), ("200B", "20"),
             ("2026", "2E 2E 2E"), ("FDFA", "635 644 649 20 627 644 644 647 20 639 644 64A 647 20 648 633 644 645")]
rules = None  # nmt_nfkc


def bart():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(CORPUS_TEXT, trainers.BpeTrainer(
        vocab_size=500, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", AddedToken("<mask>", lstrip=True)]))
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return tokenizer


def bert(lowercase=True):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.train_from_iterator(CORPUS_TEXT, trainers.WordPieceTrainer(
        vocab_size=600, show_progress=False, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return tokenizer


def unigram(normalizer, pre_tokenizer, special, **options):
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.train_from_iterator(CORPUS_TEXT, trainers.UnigramTrainer(
        vocab_size=500, unk_token="<unk>", special_tokens=special, show_progress=False, **options))
    return tokenizer


def t5():
    tokenizer = unigram(normalizers.Precompiled(charsmap(rules)),
                        pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]),
                        ["<pad>", "</s>", "<unk>"])
    tokenizer.add_special_tokens([f"<extra_id_{i}>" for i in range(3)])
    return tokenizer


def mbart():
    tokenizer = unigram(
        normalizers.Sequence([normalizers.Precompiled(charsmap(rules)), normalizers.Replace(Regex(" {2,}"), " ")]),
        pre_tokenizers.Metaspace(), ["<s>", "<pad>", "</s>", "<unk>"])
    tokenizer.add_special_tokens(["en_XX", AddedToken("<mask>", lstrip=True, normalized=True)])
    tokenizer.add_tokens([AddedToken("word", single_word=True), AddedToken("WORD", normalized=False, rstrip=True)])
    return tokenizer


def older_spm():
    """What transformers 4 made of SentencePiece models."""
    tokenizer = unigram(
        normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Strip(False, True),
                              normalizers.Replace(Regex(" {2,}"), "▁")]),
        pre_tokenizers.Metaspace(prepend_scheme="first"), ["<unk>", "</s>"])
    tokenizer.add_special_tokens(["<mask>"])
    return tokenizer


def pegasus():
    tokenizer = unigram(
        normalizers.Sequence([normalizers.Replace(Regex(r"\n"), " "), normalizers.Replace(Regex(" {2,}"), " ")]),
        pre_tokenizers.Metaspace(), ["<pad>", "</s>", "<mask_1>", "<unk>"])
    return tokenizer


def nllb(byte_fallback=False):
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=byte_fallback))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    special = ["<s>", "<pad>", "</s>", "<unk>"] + ([f"<0x{i:02X}>" for i in range(256)] if byte_fallback else [])
    tokenizer.train_from_iterator(CORPUS_TEXT, trainers.BpeTrainer(
        vocab_size=600, show_progress=False, limit_alphabet=120, special_tokens=special))
    tokenizer.add_special_tokens(["eng_Latn", "fra_Latn"])
    if byte_fallback:
        tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                                               decoders.Strip(" ", 1, 0)])
        text = json.loads(tokenizer.to_str())
        text["added_tokens"] = [t for t in text["added_tokens"] if not t["content"].startswith("<0x")]
        tokenizer = Tokenizer.from_str(json.dumps(text))
    return tokenizer


def suffixes():
    """BPE with a mark at the end of words, as fairseq and subword-nmt have it, and one inside words."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>", continuing_subword_prefix="~"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase(),
                                                 normalizers.NFC(), normalizers.Prepend("x"), normalizers.Strip()])
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.BPEDecoder()
    tokenizer.train_from_iterator(CORPUS_TEXT, trainers.BpeTrainer(
        vocab_size=700, show_progress=False, special_tokens=["<unk>"], end_of_word_suffix="</w>",
        continuing_subword_prefix="~"))
    return tokenizer


def white_space():
    """Added tokens of white space, some of it in the white space that others take."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({character: i for i, character in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_tokens([AddedToken("<mask>", rstrip=True, normalized=False), AddedToken("\n", normalized=False),
                          AddedToken("\t", rstrip=True, normalized=False)])
    return tokenizer


def beginnings():
    """A mark at the beginning of texts alone, where normalizers may have taken the beginning away."""
    characters = ["<unk>", "▁", *"abcdefghijklmnopqrstuvwxyz .漢"]
    tokenizer = Tokenizer(models.BPE({character: i for i, character in enumerate(characters)}, [], unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.BertNormalizer(), normalizers.Replace("word", "w"), normalizers.Replace(Regex("x{9,}"), ""),
        normalizers.Replace("z", "")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    tokenizer.decoder = decoders.Metaspace()
    return tokenizer


KINDS = {"bart": bart, "bert": bert, "bert-cased": lambda: bert(False), "t5": t5, "mbart": mbart, "older-spm": older_spm,
         "pegasus": pegasus, "nllb": nllb, "byte-fallback": lambda: nllb(True), "suffixes": suffixes,
         "white-space": white_space, "beginnings": beginnings}


DESCRIPTION = {"kind": "tokenizer_json", "file": "tokenizer.json"}


def answers(tokenizer, lines):
    """[ids, decoded text] of each line."""
    encoded = [tokenizer.encode(line, add_special_tokens=False).ids for line in lines]
    return [[ids, tokenizer.decode(ids)] for ids in encoded]


def save(tokenizer, path):
    text = json.loads(tokenizer.to_str())
    for key in ("truncation", "padding"):
        text.pop(key)
    path.write_text(json.dumps(text, ensure_ascii=False))


def write_expectations(folder):
    global rules
    rules = FEW_RULES
    lines = [line for line in DIFFICULT + CORPUS if len(line) <= 110]
    for name, make in KINDS.items():
        tokenizer = make()
        save(tokenizer, folder / "tokenizer.json")
        cases = [[line, *answer] for line, answer in zip(lines, answers(tokenizer, lines))]
        (folder / f"{name}.json").write_text(json.dumps(
            {"size": tokenizer.get_vocab_size(), "tokenizer": json.loads((folder / "tokenizer.json").read_text()),
             "cases": cases}, separators=(",", ":")) + "\n")
        (folder / "tokenizer.json").unlink()


class Tokenizers(unittest.TestCase):
    def test_ids_and_texts_equal_those_of_the_package(self):
        lines = difficult_lines()
        for name, make in KINDS.items():
            with self.subTest(name), tempfile.TemporaryDirectory(prefix="attnc-tokenizers-") as scratch:
                tokenizer, path = make(), pathlib.Path(scratch, "tokenizer.json")
                save(tokenizer, path)
                got = tokenize(scratch, DESCRIPTION, tokenizer.get_vocab_size(), None, lines)
                for line, wanted, answer in zip(lines, answers(tokenizer, lines), got, strict=True):
                    self.assertEqual(wanted, answer, repr(line[:100]))
                print(f"{name}: {len(lines)} lines, {tokenizer.get_vocab_size()} tokens")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        write_expectations(pathlib.Path(sys.argv[2]))
    else:
        unittest.main()
