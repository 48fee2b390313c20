#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One Transformer-base with random weights, decoded by attnc and its peers, measured in one run.

    tests/bench/peers.py --attnc build/release/bin/attnc [--rows "1 1 1;8 1 1"] [--output docs]

The model is made by Hugging Face's transformers (a Marian network, fixed seed) and given to each as it likes it:
imported and compiled by attnc, converted for CTranslate2, run as it is by PyTorch. Sources are 32 random tokens, outputs
have exactly 32. First all must agree on the outputs; then blocks of requests are timed, the peers in turn, several rounds.
Packages come from PyPI into a virtual environment beside the model (--work); nothing else needs them. Writes
peers.json, and performance-peers.svg with --output.
"""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import time

PACKAGES = ["torch", "transformers", "ctranslate2", "numpy"]
VOCABULARY, LENGTH, SEED = 32000, 32, 1
END, PAD = 0, VOCABULARY - 1
BLOCK_SECONDS = 1.0
ROWS = "1 1 1;1 8 1;1 64 1;1 1 4;1 8 4;2 1 1;2 8 1;2 64 1;2 1 4;2 8 4"


def sources(batch):
    """Token ids, the same on each run; no special ones."""
    generator = random.Random(SEED)
    return [[generator.randrange(1, PAD - 1) for _ in range(LENGTH)] for _ in range(batch)]


# ---- The model, as each likes it -------------------------------------------------------------------------


def make_model(folder):
    import torch
    import transformers
    torch.manual_seed(SEED)
    config = transformers.MarianConfig(
        vocab_size=VOCABULARY, d_model=512, encoder_layers=6, decoder_layers=6, encoder_attention_heads=8,
        decoder_attention_heads=8, encoder_ffn_dim=2048, decoder_ffn_dim=2048, max_position_embeddings=512,
        activation_function="relu", scale_embedding=True, tie_word_embeddings=True, pad_token_id=PAD,
        eos_token_id=END, decoder_start_token_id=PAD, forced_eos_token_id=None, init_std=0.05)
    transformers.MarianMTModel(config).eval().save_pretrained(folder / "hf")


def convert_for_ctranslate2(folder):
    import transformers
    from ctranslate2.converters.transformers import MarianMTLoader
    spec = MarianMTLoader().get_model_spec(transformers.MarianMTModel.from_pretrained(folder / "hf"))
    tokens = ["</s>", *(f"t{i}" for i in range(1, PAD - 1)), "<unk>"]  # the start token has no embedding there
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    spec.config.bos_token, spec.config.eos_token, spec.config.unk_token = "<s>", "</s>", "<unk>"
    spec.config.decoder_start_token = "</s>"
    (folder / "ct2").mkdir(exist_ok=True)
    spec.validate()
    spec.optimize(quantization=None)
    spec.save(str(folder / "ct2"))


def compile_with_attnc(folder, attnc):
    subprocess.run([attnc, "import", folder / "hf", "-o", folder / "imported"], check=True)
    subprocess.run([attnc, "compile", folder / "imported" / "model.yaml", "--target", "host", "-o", folder / "bundle"],
                   check=True)


def prepare(folder, attnc, keep):
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "hf" / "config.json").exists():
        make_model(folder)
    if not (folder / "ct2" / "model.bin").exists():
        convert_for_ctranslate2(folder)
    if not (keep and (folder / "bundle").exists()):
        compile_with_attnc(folder, attnc)


# ---- Peers: decode(sources, beam) gives lists of ids --------------------------------------------------------


class CTranslate2:
    def __init__(self, folder, threads):
        import ctranslate2
        # The first translator of a process starts the threads, and is slower for it.
        for _ in range(2 if threads > 1 else 1):
            self.translator = ctranslate2.Translator(str(folder / "ct2"), device="cpu", compute_type="float32",
                                                     inter_threads=1, intra_threads=threads)

    def decode(self, lists, beam):
        tokens = [[f"t{i}" for i in ids] for ids in lists]
        results = self.translator.translate_batch(tokens, beam_size=beam, max_decoding_length=LENGTH,
                                                  min_decoding_length=LENGTH, max_batch_size=0)
        return [[int(token[1:]) if token[0] == "t" else -1 for token in r.hypotheses[0]] for r in results]


class PyTorch:
    def __init__(self, folder, threads):
        import torch
        import transformers
        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        self.torch = torch
        self.model = transformers.MarianMTModel.from_pretrained(folder / "hf").eval()

    def decode(self, lists, beam):
        ids = self.torch.tensor(lists)
        out = self.model.generate(input_ids=ids, attention_mask=self.torch.ones_like(ids), num_beams=beam,
                                  do_sample=False, min_new_tokens=LENGTH, max_new_tokens=LENGTH,
                                  suppress_tokens=[PAD], length_penalty=0.0)
        return out[:, 1:].tolist()


PEERS = {"CTranslate2": CTranslate2, "PyTorch": PyTorch}


def work(name, folder, threads):
    """A peer's process: reads "batch beam seconds" lines, answers with times in ms, or with outputs if seconds is 0."""
    peer = PEERS[name](folder, threads)
    print("ready", flush=True)
    for line in sys.stdin:
        batch, beam, seconds = line.split()
        lists, times = sources(int(batch)), []
        outputs = peer.decode(lists, int(beam))  # warms up
        end = time.perf_counter() + float(seconds)
        while float(seconds) > 0 and (len(times) < 3 or time.perf_counter() < end):
            start = time.perf_counter()
            peer.decode(lists, int(beam))
            times.append((time.perf_counter() - start) * 1000)
        print(json.dumps(times or outputs), flush=True)


