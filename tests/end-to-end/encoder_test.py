#!/usr/bin/env python3
"""An encoder that stands alone: vectors and masked tokens of its bundle, compared with network.py."""

import json
import math
import unittest

from bundles import SPECS, attnc, compile_bundle, ids, scratch, seal, variants
from network import ACTIVATIONS, Network, make_weights

SENTENCES = [[1, 5, 6, 2], [1, 2], [1] + list(range(4, 40)) + [2], [7], [1, 3, 9, 3, 11, 2]]
# Weights of size 0.4 and rows of size 1: a float's half unit (6e-8) in each of some 40 terms of some 20 sums
# in a row stays below 1e-4 with room to spare.
TOLERANCE = 1e-4


def lines(sentences):
    return "".join(ids(s) + "\n" for s in sentences)


class EncoderTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        spec = SPECS / "encoder.yaml"
        weights = scratch("encoder.safetensors")
        values = make_weights(spec, weights, seed=3)
        cls.bundle = compile_bundle(spec, "--weights", weights)
        cls.network = Network(values, "encoder", heads=5, layers=2, activation="gelu", epsilon=1e-12,
                              embedding_norm=True)

    def run_json(self, sentences, *options):
        return [json.loads(text) for text in
                attnc("run", self.bundle, "--ids", "--json", *options, text=lines(sentences)).splitlines()]

    def test_bench_times_the_encoder(self):
        options = ["--batch", 3, "--source-length", 7, "--seconds", 0.01, "--profile", "--json"]
        report = json.loads(attnc("bench", self.bundle, *options))
        self.assertEqual((3, 7), (report["batch"], report["source_length"]))
        self.assertNotIn("target_length", report)
        self.assertAlmostEqual(21 / report["ms_median"] * 1000, report["tokens_per_second"], places=3)
        self.assertEqual({"encode"}, {line["entry"] for line in report["kernels"]})

    def assert_rows(self, wanted, got):
        self.assertEqual(len(wanted), len(got))
        for a, b in zip(wanted, got):
            self.assertEqual(len(a), len(b))
            for x, y in zip(a, b):
                self.assertAlmostEqual(x, y, delta=TOLERANCE)

    def test_hidden_states_are_the_reference_in_every_variant(self):
        wanted = [self.network.run(s) for s in SENTENCES]
        for variant in variants():
            with self.subTest(variant):
                answers = self.run_json(SENTENCES, "--vectors", "tokens", "--variant", variant)
                for rows, answer in zip(wanted, answers):
                    self.assert_rows(rows, answer["vectors"])

    def assert_long_rows(self, places, heads, layers, *changes):
        """The spec with `changes` has these places for rows of 4 KiB; what they hold is the reference's."""
        text = (SPECS / "encoder.yaml").read_text()
        for old, new in (("heads: 5", f"heads: {heads}"), ("layers: 2", f"layers: {layers}"), *changes):
            text = text.replace(old, new)
        spec, weights = scratch("long.yaml"), scratch("long.safetensors")
        spec.write_text(text)
        values = make_weights(spec, weights, seed=4)
        planned = attnc("compile", spec, "--emit", "planned", "--weights", weights)
        for place in places:
            self.assertRegex(planned, place)
        network = Network(values, "encoder", heads=heads, layers=layers, activation="gelu", epsilon=1e-12, embedding_norm=True)
        bundle = compile_bundle(spec, "--weights", weights)
        sentences = [SENTENCES[0], SENTENCES[1]]
        answers = attnc("run", bundle, "--ids", "--json", "--vectors", "tokens", text=lines(sentences)).splitlines()
        for sentence, answer in zip(sentences, answers, strict=True):
            self.assert_rows(network.run(sentence), json.loads(answer)["vectors"])

    def test_long_rows_of_a_feed_forward_lie_apart(self):
        self.assert_long_rows(["place<arena rows 1040, <[^>]*>>"], 5, 2, ("width: 36", "width: 1024"))

    def test_long_rows_of_projections_and_merged_heads_lie_apart(self):
        self.assert_long_rows(["place<arena rows 3088, ", r"place<arena rows 1040, <[^>]*>, \[0, 2, 1, 3\]>"], 16, 1,
                              ("  width: 20", "  width: 1024"), ("width: 36", "width: 64"))

    def test_types_of_a_second_sentence_count(self):
        first, second = [1, 5, 6, 2], [8, 9, 2]
        text = ids(first) + "\t" + ids(second) + "\n"
        answer = json.loads(attnc("run", self.bundle, "--ids", "--json", "--vectors", "tokens", text=text))
        self.assertEqual(first + second, answer["ids"])
        self.assert_rows(self.network.run(first + second, [0] * 4 + [1] * 3), answer["vectors"])

    def test_mean_first_and_pooled_follow_from_the_rows(self):
        rows = self.network.run(SENTENCES[0])
        mean = [math.fsum(column) / len(rows) for column in zip(*rows)]
        pooled = [ACTIVATIONS["tanh"](x) for x in self.network.linear(rows[:1], "encoder.pooler")[0]]
        for kind, vector in ("mean", mean), ("first", rows[0]), ("pooled", pooled):
            with self.subTest(kind):
                self.assert_rows([vector], [self.run_json(SENTENCES[:1], "--vectors", kind)[0]["vector"]])

    def test_masks_are_filled_with_the_most_probable_tokens(self):
        sentence = SENTENCES[4]
        answer, = self.run_json([sentence], "--fill-mask", "--n-best", 45)
        rows = self.network.linear(self.network.run(sentence), "encoder.head.fc")
        rows = self.network.norm([[ACTIVATIONS["gelu"](x) for x in row] for row in rows], "encoder.head.norm")
        wanted = self.network.log_probabilities(rows, "decoder.out_proj.bias")
        for number, position in enumerate([1, 3]):
            got = {output["masks"][number]["id"]: output["masks"][number] for output in answer["outputs"]}
            self.assertEqual(set(range(45)), set(got))
            for token, probability in enumerate(wanted[position]):
                self.assertEqual(position, got[token]["position"])
                self.assertAlmostEqual(probability, got[token]["log_probability"], delta=TOLERANCE)
            best = answer["outputs"][0]["masks"][number]
            self.assertAlmostEqual(max(wanted[position]), best["log_probability"], delta=TOLERANCE)
        filled = attnc("run", self.bundle, "--ids", "--fill-mask", text=lines([sentence, [4, 3]])).splitlines()
        self.assertEqual(answer["outputs"][0]["text"], filled[0])

    def test_a_sentence_has_the_same_bits_in_any_batch(self):
        text = lines(SENTENCES * 12)
        for options in ["--vectors", "tokens"], ["--vectors", "pooled"]:
            alone = attnc("run", self.bundle, "--ids", "--batch", 1, *options, text=text)
            self.assertEqual(alone, attnc("run", self.bundle, "--ids", "--batch", 7, *options, text=text))
            # More tokens than are encoded together.
            self.assertEqual(alone, attnc("run", self.bundle, "--ids", "--batch", 84, *options, text=text))
            self.assertEqual(alone, attnc("run", self.bundle, "--ids", "--threads", 3, *options, text=text))
        text = lines(SENTENCES * 80)  # enough for each thread to encode some by itself
        for options in ["--vectors", "tokens"], ["--vectors", "pooled"]:
            alone = attnc("run", self.bundle, "--ids", "--threads", 1, "--batch", 1, *options, text=text)
            for threads in 2, 3:
                self.assertEqual(alone, attnc("run", self.bundle, "--ids", "--threads", threads, "--batch", 560, *options,
                                              text=text))

    def test_the_golden_vectors_are_checked(self):
        self.assertIn("3 golden cases", attnc("inspect", self.bundle, "--self-check"))
        manifest = json.loads((self.bundle / "manifest.json").read_text())
        original = (self.bundle / "manifest.json").read_text()
        manifest["golden"]["cases"][1]["hidden"][2] += 0.5
        (self.bundle / "manifest.json").write_text(seal(manifest))
        try:
            done = attnc("inspect", self.bundle, "--self-check", check=False)
        finally:
            (self.bundle / "manifest.json").write_text(original)
        self.assertEqual(1, done.returncode)
        self.assertIn("golden case 1: element 2", done.stderr)

    def test_text_gets_start_and_end_tokens_and_loses_them_again(self):
        words = scratch("words.txt")
        words.write_text("".join(f"w{i}\n" for i in range(45)))
        spec = (SPECS / "encoder.yaml").read_text().replace(
            "model:\n", f"model:\n  tokenizer: {{kind: vocabulary, file: {words}}}\n", 1)
        given = "tokens: {source_start: 1, source_end: 2, mask: 3}"
        self.assertIn(given, spec)
        for number, (tokens, start, end) in enumerate([
                (given, [1], [2]),
                ("tokens: {mask: 3}", [], []),
                ("tokens: {source_start: [1, 4], source_end: [5, 2], mask: 3}", [1, 4], [5, 2])]):
            with self.subTest(tokens):
                path = scratch(f"text-{number}.yaml")
                path.write_text(spec.replace(given, tokens))
                bundle = compile_bundle(path, "--weights", "random:1", "--target", "x86-64")

                def run(text, *options):
                    return attnc("run", bundle, *options, text=text + "\n").splitlines()

                def numbers(*parts):
                    return "\t".join(ids(part) for part in parts)

                inputs = numbers(start + [7, 3, 9] + end, [8, 3] + end)
                for options in ["--vectors", "tokens"], ["--vectors", "mean"]:
                    self.assertEqual(run(inputs, "--ids", *options), run("w7 w3 w9\tw8 w3", *options))
                filled, = run(inputs, "--ids", "--fill-mask")
                best = [[int(i) for i in part.split()] for part in filled.split("\t")]
                best = best[0][len(start):len(best[0]) - len(end)], best[1][:len(best[1]) - len(end)]
                wanted = "\t".join(" ".join(f"w{i}" for i in part) for part in best)
                self.assertEqual([wanted], run("w7 w3 w9\tw8 w3", "--fill-mask"))

    def test_mistakes_are_told(self):
        for text, options, message in [
                ("5 6\n", ["--beam", 4], "--beam has no meaning for 'encoder', an encoder that does not decode"),
                ("5 6\n", ["--scores"], "--scores has no meaning for an encoder without --fill-mask"),
                ("5 6\n", ["--fill-mask"], "line 1: has no mask token (3)"),
                ("5\n5 45\n", ["--batch", 1], "line 2: token 1 is 45, but the vocabulary's ids are 0 to 44"),
                (lines([range(41)]), [], "line 1: has 41 tokens, the model takes at most 40"),
        ]:
            with self.subTest(message):
                done = attnc("run", self.bundle, "--ids", *options, text=text, check=False)
                self.assertEqual(2 if "no meaning" in message else 1, done.returncode)
                self.assertIn(message, done.stderr)
        done = attnc("score", self.bundle, "--ids", text="5\t6\n", check=False)
        self.assertEqual(2, done.returncode)
        self.assertIn("'encoder' is an encoder that does not decode", done.stderr)

    def test_what_the_model_lacks_is_refused(self):
        spec = scratch("plain.yaml")
        text = (SPECS / "encoder.yaml").read_text().replace("layers: 2, token_types: 2, pooler: true, masked_token_head: gelu", "layers: 1")
        spec.write_text(text.replace("name: encoder", "name: plain").replace(", mask: 3", ""))
        plain = compile_bundle(spec, "--target", "host", "--weights", "random:1")
        for bundle, options, message in (
                (plain, ["--vectors", "pooled"], "--vectors: 'plain' has no pooler"),
                (plain, ["--fill-mask"], "--fill-mask: 'plain' names no mask token"),
                (self.bundle, ["--fill-mask", "--n-best", 46], "--n-best: 'encoder' has 45 words")):
            done = attnc("run", bundle, "--ids", *options, text="5 6\n", check=False)
            self.assertEqual((2, ""), (done.returncode, done.stdout))
            self.assertIn(message, done.stderr)

    def test_lines_beside_one_with_a_mistake_are_not_lost(self):
        good = ["5 3 6", "3 7"]
        mistakes = {"5 3 x": "'x' is not a token id", "5 3 45": "token 2 is 45", "5 3 -1": "token 2 is -1",
                    ids([3] * 41): "has 41 tokens", ids([3] * 30) + "\t" + ids([3] * 30): "has 60 tokens",
                    "5 3\t45": "token 2 is 45"}
        for options in [], ["--vectors", "pooled"], ["--fill-mask"], ["--fill-mask", "--json"]:
            bad = dict(mistakes, **({"5 6": "has no mask token (3)"} if "--fill-mask" in options else {}))
            wanted = attnc("run", self.bundle, "--ids", *options, text="\n".join(good)).splitlines()
            for line, message in bad.items():
                with self.subTest(line, options=options):
                    done = attnc("run", self.bundle, "--ids", *options, text="\n".join([good[0], line, good[1]]),
                                 check=False)
                    self.assertEqual((1, wanted[:1]), (done.returncode, done.stdout.splitlines()))
                    self.assertTrue(done.stderr.startswith(f"attnc: error: line 2: {message}"), done.stderr)
            done = attnc("run", self.bundle, "--ids", "--skip-bad-lines", *options,
                         text="\n".join([good[0], *bad, good[1]]), check=False)
            self.assertEqual(1, done.returncode)
            got = done.stdout.splitlines()
            if "--json" in options:
                got, last = got[:-1], json.loads(got[-1])
                self.assertEqual(dict(json.loads(wanted[1]), line=len(bad) + 2), last)
                self.assertEqual([wanted[0]] + [json.dumps({"line": n, "outputs": []}, separators=(",", ":"))
                                                for n in range(2, len(bad) + 2)], got)
            else:
                self.assertEqual([wanted[0], *[""] * len(bad), wanted[1]], got)
            for number, (message, told) in enumerate(zip(bad.values(), done.stderr.splitlines(), strict=True), 2):
                self.assertTrue(told.startswith(f"attnc: error: line {number}: {message}"), told)

    def test_empty_lines_stay_lines(self):
        self.assertEqual(["", "", ""], attnc("run", self.bundle, text="\n\n\n").splitlines())


if __name__ == "__main__":
    unittest.main()
