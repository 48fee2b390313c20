#!/usr/bin/env python3
"""attnc run on the toy bundle against Hugging Face Transformers on the same probabilities.

A model of torch that gives the toy's probabilities is decoded by generate(): its beam search and its logits processors are
the other side. Skips where transformers, torch and xxhash cannot be imported; ATTNC_TRANSFORMERS_PYTHON names an
interpreter that has them."""

import itertools
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import torch
    import transformers
    import xxhash
except ImportError as error:
    other = os.environ.get("ATTNC_TRANSFORMERS_PYTHON")
    if other and other != sys.executable:
        os.execv(other, [other, *sys.argv])
    print(f"skipped: {error}")
    sys.exit(77)

ATTNC, LIBRARY, WRITER = (os.environ[name] for name in ("ATTNC", "TOY_LIBRARY", "WRITE_TOY_BUNDLE"))
VOCABULARY, PAD, START, END = 7, 0, 1, 2
SOURCES = [[3, 4, 2], [5], [9, 8, 7, 6, 5, 4, 3, 2], [10, 10], [6, 3, 2], [4, 4, 4, 4, 2]]
MAX_LENGTH = 12  # of the toy: the end token counted


def hash_ids(ids):
    return xxhash.xxh3_64_intdigest(b"".join(i.to_bytes(4, "little") for i in ids))


def logits_after(source, history):
    """As ToyBundle.cpp has them."""
    seed = hash_ids(source) ^ hash_ids(history)
    logits = [xxhash.xxh3_64_intdigest(v.to_bytes(4, "little"), seed) % 10007 / 10007 * 4 for v in range(VOCABULARY)]
    logits[PAD] = logits[START] = -20
    return logits


class Toy(transformers.PreTrainedModel, transformers.GenerationMixin):
    config_class = transformers.PretrainedConfig
    main_input_name = "input_ids"
    _is_stateful = False

    def __init__(self, source):
        config = transformers.PretrainedConfig(
            is_encoder_decoder=False, vocab_size=VOCABULARY, pad_token_id=PAD, bos_token_id=START, eos_token_id=END
        )
        super().__init__(config)
        self.anchor = torch.nn.Parameter(torch.zeros(1))
        self.source = source

    def prepare_inputs_for_generation(self, input_ids, **_):
        return {"input_ids": input_ids}

    def forward(self, input_ids, **_):
        logits = torch.full((*input_ids.shape, VOCABULARY), 0.0)
        for row, ids in enumerate(input_ids.tolist()):
            logits[row, -1] = torch.tensor(logits_after(self.source, ids))
        return transformers.modeling_outputs.CausalLMOutput(logits=logits)


def generate(source, beams, best, **options):
    """Ids with the end token, and scores where a beam is searched."""
    model = Toy(source).eval()
    with torch.no_grad():
        found = model.generate(
            torch.tensor([[START]]),
            num_beams=beams,
            num_return_sequences=best,
            max_length=MAX_LENGTH + 1,
            do_sample=False,
            use_cache=False,
            return_dict_in_generate=True,
            output_scores=True,
            **options,
        )
    lists = []
    for ids in found.sequences.tolist():
        ids = ids[1:]
        lists.append(ids[: ids.index(END) + 1] if END in ids else ids[:MAX_LENGTH])
    scores = found.sequences_scores.tolist() if beams > 1 else [None] * best
    return list(zip(lists, scores))


class Transformers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="attnc-transformers-")
        cls.bundle = pathlib.Path(cls.scratch.name) / "toy"
        subprocess.run([WRITER, LIBRARY, cls.bundle], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def run_attnc(self, beams, best, *flags):
        import json

        arguments = ["--ids", "--json", "--beam", beams, "--n-best", best, "--max-length", MAX_LENGTH, *flags]
        text = "".join(" ".join(map(str, s)) + "\n" for s in SOURCES)
        done = subprocess.run(
            [ATTNC, "run", self.bundle, *map(str, arguments)], input=text, capture_output=True, text=True, timeout=120
        )
        self.assertEqual(0, done.returncode, done.stderr)
        for line in done.stdout.splitlines():
            yield [(o["ids"] + [END] * o["ended"], o["score"]) for o in json.loads(line)["outputs"]]

    def compare(self, flags, options, beams, best):
        for source, got in zip(SOURCES, self.run_attnc(beams, best, *flags)):
            wanted = generate(source, beams, best, **options)
            with self.subTest(flags=flags, source=source, beams=beams):
                self.assertEqual([ids for ids, _ in wanted], [ids for ids, _ in got])
                for (_, score), (_, ours) in zip(wanted, got):
                    if score is not None:
                        self.assertAlmostEqual(score, ours, delta=2e-5)  # sums of 12 floats there, of doubles here

    def test_early_stopping_and_length_penalties(self):
        for (flag, value), penalty, beams in itertools.product(
            (("true", True), ("false", False), ("never", "never")), (0.0, 0.6, 1.0, 2.0, -0.5), (2, 3, 5)
        ):
            flags = ["--early-stopping", flag, f"--length-penalty={penalty}"]
            for best in {1, beams}:
                self.compare(flags, {"early_stopping": value, "length_penalty": penalty}, beams, best)

    def test_greedy_search(self):
        self.compare([], {}, 1, 1)

    def test_rules_for_tokens(self):
        for flags, options in (
            (["--repetition-penalty", 1.3], {"repetition_penalty": 1.3}),
            (["--repetition-penalty", 0.7], {"repetition_penalty": 0.7}),
            (["--no-repeat-ngram-size", 2], {"no_repeat_ngram_size": 2}),
            (["--no-repeat-ngram-size", 3], {"no_repeat_ngram_size": 3}),
            (["--suppress-tokens", "3,4"], {"suppress_tokens": [3, 4]}),
            (["--begin-suppress-tokens", "3,5,2"], {"begin_suppress_tokens": [3, 5, 2]}),
            (
                ["--begin-suppress-tokens", "3,5,2", "--forced-bos-token-id", 4],
                {"begin_suppress_tokens": [3, 5, 2], "forced_bos_token_id": 4},
            ),
            (["--bad-words-ids", "5 3", "--bad-words-ids", "4"], {"bad_words_ids": [[5, 3], [4]]}),
            (["--bad-words-ids", "3 3 6", "--bad-words-ids", "6 2"], {"bad_words_ids": [[3, 3, 6], [6, 2]]}),
            (["--forced-eos-token-id", 2, "--min-length", 9], {"forced_eos_token_id": 2, "min_new_tokens": 9}),
            (["--min-length", 4], {"min_new_tokens": 4}),
            (["--min-length", 4], {"min_length": 5}),
            (
                ["--renormalize-logits", "--suppress-tokens", "4", "--repetition-penalty", 1.5, "--no-repeat-ngram-size", 3],
                {"renormalize_logits": True, "suppress_tokens": [4], "repetition_penalty": 1.5, "no_repeat_ngram_size": 3},
            ),
        ):
            for stopping in ("true", "false"):
                more = ["--early-stopping", stopping, *flags]
                self.compare(more, {"early_stopping": stopping == "true", **options}, 3, 3)
            self.compare(flags, options, 1, 1)


if __name__ == "__main__":
    unittest.main()
