#!/usr/bin/env python3
"""Weights of int8 and bfloat16: how little they change what a model says, and what else must stay as it is."""

import json
import unittest

from bundles import ROOT, SPECS, attnc, compile_bundle, ids, lay_out, reference, scratch, variants


def compiled(bundle):
    """The variants of a bundle, all of which run here."""
    return [variant["name"] for variant in json.loads((bundle / "manifest.json").read_text())["variants"]]


def changed(before, after):
    """The share of lines that differ."""
    assert len(before) == len(after) and before
    return sum(a != b for a, b in zip(before, after)) / len(before)


class Types:
    """A model in three types; subclasses prepare `spec`, `careful` and `sources`, a line each."""

    form = []  # flags that say what lines are
    careful = None  # a spec with some layers of more bits, which changes few enough lines; none: int8 throughout does
    most_throughout = 0.02  # share of lines that int8 throughout may change

    @classmethod
    def setUpClass(cls):
        cls.prepare()
        cls.plain = compile_bundle(cls.spec, "--target", "host")
        cls.int8 = scratch("int8")
        cls.table = attnc("compile", cls.spec, "-o", cls.int8, "--dtype", "int8", "--target", ",".join(cls.targets("int8")))
        cls.bf16 = compile_bundle(cls.spec, "--dtype", "bf16", "--target", ",".join(cls.targets("bf16")))
        cls.said = cls.say(cls.plain)

    @classmethod
    def targets(cls, dtype):
        return variants(dtype)

    @classmethod
    def say(cls, bundle, *options, most=None):
        return attnc("run", bundle, *cls.form, *options, text="".join(cls.sources[:most])).splitlines()

    @classmethod
    def log_probabilities(cls, bundle, *options):
        """Of what float32 says, token by token."""
        pairs = "".join(f"{source.strip()}\t{said}\n" for source, said in list(zip(cls.sources, cls.said))[:300])
        lines = attnc("score", bundle, *cls.form, "--json", *options, text=pairs).splitlines()
        return [token["log_probability"] for line in lines for token in json.loads(line)["tokens"]]

    def check_log_probabilities(self, bundle, name):
        """They move by at most 2e-2 on average, in every variant."""
        plain = self.log_probabilities(self.plain)
        for variant in compiled(bundle):
            rounded = self.log_probabilities(bundle, "--variant", variant)
            self.assertEqual(len(plain), len(rounded))
            moved = sum(abs(a - b) for a, b in zip(plain, rounded)) / len(plain)
            print(f"{type(self).__name__}: {name} moves log-probabilities by {moved:.1e} on average ({variant})")
            self.assertLessEqual(moved, 2e-2, variant)

    def check_lines(self, bundle, name, most):
        said = self.say(bundle)
        print(f"{type(self).__name__}: {name} changes {changed(self.said, said):.2%} of {len(said)} lines")
        self.assertLessEqual(changed(self.said, said), most)

    def test_int8_throughout_changes_few_lines(self):
        self.check_lines(self.int8, "int8 throughout", self.most_throughout)

    def test_int8_changes_at_most_one_line_in_fifty_with_layers_of_more_bits_where_it_has_to(self):
        if not self.careful:
            self.skipTest("int8 throughout changes no more")
        self.check_lines(compile_bundle(self.careful, "--target", "host"), self.careful.name, 0.02)

    def test_every_variant_passes_the_self_check(self):
        for bundle in (self.int8, self.bf16):
            for variant in compiled(bundle):
                attnc("inspect", bundle, "--variant", variant, "--self-check")

    def test_int8_says_the_same_in_every_variant(self):
        answers = {v: self.say(self.int8, "--variant", v, most=200) for v in compiled(self.int8)}
        for variant, answer in answers.items():
            self.assertLessEqual(changed(answers["x86-64"], answer), 0.005, variant)

    def test_small_weights_move_log_probabilities_by_little(self):
        self.check_log_probabilities(self.int8, "int8")
        self.check_log_probabilities(self.bf16, "bf16")

    def test_answers_do_not_depend_on_batch_or_threads(self):
        for bundle in (self.int8, self.bf16):
            for variant in compiled(bundle):
                options = ["--scores", "--variant", variant, "--beam", 2]
                alone = self.say(bundle, *options, "--batch", 1, "--threads", 1, most=60)
                for batch, threads in ((7, 1), (32, 2)):
                    together = self.say(bundle, *options, "--batch", batch, "--threads", threads, most=60)
                    self.assertEqual(alone, together, f"{bundle.name}, {variant}, batch {batch}, threads {threads}")