# ---- Measuring ---------------------------------------------------------------------------------------------


class Worker:
    def __init__(self, name, folder, threads):
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads), HF_HUB_OFFLINE="1")
        if name == "CTranslate2":  # what suits it best here
            environment |= {"CT2_FORCE_CPU_ISA": "AVX512", "OMP_WAIT_POLICY": "ACTIVE" if threads > 1 else "PASSIVE"}
        self.process = subprocess.Popen([*pinned(threads), sys.executable, __file__, "--work", folder, "--peer", name,
                                         "--threads", str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, env=environment)
        self.read("starting")

    def read(self, what):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"a peer ended while {what}")
        return line

    def ask(self, batch, beam, seconds):
        """Other processes' threads may spin: only the one that is measured runs."""
        os.kill(self.process.pid, 18)  # SIGCONT
        self.process.stdin.write(f"{batch} {beam} {seconds}\n")
        self.process.stdin.flush()
        answer = json.loads(self.read("measuring"))
        os.kill(self.process.pid, 19)  # SIGSTOP
        return answer

    def end(self):
        self.process.kill()
        self.process.wait()


def pinned(threads):
    cores = sorted(os.sched_getaffinity(0))[-threads:]
    return ["taskset", "-c", ",".join(map(str, cores))]


class Attnc:
    def __init__(self, attnc, bundle, threads):
        self.attnc, self.bundle, self.threads = attnc, bundle, threads

    def ask(self, batch, beam, seconds):
        if seconds == 0:
            lines = "".join(" ".join(map(str, ids)) + "\n" for ids in sources(batch))
            command = [self.attnc, "run", self.bundle, "--ids", "--beam", str(beam), "--min-length", str(LENGTH),
                       "--max-length", str(LENGTH), "--length-penalty", "0", "--suppress-tokens", str(PAD)]
            done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
            return [list(map(int, line.split())) for line in done.stdout.splitlines()]
        command = [*pinned(self.threads), self.attnc, "bench", self.bundle, "--batch", str(batch), "--beam", str(beam),
                   "--source-length", str(LENGTH), "--target-length", str(LENGTH), "--threads", str(self.threads),
                   "--json"]
        report = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        return [report["ms_minimum"], report["ms_median"]]

    def end(self):
        pass


def agreement(mine, others):
    """The share of tokens, counted up to the first that differs."""
    equal = total = 0
    for a, b in zip(mine, others):
        total += LENGTH
        equal += next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), LENGTH)
    return equal / total