class KoreanEnglish(Types, unittest.TestCase):
    @classmethod
    def prepare(cls):
        cls.spec = ROOT / "examples/korean-english/model.yaml"
        lines = (ROOT / "examples/korean-english/test.tsv").read_text().splitlines()
        cls.sources = [line.split("\t")[0] + "\n" for line in lines]

    def test_the_table_names_each_tensor(self):
        rows = [line.split() for line in self.table.splitlines()]
        self.assertEqual(["weight", "type", "error", "worst", "output"], rows[0])
        names = [row[0] for row in rows[1:]]
        self.assertEqual(len(set(names)), len(names))
        self.assertIn("decoder.layers.0.self_attn.q_proj.weight", names)
        for row in rows[1:]:
            self.assertEqual("int8", row[1])
            self.assertTrue(0 < float(row[2][:-1]) < float(row[3][:-1]) < 5, row)

    def test_inspect_shows_types_and_checks_the_bundle(self):
        self.assertRegex(attnc("inspect", self.int8), r"weights of int8: \d+ tensors, \d+ bytes")
        self.assertIn("golden cases repeated", attnc("inspect", self.int8, "--self-check"))

    def test_profiles_tell_what_the_variant_multiplies(self):
        described = {v["name"]: v for v in json.loads((self.bf16 / "manifest.json").read_text())["variants"]}
        for name in compiled(self.bf16):
            report = json.loads(attnc("bench", self.bf16, "--variant", name, "--batch", 2, "--source-length", 9, "--target-length", 3,
                                      "--seconds", 0, "--profile", "--json"))
            rounding = described[name].get("bf16_kernels", [])
            self.assertEqual(name in ("zen4", "zen5", "amx"), bool(rounding))
            for line in report["kernels"]:
                self.assertEqual("bf16" if line["kernel"] in rounding else "f32", line["products"], f"{name}: {line}")
                self.assertTrue(0 <= line["share_of_limit"] < float("inf"), f"{name}: {line}")

    def test_profiles_tell_where_weights_are_bytes(self):
        kernels = json.loads((self.int8 / "manifest.json").read_text())["int8_kernels"]
        self.assertTrue(any(name.startswith("linear_") for name in kernels), kernels)
        report = json.loads(attnc("bench", self.int8, "--batch", 2, "--source-length", 9, "--target-length", 3, "--seconds", 0, "--profile", "--json"))
        for line in report["kernels"]:
            self.assertEqual("int8" if line["kernel"] in kernels else "f32", line["products"], line)
        self.assertEqual({"int8", "f32"}, {line["products"] for line in report["kernels"]})

    def test_pack_quantises_again(self):
        bundle = scratch("packed")
        attnc("compile", self.spec, "-o", bundle, "--dtype", "int8", "--target", "host", "--weights", "random:1")
        table = attnc("pack", bundle, ROOT / "examples/korean-english/weights.safetensors")
        self.assertEqual(self.table, table)
        self.assertEqual(self.say(self.int8, most=40), self.say(bundle, most=40))

    def spec_with(self, name, types):
        spec = scratch(name + ".yaml")
        text = self.spec.read_text()
        for file in self.spec.parent.iterdir():
            text = text.replace(f": {file.name}", f": {file}")
        spec.write_text(f"{text}\ntypes:\n{types}")
        return spec

    def test_rounded_attention_takes_half_the_memory_and_changes_little(self):
        bundle = compile_bundle(self.spec_with("rounded", "  attention: bf16\n"), "--target", "host")
        fast = compile_bundle(self.spec_with("fast", "  default: int8\n  attention: bf16\n"), "--target", "host")
        exact = compile_bundle(self.spec_with("exact", "  default: int8\n  attention: f32\n"), "--target", "host")

        def state_bytes(of):
            return json.loads(attnc("bench", of, "--batch", 3, "--source-length", 16, "--target-length", 16,
                                    "--seconds", 0, "--json"))["state_bytes"]
        self.assertEqual(state_bytes(self.plain), 2 * state_bytes(bundle))
        self.assertEqual(state_bytes(exact), 2 * state_bytes(self.int8))
        for name, rounded, most in ("f32", bundle, 0.01), ("int8", fast, 0.02):
            said = self.say(rounded)
            print(f"{name} with attention in bf16 changes {changed(self.said, said):.2%} of {len(said)} lines")
            self.assertLessEqual(changed(self.said, said), most)

    def test_exceptions_stay_float32(self):
        spec = self.spec_with("mixed", "  default: int8\n  layers:\n    encoder.*: f32\n    '*embed*': bf16\n")
        bundle = scratch("mixed")
        rows = [line.split() for line in attnc("compile", spec, "-o", bundle, "--target", "host").splitlines()[1:]]
        self.assertFalse([row for row in rows if row[0].startswith("encoder.layers")])
        self.assertEqual({"int8", "bf16"}, {row[1] for row in rows})
        self.assertLessEqual(changed(self.said, self.say(bundle)), 0.02)


class Dates(unittest.TestCase):
    def test_what_a_recurrence_reads_stays_float32_and_is_told(self):
        bundle = scratch("dates")
        told = attnc("compile", ROOT / "examples/dates/model.yaml", "-o", bundle, "--dtype", "int8", "--target", "host")
        self.assertRegex(told, r"model.yaml:\d+:\d+: stays f32, for a recurrence reads it: ")
        pairs = [line.split("\t") for line in (ROOT / "examples/dates/test.tsv").read_text().splitlines()]
        said = attnc("run", bundle, text="".join(source + "\n" for source, _ in pairs)).splitlines()
        self.assertLessEqual(changed([target for _, target in pairs], said), 0.02)


class RealModel(Types):
    """Small models (width 32, and one layer): two outputs are often nearly as good, so that int8 throughout changes
    some lines; with decoders of bf16 it changes few enough. CTranslate2's int8 changes 4 of the 85 lines of one."""

    form = ["--ids"]
    most_throughout = 0.04

    @classmethod
    def targets(cls, dtype):
        """The first and this machine's best: KoreanEnglish looks at all."""
        return [variants(dtype)[0], variants(dtype)[-1]]

    @classmethod
    def prepare(cls):
        cls.sources = [ids(p["source_ids"]) + "\n" for p in reference(cls.model)["pairs"]]
        cls.spec = lay_out(SPECS / f"{cls.model}.yaml", cls.model)
        cls.careful = cls.spec.with_name("careful.yaml")
        cls.careful.write_text(cls.spec.read_text() + "\ntypes: {default: int8, layers: {decoder.*: bf16}}\n")


class ArenTransliteration(RealModel, unittest.TestCase):
    model = "aren-transliteration"


class MisakiBart(RealModel, unittest.TestCase):
    model = "misaki-bart-g2p-us"


if __name__ == "__main__":
    unittest.main()