def median(values):
    return sorted(values)[len(values) // 2]


def measure_row(workers, batch, beam, count):
    rounds = {name: [] for name in workers}
    for _ in range(count):
        for name, worker in workers.items():
            times = worker.ask(batch, beam, BLOCK_SECONDS)
            rounds[name].append((min(times), median(times)))
    tokens = batch * LENGTH * 1000
    return {name: {"best": tokens / min(r[0] for r in all), "median": tokens / median([r[1] for r in all])}
            for name, all in rounds.items()}


def measure(folder, attnc, rows, count):
    results = []
    for threads in sorted({row[0] for row in rows}):
        workers = {"attnc": Attnc(attnc, folder / "bundle", threads)}
        workers |= {name: Worker(name, folder, threads) for name in PEERS}
        for _, batch, beam in (row for row in rows if row[0] == threads):
            mine = workers["attnc"].ask(batch, beam, 0)
            agree = {name: agreement(mine, workers[name].ask(batch, beam, 0)) for name in PEERS}
            row = {"threads": threads, "batch": batch, "beam": beam, "agreement": agree,
                   "tokens_per_second": measure_row(workers, batch, beam, count)}
            best = max(row["tokens_per_second"][name]["best"] for name in PEERS)
            row["ratio"] = row["tokens_per_second"]["attnc"]["best"] / best
            print(json.dumps(row), flush=True)
            results.append(row)
        for worker in workers.values():
            worker.end()
    return results


# ---- What is written ---------------------------------------------------------------------------------------


def draw(results, path):
    """Bars of attnc's speed as a multiple of the best peer's."""
    row, left, unit = 26, 250, 160
    width, height = left + int(unit * max(2.5, max(r["ratio"] for r in results))) + 120, 60 + row * len(results)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
             f'font-size="13">', '<rect width="100%" height="100%" fill="white"/>',
             '<text x="8" y="20">Transformer-base, float32, 32 to 32 tokens: tokens/s as a multiple of the best peer</text>']
    for i, r in enumerate(results):
        y = 40 + row * i
        speed = r["tokens_per_second"]["attnc"]["best"]
        search = "greedy" if r["beam"] == 1 else f"beam {r['beam']}"
        parts += [f'<text x="{left - 8}" y="{y + 14}" text-anchor="end">{r["threads"]} thread'
                  f'{"s" if r["threads"] > 1 else ""}, batch {r["batch"]}, {search}</text>',
                  f'<rect x="{left}" y="{y}" width="{unit * r["ratio"]:.0f}" height="18" fill="#08519c"/>',
                  f'<text x="{left + unit * r["ratio"] + 6:.0f}" y="{y + 14}">{r["ratio"]:.2f} ({speed:.0f}/s)</text>']
    parts += [f'<line x1="{left + unit}" y1="32" x2="{left + unit}" y2="{height - 8}" stroke="#b30000"/>', "</svg>"]
    path.write_text("\n".join(parts) + "\n")


def in_environment(folder, python):
    """Goes on in a Python that has the packages."""
    if python is None:
        python = folder / "venv" / "bin" / "python"
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
            subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    os.execv(python, [str(python), *sys.argv, "--in-environment"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attnc", help="the compiler to measure")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("build/peers"), help="folder for models")
    parser.add_argument("--rows", default=ROWS, help="'threads batch beam' of each row, separated by ';'")
    parser.add_argument("--rounds", type=int, default=3, help="blocks of at least a second per row and peer")
    parser.add_argument("--keep", action="store_true", help="measure the bundle that was compiled before")
    parser.add_argument("--output", type=pathlib.Path, help="folder for performance-peers.svg")
    parser.add_argument("--python", help="a Python that has the packages already")
    parser.add_argument("--in-environment", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        return work(options.peer, options.work, options.threads)
    if not options.attnc:
        parser.error("--attnc is needed")
    options.work.mkdir(parents=True, exist_ok=True)
    if not options.in_environment:
        in_environment(options.work, options.python)
    prepare(options.work, options.attnc, options.keep)
    results = measure(options.work, options.attnc, [tuple(map(int, row.split())) for row in options.rows.split(";")],
                      options.rounds)
    (options.work / "peers.json").write_text(json.dumps(results, indent=1) + "\n")
    if options.output:
        draw(results, options.output / "performance-peers.svg")


if __name__ == "__main__":
    main()
