#!/usr/bin/env python3
"""What attnc compile, pack and explain write, and what they leave behind when they fail.

usage: ATTNC=build/bin/attnc CC=cc bundle_test.py
"""
import collections
import json
import os
import pathlib
import re
import resource
import select
import shlex
import signal
import struct
import subprocess
import tempfile
import time
import unittest

ATTNC = os.environ["ATTNC"]
CC = shlex.split(os.environ.get("CC", "cc"))
SANITIZER = os.environ.get("SANITIZER", "")
UNCACHED = {**os.environ, "ATTNC_CACHE": ""}  # where the compilation of kernels is what a test is about
HERE = pathlib.Path(__file__).resolve().parent
GRAPH = HERE / "attend.yaml"
MODEL = HERE / "tiny.yaml"
KOREAN_ENGLISH = HERE.parents[1] / "examples/korean-english/model.yaml"


def attnc(*arguments, **options):
    return subprocess.run([ATTNC, *map(str, arguments)], capture_output=True, text=True, timeout=1800, **options)


def limit_files(size):
    """Makes every write past `size` bytes of a file fail, as on a full disk."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


def read_folder(folder):
    return {p.name: p.read_bytes() for p in pathlib.Path(folder).iterdir()}


def write_weights(path, seed):
    """A safetensors file with the matrices of attend.yaml; numbers differ with the seed."""
    tensors = {name: [((i * 7 + seed * 13 + n) % 19 - 9) / 8 for i in range(3 * 4)]
               for n, name in enumerate(("query_weight", "key_weight", "value_weight"))}
    header, data = {}, b""
    for name, values in tensors.items():
        packed = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": [3, 4], "data_offsets": [len(data), len(data) + len(packed)]}
        data += packed
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


class BundleTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="attnc-driver-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.weights = write_weights(self.folder / "one.safetensors", 1)

    def compile(self, bundle, *options, spec=GRAPH, weights=None, **rest):
        return attnc("compile", spec, "-o", self.folder / bundle, "--weights", weights or self.weights, *options, **rest)

    def compile_ok(self, bundle, *options, **rest):
        done = self.compile(bundle, *options, **rest)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.folder / bundle

    def refuse(self, code, message, *arguments):
        done = attnc(*arguments)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        self.assertIn(message, done.stderr)

    def named(self, name):
        """The graph as a spec that calls its bundle `name`."""
        spec = self.folder / "named.yaml"
        spec.write_text(GRAPH.read_text().replace("name: attend_by_hand", f"name: {name}"))
        return spec

    def left_behind(self):
        return sorted(p.name for p in self.folder.iterdir() if not p.name.endswith(".safetensors"))

    def build_program(self, source, *bundles):
        """Builds a C program against bundles, with all warnings as errors; returns its path."""
        program = self.folder / "program"
        subprocess.run([*CC, "-std=c11", "-Wall", "-Wextra", "-Werror", HERE / source, "-o", program,
                        *(f"-I{b}" for b in bundles), *(next(b.glob("*.a")) for b in bundles), "-lm"], check=True)
        return program

    def run_program(self, source, *bundles):
        program = self.build_program(source, *bundles)
        return subprocess.run([program, *(b / "weights.safetensors" for b in bundles)], capture_output=True, text=True)


class Compile(BundleTest):
    def test_the_typed_header_runs_a_graph_from_c(self):
        bundle = self.compile_ok("attend")
        done = self.run_program("attend.c", bundle)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_models_of_one_position_are_checked_with_what_fits(self):
        decoder = ("name: one\nmodel:\n  kind: decoder\n  width: 16\n  heads: 2\n  decoder: {layers: 1}\n  feed_forward: {width: 24}\n"
                   "  vocabulary: {target: 37}\n  tokens: {start: 1, end: 2}\n  positions: {kind: learned, max_length: 1}\n")
        both = MODEL.read_text().replace("max_length: 32", "max_length: 1").replace("  decoding: {max_length: 16}\n", "")
        for name, text in (("decoder", decoder), ("both", both)):
            spec = self.folder / f"{name}.yaml"
            spec.write_text(text)
            bundle = self.compile_ok(name, "--target", "x86-64", spec=spec, weights="random:1")
            cases = json.loads((bundle / "manifest.json").read_text())["golden"]["cases"]
            self.assertEqual([([], 1)] * 3, [(case["target"], len(case["log_probabilities"])) for case in cases])
            for done in (attnc("inspect", bundle, "--self-check"), attnc("run", bundle, "--ids", input="7\n")):
                self.assertEqual(0, done.returncode, done.stderr)

    def test_a_damaged_library_is_found_before_it_runs(self):
        bundle = self.compile_ok("damaged", "--target", "x86-64")
        library = next(bundle.glob("lib*.so"))
        code = bytearray(library.read_bytes())
        code[len(code) // 2] ^= 0x40
        library.write_bytes(code)
        done = attnc("inspect", bundle, "--self-check")
        self.assertEqual((1, f"attnc: error: {library}: does not match its hash\n"), (done.returncode, done.stderr))

    def test_a_bundle_for_other_machines_is_shown(self):
        nowhere = "x86-64-linux-avx2-avx512_skylake-avx512_sapphirerapids-tune_znver4" # Intel's and AMD's alone
        bundle = self.compile_ok("foreign", "--target", nowhere)
        shown = attnc("inspect", bundle)
        self.assertEqual((0, ""), (shown.returncode, shown.stderr))
        self.assertIn("\nvariant avx2-avx512_sapphirerapids", shown.stdout)
        self.assertNotIn("used on this machine", shown.stdout)
        self.assertRegex(shown.stdout, r"\nthis machine cannot run the bundle: avx2-\S+ needs \w+.*\n$")
        variant = "avx2-avx512_sapphirerapids-avx512_skylake-tune_znver4"
        for flags in (["--self-check"], ["--variant", variant]):
            self.refuse(1, "this machine cannot run the bundle", "inspect", bundle, *flags)

    def test_weights_that_are_no_numbers_are_told_by_every_command(self):
        encoder = self.folder / "encoder.yaml"
        encoder.write_text("name: encoder\nmodel: {kind: encoder, width: 16, heads: 2, encoder: {layers: 1}, feed_forward: {width: 24},"
                           " vocabulary: {source: 19}, tokens: {pad: 0}}\n")
        models = {spec: self.compile_ok(spec.stem, "--target", "x86-64", spec=spec, weights="random:1") for spec in (MODEL, encoder)}
        for bundle in models.values():
            path = bundle / "weights.safetensors"
            content = path.read_bytes()
            data = 8 + struct.unpack("<Q", content[:8])[0]
            count = (len(content) - data) // 4
            path.write_bytes(content[:data] + struct.pack("<f", float("nan")) * count)
        decoder = models[MODEL]
        for line, arguments in (("3\n", ("run", decoder)), ("3\n", ("run", decoder, "--prefix", "5", "--max-length", "1")),
                                ("3\t5\n", ("score", decoder)), ("3\n", ("run", models[encoder]))):
            done = attnc(*arguments, input=line)
            self.assertEqual((1, ""), (done.returncode, done.stdout), done.stderr)
            self.assertRegex(done.stderr, r"the model computed no (probabilities|hidden states).*: are its weights damaged\?")

    def test_many_operations_in_a_folder_of_a_long_name_are_compiled(self):
        spec = self.folder / "chain.yaml"
        ops = "".join(f"    v{i}: {{add: [v{i - 1}, x]}}\n" for i in range(1, 101))
        spec.write_text(f"graph:\n  inputs: {{v0: {{shape: [batch, width: 8]}}, x: {{shape: [batch, width: 8]}}}}\n  ops:\n{ops}"
                        "  outputs: v100\n")
        bundle = self.compile_ok("long" * 50, "--target", "x86-64", spec=spec)
        self.assertIn("long" * 16 + ".h", os.listdir(bundle))
        done = attnc("bench", bundle, "--sizes", "batch=3", "--seconds", "0.01")
        self.assertEqual(0, done.returncode, done.stderr)

    def test_each_variant_tells_which_kernels_add_up_products_of_bfloat16(self):
        spec = self.folder / "rounded.yaml"
        graph = ("  - name: {n}\n    inputs: {{q: {{shape: [batch, head: 2, query, width: {w}]}}, k: {{shape: [batch, head: 2, key, width: {w}]}}}}\n"
                 "    ops: {{p: {{matmul: [q, k], transposed: true}}, s: {{softmax: p}}, c: {{matmul: [s, k]}}}}\n    outputs: c\n")
        spec.write_text("name: rounded\ntypes: {default: bf16}\ngraph:\n" + graph.format(n="narrow", w=64) + graph.format(n="wide", w=160))
        bundle = self.compile_ok("rounded", "--target", "avx512,zen4,zen5,amx", spec=spec)
        manifest = json.loads((bundle / "manifest.json").read_text())
        self.assertEqual(["attention_2x64_bf16", "attention_2x160_bf16"], manifest["kernels"])
        self.assertEqual({"avx512": None, **dict.fromkeys(["zen4", "zen5", "amx"], ["attention_2x64_bf16"])},
                         {variant["name"]: variant.get("bf16_kernels") for variant in manifest["variants"]})

    def test_a_folder_called_like_the_runtime_gives_another_name(self):
        text = GRAPH.read_text().replace("name: attend_by_hand\n", "")
        (self.folder / "nameless.yaml").write_text(text)
        bundle = self.compile_ok("attnrt", "--target", "x86-64", spec=self.folder / "nameless.yaml")
        self.assertIn("model_attnrt.h", os.listdir(bundle))

    def test_two_bundles_link_into_one_program(self):
        first = self.compile_ok("attend")
        second = self.compile_ok("other", spec=self.named("other"))
        done = self.run_program("two_bundles.c", first, second)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_same_input_gives_the_same_bytes(self):
        self.assertEqual(*(read_folder(self.compile_ok(name, env=UNCACHED)) for name in ("one", "two")))

    def test_a_model_gives_the_same_bytes(self):
        for name in ("one", "two"):
            self.compile_ok(name, "--target", "x86-64", spec=MODEL, weights="random:5", env=UNCACHED)
        self.assertEqual(read_folder(self.folder / "one"), read_folder(self.folder / "two"))

    def test_other_seeds_give_other_weights(self):
        for seed in (5, 6):
            self.compile_ok(f"seed{seed}", "--target", "x86-64", spec=MODEL, weights=f"random:{seed}")
        one, two = (read_folder(self.folder / f"seed{seed}") for seed in (5, 6))
        self.assertNotEqual(one["weights.safetensors"], two["weights.safetensors"])
        self.assertEqual(one["libtiny.so"], two["libtiny.so"])

    def test_code_of_a_spec_that_differs_in_a_number_alone_is_refused(self):
        spec = self.folder / "other.yaml"
        spec.write_text(GRAPH.read_text().replace("by: 0.5", "by: 0.25"))
        one, other = self.compile_ok("one", "--target", "x86-64"), self.compile_ok("other", "--target", "x86-64", spec=spec)
        (one / "libattend_by_hand.so").write_bytes((other / "libattend_by_hand.so").read_bytes())
        done = attnc("bench", one, "--sizes", "batch=1,query=1", "--seconds", "0.01")
        self.assertEqual(1, done.returncode)
        self.assertIn("manifest.json does not belong to the bundle's code", done.stderr)

    def test_names_of_folders_may_have_signs_that_mean_something(self):
        folder = self.folder / "50% of it" / 'a "quoted", $HOME; name'
        folder.mkdir(parents=True)
        self.compile_ok(folder / "attend", "--target", "x86-64")
        self.assertEqual(["attend"], os.listdir(folder))
        done = self.compile(folder / "other", "--target", "x86-64,avx2", spec=MODEL, weights="random:1",
                            preexec_fn=limit_files(230000)) # more than what all bundles may link, less than what this one does
        self.assertEqual(1, done.returncode)
        self.assertRegex(done.stderr, rf"the linker failed: ld.lld[-0-9]*: error: .*{re.escape(str(folder))}/other\.partial-")
        self.assertNotIn("/proc/", done.stderr)
        self.assertEqual(["attend"], os.listdir(folder))

    def test_a_full_disk_is_an_error_and_leaves_nothing(self):
        sizes = (100, 1000, 1700, 4000, 16000)
        for size in sizes if SANITIZER == "tsan" else (0, *sizes):  # that sanitizer itself writes before main()
            done = self.compile("attend", "--target", "x86-64", preexec_fn=limit_files(size), env=UNCACHED)
            self.assertEqual(done.returncode, 1, f"{size} bytes: {done.stderr}")
            self.assertIn("error", done.stderr)
            self.assertEqual(self.left_behind(), [], f"{size} bytes")

    def test_a_bundle_survives_a_failed_compilation(self):
        before = read_folder(self.compile_ok("attend", "--target", "x86-64"))
        self.assertEqual(self.compile("attend", "--target", "x86-64", preexec_fn=limit_files(4000), env=UNCACHED).returncode, 1)
        self.assertEqual(read_folder(self.folder / "attend"), before)
        self.assertEqual(self.left_behind(), ["attend"])

    def test_a_bundle_is_replaced_whole(self):
        bundle = self.compile_ok("attend", "--target", "x86-64", spec=KOREAN_ENGLISH, weights="random:1")
        self.assertIn("tokenizer.model", os.listdir(bundle))
        self.compile_ok("attend", "--target", "avx2", spec=self.named("other"))
        self.assertEqual(sorted(os.listdir(bundle)), ["libother.a", "libother.so", "manifest.json", "other.h", "weights.safetensors"])
        self.assertEqual(json.loads((bundle / "manifest.json").read_text())["variants"][0]["name"], "avx2")
        self.assertEqual(self.left_behind(), ["attend", "named.yaml"])

    def test_files_of_others_in_a_bundle_are_not_lost(self):
        bundle = self.compile_ok("attend", "--target", "x86-64")
        (bundle / "notes").mkdir()
        (bundle / "notes" / "today").write_text("slow")
        before = sorted(os.listdir(bundle))
        done = self.compile("attend", "--target", "x86-64")
        self.assertEqual(1, done.returncode)
        self.assertIn("attend holds 'notes', which is not a file of the bundle there and would be lost", done.stderr)
        (bundle / "manifest.json").write_text('{"name": "a page", "icons": []}')
        self.assertIn("attend holds 'attend_by_hand.h'", self.compile("attend", "--target", "x86-64").stderr)
        self.assertEqual(before, sorted(os.listdir(bundle)))
        self.assertEqual(["attend"], self.left_behind())

    def test_files_that_come_while_a_bundle_is_compiled_are_not_lost(self):
        bundle = self.compile_ok("attend", "--target", "x86-64")
        before = read_folder(bundle)
        running = subprocess.Popen([ATTNC, "compile", GRAPH, "-o", bundle, "--weights", self.weights, "--target", "avx2"],
                                   stderr=subprocess.PIPE, text=True, env=UNCACHED)
        while running.poll() is None and not list(self.folder.glob("attend.partial-*/weights.safetensors")):
            time.sleep(0.001) # the folder has been looked at
        (bundle / "notes").write_text("slow")
        error = running.communicate()[1]
        self.assertEqual(1, running.returncode, error)
        self.assertIn("attend holds 'notes', which is not a file of the bundle there and would be lost", error)
        self.assertEqual({**before, "notes": b"slow"}, read_folder(bundle))
        self.assertEqual(["attend"], self.left_behind())

    def test_a_manifest_may_be_anything(self):
        bundle = self.compile_ok("attend", "--target", "x86-64")
        manifest = bundle / "manifest.json"
        for text, error in ((b'{"weights":{"tensors":[]},"x":' + b"[" * 200000, "is nested more than 16 deep"),
                            (b'{"weights":{"tensors":[]}}', "is not a manifest of a bundle"),
                            (b"{", "is not JSON: the first mistake is at byte"), (bytes(65 << 20), f"is {65 << 20} bytes long, more than {64 << 20}")):
            manifest.write_bytes(text)
            self.refuse(1, f"{manifest}: {error}", "pack", bundle, self.weights)
        manifest.unlink()
        os.mkfifo(manifest)
        self.refuse(1, f"{manifest}: is not a regular file", "pack", bundle, self.weights)
        done = self.compile("attend", "--target", "x86-64")
        self.assertIn("attend holds 'attend", done.stderr)
        self.assertEqual(["attend"], self.left_behind())

    def test_a_fifo_is_no_library(self):
        bundle = self.compile_ok("attend", "--target", "x86-64")
        library = bundle / "libattend_by_hand.so"
        library.unlink()
        os.mkfifo(library)
        self.refuse(1, f"{library}: is not a regular file", "bench", bundle, "--sizes", "query=5,batch=2")

    def test_a_link_leads_to_the_bundle_that_is_replaced(self):
        bundle = self.compile_ok("attend", "--target", "x86-64")
        link = self.folder / "current"
        link.symlink_to("attend")
        self.compile_ok("current", "--target", "x86-64")
        self.assertEqual(0, attnc("pack", link, self.weights).returncode)
        self.assertTrue(link.is_symlink() and not bundle.is_symlink())
        self.assertIn("manifest.json", read_folder(bundle))
        link.unlink()
        link.symlink_to("nowhere")
        self.assertIn("cannot follow", self.compile("current", "--target", "x86-64").stderr)

    def test_the_working_folder_is_no_bundle(self):
        done = attnc("compile", GRAPH, "-o", ".", "--weights", self.weights, cwd=self.folder)
        self.assertEqual(1, done.returncode)
        self.assertIn(". is the working folder", done.stderr)

    def test_a_folder_that_is_no_bundle_is_left_alone(self):
        (self.folder / "thesis").mkdir()
        (self.folder / "thesis" / "chapter").write_text("one")
        done = self.compile("thesis")
        self.assertEqual(done.returncode, 1)
        self.assertIn("is not a bundle", done.stderr)
        self.assertEqual((self.folder / "thesis" / "chapter").read_text(), "one")

    def test_an_interrupt_leaves_nothing(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self.interrupt(number)

    def interrupt(self, number):
        process = subprocess.Popen([ATTNC, "compile", MODEL, "-o", self.folder / "tiny", "--weights", "random:1"],
                                   stderr=subprocess.PIPE, text=True, env=UNCACHED)
        deadline = time.monotonic() + 600
        while not list(self.folder.glob("tiny.partial-*/scratch/*.mlir")) and time.monotonic() < deadline:
            self.assertIsNone(process.poll(), "attnc ended before it was interrupted")
        process.send_signal(number)
        self.assertIn("interrupted", process.communicate(timeout=600)[1])
        self.assertEqual(process.returncode, 1)
        self.assertEqual(self.left_behind(), [])

    def test_a_hangup_that_is_ignored_does_not_end_the_work(self):
        bundle = self.folder / "attend"
        command = shlex.join(map(str, [ATTNC, "compile", GRAPH, "-o", bundle, "--weights", self.weights]))
        process = subprocess.Popen(["sh", "-c", f"trap '' HUP; exec {command}"], env=UNCACHED)
        deadline = time.monotonic() + 600
        while not list(self.folder.glob("attend.partial-*/scratch/*.mlir")) and time.monotonic() < deadline:
            self.assertIsNone(process.poll(), "attnc ended before the hangup")
        process.send_signal(signal.SIGHUP)
        self.assertEqual(0, process.wait(600))
        self.assertEqual(["attend"], self.left_behind())

    def test_output_that_nobody_reads_leaves_nothing_but_the_bundle(self):
        reader, nobody = os.pipe()
        os.close(reader)
        self.addCleanup(os.close, nobody)
        command = [ATTNC, "compile", MODEL, "-o", self.folder / "tiny", "--weights", "random:1", "--target", "host", "--dtype", "int8"]
        for _ in range(2): # the second time over the first
            done = subprocess.run(command, stdout=nobody, stderr=subprocess.PIPE)
            self.assertEqual((-signal.SIGPIPE, b""), (done.returncode, done.stderr))
            self.assertEqual(["tiny"], self.left_behind())
        done = subprocess.run(command, stdout=nobody, stderr=nobody, preexec_fn=limit_files(4000))
        self.assertEqual(-signal.SIGPIPE, done.returncode)
        self.assertEqual(["tiny"], self.left_behind())

    def compile_kernel(self, source):
        """The command that `attnc compile` runs for each kernel, but for its last word: the parent's id."""
        return [ATTNC, "compile-kernel", source, "--target", "x86-64-linux", "--symbol", "k", "-o",
                self.folder / "k.o", "--parent"]

    def test_a_kernels_compilation_ends_with_its_killed_parent(self):
        source = self.folder / "kernel.mlir"
        os.mkfifo(source) # it waits for the end of its input
        command = shlex.join(map(str, self.compile_kernel(source)))
        parent = subprocess.Popen(["sh", "-c", f"{command} $$; :"])
        writer = os.open(source, os.O_WRONLY) # from here on it reads
        self.addCleanup(os.close, writer)
        parent.kill()
        parent.wait()
        ended = select.poll()
        ended.register(writer, select.POLLERR) # nobody reads any more
        self.assertTrue(ended.poll(600 * 1000))

    def test_a_kernels_compilation_whose_parent_is_gone_ends_at_once(self):
        gone = os.getppid() # at least it is not the parent
        done = subprocess.run([*self.compile_kernel(GRAPH), str(gone)])
        self.assertEqual(done.returncode, -signal.SIGKILL)

    def test_no_linker_is_a_clear_error(self):
        done = self.compile("attend", "--target", "x86-64", env={**os.environ, "PATH": "/nowhere"})
        self.assertEqual(done.returncode, 1)
        self.assertIn("neither ld.lld-22 nor ld.lld is on the PATH", done.stderr)
        self.assertEqual(self.left_behind(), [])

    def test_progress_is_quiet_where_no_terminal_is(self):
        self.assertEqual(self.compile("attend", "--target", "x86-64").stderr, "")


class Cache(BundleTest):
    def setUp(self):
        super().setUp()
        self.cache = self.folder / "some" / "cache"

    def kernels(self):
        """The files of kernels, and when they were written."""
        return {file: file.stat().st_mtime_ns for file in self.cache.glob("llvmcache-*")}

    def test_kernels_are_compiled_once_for_all_bundles(self):
        alone = read_folder(self.compile_ok("alone", "--target", "x86-64", env=UNCACHED))
        self.assertEqual(alone, read_folder(self.compile_ok("first", "--target", "x86-64", "--cache", self.cache)))
        kernels = self.kernels()
        self.assertGreater(len(kernels), 1)
        self.assertEqual(alone, read_folder(self.compile_ok("second", "--target", "x86-64", env={**os.environ, "ATTNC_CACHE": str(self.cache)})))
        self.compile_ok("renamed", "--target", "x86-64", "--cache", self.cache, spec=self.named("another"))
        self.assertEqual(kernels, self.kernels())
        self.compile_ok("avx2", "--target", "avx2", "--cache", self.cache)
        self.assertEqual(2 * len(kernels), len(self.kernels()))

    def test_tune_takes_kernels_and_keeps_its_own(self):
        self.compile_ok("bundle", "--target", "x86-64", "--cache", self.cache)
        kernels = self.kernels()
        tune = ["tune", GRAPH, "--weights", self.weights, "-o", self.folder / "schedules.yaml", "--target", "x86-64", "--minutes", "0"]
        done = attnc(*tune, "--sizes", "batch=1,query=5", env={**os.environ, "ATTNC_CACHE": str(self.cache)})
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertEqual(kernels, {file: time for file, time in self.kernels().items() if file in kernels})
        self.assertGreater(len(self.kernels()), len(kernels))

    def test_phases_need_no_cache(self):
        done = attnc("compile", GRAPH, "--emit", "fused", "--weights", self.weights, env={**os.environ, "ATTNC_CACHE": str(self.cache)})
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertFalse(self.cache.exists())

    def test_damaged_kernels_are_compiled_again(self):
        alone = read_folder(self.compile_ok("alone", "--target", "x86-64", "--cache", self.cache))
        for damage in (lambda bytes: b"", lambda bytes: bytes[:-1], lambda bytes: bytes[:100] + b"x" + bytes[101:]):
            whole = {file: file.read_bytes() for file in self.kernels()}
            for file, bytes in whole.items():
                file.write_bytes(damage(bytes))
            self.assertEqual(alone, read_folder(self.compile_ok("again", "--target", "x86-64", "--cache", self.cache)))
            self.assertEqual(whole, {file: file.read_bytes() for file in self.kernels()})

    def test_a_cache_that_cannot_be_is_told_before_anything_is_compiled(self):
        self.refuse(1, f"cannot make the folder of the cache, {self.weights}: Not a directory", "compile", GRAPH, "-o", self.folder / "x",
                    "--weights", self.weights, "--cache", self.weights)
        self.assertEqual([], self.left_behind())

    def test_a_cache_that_cannot_be_written_costs_nothing_but_time(self):
        self.cache.mkdir(parents=True)
        (self.cache / "somebodys").write_text("notes")
        link = self.folder / "full"
        link.symlink_to("/proc/self")  # where nobody can make a file
        self.compile_ok("bundle", "--target", "x86-64", "--cache", link)
        self.compile_ok("other", "--target", "x86-64", "--cache", self.cache)
        self.assertEqual("notes", (self.cache / "somebodys").read_text())


@unittest.skipUnless(SANITIZER, "attnc was built without a sanitizer, and so are its kernels")
class Sanitized(BundleTest):
    """Compiled kernels are instrumented: what a program does wrong shows inside of them."""

    def run_misuse(self, mode):
        """Runs the program for each variant that this machine has; returns how they ended."""
        program = self.build_program("misuse.c", self.compile_ok("attend"))
        runs = [subprocess.run([program, mode, str(variant)], capture_output=True, text=True) for variant in range(3)]
        return [done for done in runs if done.returncode != 77]

    def test_a_right_call_is_not_reported(self):
        for done in self.run_misuse("right"):
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    @unittest.skipUnless(SANITIZER == "asan", "for AddressSanitizer")
    def test_an_input_that_is_one_float_too_short_is_reported(self):
        for done in self.run_misuse("short-input"):
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("heap-buffer-overflow", done.stderr)
            # A loop's own function has _ for a dot; an external stage is C.
            self.assertRegex(done.stderr, r"#0 .* in (attnrt.kernel.linear|(wide|narrow)\d FloatVectors\.c)")

    @unittest.skipUnless(SANITIZER == "tsan", "for ThreadSanitizer")
    def test_two_threads_in_one_arena_are_reported(self):
        done = self.run_misuse("shared-arena")[0] # wider stores than SSE's are not watched
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("data race", done.stderr)
        self.assertRegex(done.stderr, "#0 attnrt.kernel.linear")


class Bench(BundleTest):
    def test_a_graph_is_called_with_the_sizes_given(self):
        bundle = self.compile_ok("bundle", "--target", "x86-64")
        options = ["--sizes", "query=5,batch=2", "--threads", "2", "--seconds", "0.01", "--json"]
        report = json.loads(attnc("bench", bundle, *options).stdout)
        self.assertEqual({"batch": 2, "query": 5}, report["sizes"])
        self.assertEqual(("attend", 2), (report["entry"], report["threads"]))
        self.assertLessEqual(0, report["ms_minimum"])
        self.assertLessEqual(report["ms_minimum"], report["ms_median"])

    def test_a_graph_has_a_profile(self):
        bundle, picture = self.compile_ok("bundle", "--target", "x86-64"), self.folder / "profile.svg"
        options = ["--sizes", "query=5,batch=2", "--seconds", "0.01", "--profile", "--profile-picture", picture]
        done = attnc("bench", bundle, *options)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        names = json.loads((bundle / "manifest.json").read_text())["kernels"]
        table = [line.split() for line in done.stdout.splitlines() if line.startswith("attend ")]
        self.assertEqual(sorted(names), sorted(line[1] for line in table))
        self.assertIn("attend_by_hand, x86-64, attend, query=5, batch=2, threads", picture.read_text())
        kernels = json.loads(attnc("bench", bundle, *options, "--json").stdout)["kernels"]
        rows, weights, heads = 2 * 5, 4 * 9, 2 * 5 * 5 * 3
        self.assertEqual({("attend", 1, 2 * rows * weights), ("attend", 1, 2 * 2 * heads)},
                         {(kernel["entry"], kernel["calls"], kernel["operations"]) for kernel in kernels})

    def test_rows_of_bytes_count_without_what_fills_them_up(self):
        spec = self.folder / "bytes.yaml"
        spec.write_text("graph: {name: bytes, inputs: {x: {shape: [row, width: 72]}}, weights: {w: {shape: [16, 72]}}, "
                        "ops: {y: {linear: [x, w]}}, outputs: y}\n")
        bundle = self.compile_ok("bytes", "--target", "x86-64", "--dtype", "int8", spec=spec, weights="random:1")
        done = attnc("bench", bundle, "--sizes", "row=3", "--seconds", "0", "--profile", "--json")
        self.assertEqual([2 * 3 * 72 * 16, 0], [kernel["operations"] for kernel in json.loads(done.stdout)["kernels"]])

    def test_sizes_are_refused_before_sources_are_made(self):
        bundle = self.compile_ok("tiny", "--target", "x86-64", spec=MODEL, weights="random:1")
        self.refuse(2, "a session's source length must be from 1 to 32, but is 1048576", "bench", bundle, "--batch", 1 << 20,
                    "--source-length", 1 << 20, "--target-length", 1) # of which the ids alone are 4 TiB

    def test_mistakes_in_the_call_of_a_graph_are_told(self):
        bundle = self.compile_ok("bundle", "--target", "x86-64")
        names = "the graph's names are batch, query"
        for options, message in (([], f"--sizes: 'batch' is not given; {names}"),
                                 (["--sizes", "batch=1"], f"--sizes: 'query' is not given; {names}"),
                                 (["--sizes", "batch=1,key=2"], f"--sizes: 'key' is not there; {names}"),
                                 (["--sizes", "batch=1,batch=2"], "--sizes: 'batch' is given twice"),
                                 (["--profile", "--profile-picture", self.folder / "none.svg"], f"--sizes: 'batch' is not given; {names}"),
                                 (["--sizes", "batch=0,query=1"], "--sizes: 'batch=0' is not NAME=N with N in 1 to 2147483647"),
                                 (["--sizes", "batch=1,query=1", "--values", "words=1"], "--values: 'words' is not there; the graph has none to be given"),
                                 (["--sizes", "batch=65536,query=65536"], "'words' has more than 2147483647 elements"),
                                 (["--entry", "atend"], "--entry: 'atend' is not there; the bundle has attend"),
                                 (["--batch", "1"], "--batch has no meaning for 'attend_by_hand', whose kind is graph")):
            done = attnc("bench", bundle, *options)
            self.assertEqual((1 if "elements" in message else 2, ""), (done.returncode, done.stdout), done.stderr)
            self.assertIn(message, done.stderr)
        self.assertEqual(["bundle"], self.left_behind())

    def test_tensors_lie_as_the_strides_say(self):
        bundle = self.folder / "strided"
        self.assertEqual(0, attnc("compile", HERE.parents[1] / "examples/one-kernel/attention.yaml", "-o", bundle, "--target", "x86-64").returncode)
        sizes = "batch=2,query=1,key=5,query_batch=512,key_batch=2560,key_head=64,key_row="
        done = attnc("bench", bundle, "--sizes", sizes + "512", "--values", "lengths=5", "--seconds", "0.01", "--json")
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertEqual(512, json.loads(done.stdout)["sizes"]["key_row"])
        self.refuse(1, "'keys' has more than 2147483647 elements", "bench", bundle, "--sizes", sizes + "1000000000", "--values", "lengths=5")

    def test_what_strides_reach_together_is_bounded(self):
        bundle = self.folder / "windows"
        self.assertEqual(0, attnc("compile", HERE.parents[1] / "examples/one-kernel/attention.yaml", "-o", bundle, "--target", "x86-64").returncode)
        bounds = json.loads((bundle / "manifest.json").read_text())["entries"][0]["bounds"]
        self.assertIn("64 + 8 * key_head + batch * key_batch + key * key_row", [bound["formula"] for bound in bounds])

    def test_inputs_of_whole_numbers_have_the_value_given(self):
        spec = self.folder / "masked.yaml"
        spec.write_text("graph:\n  name: g\n  inputs:\n    s: {shape: [batch, head: 1, query, key]}\n"
                        "    lengths: {shape: [batch], type: i32}\n  ops:\n    m: {padding_mask: [s, lengths]}\n"
                        "    w: {softmax: m}\n  outputs: [w]\n")
        compiled = attnc("compile", spec, "-o", self.folder / "masked", "--target", "x86-64")
        self.assertEqual(0, compiled.returncode, compiled.stderr)
        call = ["bench", self.folder / "masked", "--sizes", "batch=1,query=2,key=3", "--seconds", "0.01"]
        self.refuse(2, "--values: 'lengths' is not given; the graph's names are lengths", *call)
        self.refuse(2, "'lengths=3000000000' is not NAME=N with N in -2147483648 to 2147483647", *call, "--values", "lengths=3000000000")
        self.assertEqual(0, attnc(*call, "--values", "lengths=3").returncode)


class Usage(BundleTest):
    def test_wrong_usage_exits_with_2(self):
        self.refuse(2, "a command is missing")
        self.refuse(2, "SPEC", "compile")
        self.refuse(2, "-o", "compile", GRAPH)
        self.refuse(2, "--emit", "compile", GRAPH, "--emit", "nonsense")
        self.refuse(2, "--output excludes --emit", "compile", GRAPH, "--emit", "attn", "-o", "x")
        self.refuse(2, "--dtype", "compile", GRAPH, "-o", "x", "--dtype", "f64")
        self.refuse(2, "does not know; it knows sse41", "compile", GRAPH, "-o", self.folder / "x", "--target", "x86-64-mmx")

    def test_an_empty_value_is_wrong_usage(self):
        self.refuse(2, "--output: its value is empty", "compile", GRAPH, "-o", "")
        for option in "--weights", "--target", "--schedules":
            self.refuse(2, f"{option}: its value is empty", "compile", GRAPH, "-o", "x", option, "")
        for option in "--variant", "--attention", "--shortlist", "--target-language":
            self.refuse(2, f"{option}: its value is empty", "run", "x", option, "")
        for option in "--variant", "--entry", "--sizes":
            self.refuse(2, f"{option}: its value is empty", "bench", "x", option, "")
        self.refuse(1, "x/manifest.json", "run", self.folder / "x", "--prefix", "")

    def test_a_file_in_the_place_of_a_bundle_is_wrong_usage(self):
        for command in (["run"], ["score"], ["inspect"], ["bench"]):
            self.refuse(2, f"'{GRAPH}' is a file; a bundle is the folder that 'attnc compile SPEC -o FOLDER' writes", *command, GRAPH)
        self.refuse(2, f"'{self.weights}' is a file; a bundle is the folder", "pack", self.weights, self.folder)

    def test_random_weights_need_a_seed(self):
        self.refuse(2, "'random' is not a source of weights: write random:SEED", "compile", GRAPH, "-o", self.folder / "x", "--weights", "random")

    def test_a_folder_without_weights_is_an_error(self):
        (self.folder / "empty").mkdir()
        self.refuse(1, "empty/model.safetensors: No such file or directory",
                    "compile", KOREAN_ENGLISH, "-o", self.folder / "x", "--weights", self.folder / "empty")

    def test_weights_are_read_before_kernels_are_compiled(self):
        content = self.weights.read_bytes()
        self.weights.write_bytes(content[:-4] + struct.pack("<f", float("nan")))
        done = self.compile("x", env={**os.environ, "PATH": "/nowhere"})  # where no linker is
        self.assertEqual((1, "attnc: error: tensor 'value_weight' has a NaN at [2, 3], which is no number\n"),
                         (done.returncode, done.stderr))
        self.assertEqual([self.weights.name], os.listdir(self.folder))

    def test_a_users_mistake_exits_with_1(self):
        self.refuse(1, "/nowhere.yaml", "compile", "/nowhere.yaml", "-o", self.folder / "x")
        self.refuse(1, "is not a bundle", "compile", GRAPH, "-o", "/", "--weights", self.weights)

    def test_a_tokenizer_that_is_none_is_told_at_its_place_in_the_spec(self):
        (self.folder / "tokenizers").mkdir()
        (self.folder / "tokenizers/some.model").write_bytes(b"no pieces")
        text = KOREAN_ENGLISH.read_text().replace("file: tokenizer.model", "file: tokenizers/some.model")
        spec = self.folder / "spec.yaml"
        spec.write_text(text.replace("file: weights.safetensors", "random: 1"))
        line = 1 + text[:text.index("tokenizers/some.model")].count("\n")
        self.refuse(1, f"spec.yaml:{line}:42: the source tokenizer cannot be used: tokenizers/some.model: is not a SentencePiece model",
                    "compile", spec, "-o", self.folder / "x")

    def test_output_that_cannot_be_written_is_an_error(self):
        for command in (("explain", GRAPH), ("compile", GRAPH, "--emit", "spec"), ("compile", GRAPH, "--emit", "llvm")):
            with open("/dev/full", "w") as full:
                done = subprocess.run([ATTNC, *command, "--weights", self.weights], stdout=full, stderr=subprocess.PIPE, text=True)
            self.assertEqual((1, "attnc: error: the output cannot be written\n"), (done.returncode, done.stderr), command)

    def test_a_fifo_is_no_index_of_weights(self):
        index = self.folder / "index.json"
        os.mkfifo(index)
        self.refuse(1, "is not a file that can be read", "compile", GRAPH, "-o", self.folder / "x", "--weights", index)

    def test_a_malformed_index_of_weights_is_an_error(self):
        index = self.folder / "index.json"
        for text in ("[]", "{}", '{"weight_map": []}', '{"weight_map": {}}', '{"weight_map": {"a": 1}}', '{"weight_map": {"a": "x", "b": null}}'):
            index.write_text(text)
            self.refuse(1, "is not an index: it needs an object 'weight_map' from tensors to file names",
                        "compile", GRAPH, "-o", self.folder / "x", "--weights", index)
        index.write_text('{"weight_map": {"a": "../x"}}')
        self.refuse(1, "'../x' is not a file beside the index", "compile", GRAPH, "-o", self.folder / "x", "--weights", index)

    def test_tokenizers_may_be_called_like_files_of_the_bundle(self):
        words = json.dumps(["<pad>", "<s>", "</s>", "a", "b", "c"])
        sides = {"source": "manifest.json", "target": "words.json"}
        for name in sides.values():
            (self.folder / name).write_text(words)
        sides = ", ".join(f"{side}: {{kind: vocabulary, file: {name}}}" for side, name in sides.items())
        spec = self.folder / "tiny.yaml"
        text = re.sub(r"(?m)^  (vocabulary|tokens|tokenizer):.*\n", "", MODEL.read_text())
        spec.write_text(f"{text.rstrip()}\n  vocabulary: {{source: 6, target: 6}}\n  tokens: {{start: 1, end: 2, pad: 0, source_end: 2}}\n"
                        f"  tokenizer: {{{sides}}}\n")
        bundle = self.compile_ok("tiny", "--target", "x86-64", spec=spec, weights="random:1")
        self.assertIn("source-manifest.json", os.listdir(bundle))
        self.assertIn("words.json", os.listdir(bundle))
        done = attnc("run", bundle, "--max-length", 3, input="a b c\n")
        self.assertEqual((0, 1), (done.returncode, done.stdout.count("\n")), done.stderr)

    def test_a_bundle_takes_the_place_of_another_where_names_cannot_be_exchanged(self):
        source = self.folder / "no_exchange.c"
        source.write_text("#include <errno.h>\nint renameat2(int a, const char *b, int c, const char *d, unsigned e) {\n"
                          "  errno = EINVAL;\n  return -1;\n}\n")
        library = self.folder / "no_exchange.so"
        subprocess.run([CC[0], "-shared", "-fPIC", source, "-o", library], check=True) # the linker loads it, too: no sanitizer
        first = read_folder(self.compile_ok("b", "--target", "x86-64"))
        other = write_weights(self.folder / "two.safetensors", 2)
        self.compile_ok("b", "--target", "x86-64", weights=other, env={**os.environ, "LD_PRELOAD": str(library)})
        self.assertNotEqual(first["weights.safetensors"], read_folder(self.folder / "b")["weights.safetensors"])
        self.assertEqual(["b", "no_exchange.c", "no_exchange.so"], self.left_behind())

    def test_what_is_not_built_yet_says_so(self):
        self.refuse(2, "not built yet", "compile", GRAPH, "-o", "x", "--target", "arm-64-linux")

    def test_tuned_schedules_give_the_same_outputs(self):
        kernel = "linear_16x24_relu"
        schedules = self.folder / "schedules.yaml"
        schedules.write_text(f"x86-64:\n  {kernel}: {{tile: 8x32, tasks: by_rows}}\navx9:\n  another: {{tile: 6x16}}\n")
        options = {"spec": MODEL, "weights": "random:1"}
        byRules = self.compile_ok("rules", "--target", "x86-64,avx2", **options)
        done = self.compile("tuned", "--target", "x86-64,avx2", "--schedules", schedules, **options)
        self.assertEqual(0, done.returncode, done.stderr)
        tuned = self.folder / "tuned"
        variants = {v["name"]: v.get("tuned_kernels") for v in json.loads((tuned / "manifest.json").read_text())["variants"]}
        self.assertEqual({"x86-64": [kernel], "avx2": None}, variants)
        self.assertRegex(done.stdout, rf"schedules: 1 of \d+ kernels of all targets have records in {schedules}; 1 record is for other kernels or targets; 'avx9' is no target of attnc\n")
        self.assertIn(f"kernel {kernel} (tuned for x86-64)\n", attnc("inspect", tuned).stdout)
        outputs = [subprocess.run([ATTNC, "run", bundle, "--ids", "--scores", "--variant", "x86-64"], input="3 4 5\n7\n",
                                  capture_output=True, text=True, check=True).stdout for bundle in (byRules, tuned)]
        self.assertEqual(*outputs)

    def test_mistakes_in_schedules_are_told_where_they_stand(self):
        schedules = self.folder / "schedules.yaml"
        schedules.write_text("avx2:\n  linear_16x16: {tiles: 4x16}\n")
        self.refuse(1, f"{schedules}:2:18: error: unknown parameter 'tiles'; did you mean 'tile'?", "compile", MODEL,
                    "--weights", "random:1", "-o", self.folder / "x", "--schedules", schedules)
        self.refuse(1, "cannot read the file of schedules: No such file", "compile", MODEL, "--weights", "random:1",
                    "-o", self.folder / "x", "--schedules", self.folder / "none")
        self.assertEqual(["schedules.yaml"], self.left_behind())

    TUNE = ["tune", MODEL, "--weights", "random:1", "--minutes", "0", "--batch", "1,3", "--source-length", "5",
            "--target-length", "4", "--threads", "1"]

    def test_tune_writes_what_compile_reads(self):
        (self.folder / "a%b").mkdir()
        schedules = self.folder / "a%b" / "schedules.yaml"
        others = "  of_another_model: {prefetch: none, ms: 1.25, ms_by_rules: 2}\n"
        idle = "  linear_16x37_log_softmax_pick: {tile: 6x16, ms: 1, ms_by_rules: 2}\n" # greedy search does not call it
        schedules.write_text("x86-64:\n" + idle + "zen4:\n" + others)
        schedules.chmod(0o600)
        env = {**UNCACHED, "TMPDIR": str(self.folder)}
        done = attnc(*self.TUNE, "-o", schedules, "--target", "x86-64", env=env)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual("", done.stderr)
        self.assertRegex(done.stdout, rf"{schedules}: \d+ of \d+ kernels of x86-64 are faster than by rules")
        self.assertEqual(0o600, schedules.stat().st_mode & 0o777)
        self.assertIn(others, schedules.read_text())
        self.assertIn(idle, schedules.read_text())
        self.assertEqual(["a%b"], self.left_behind())
        self.assertEqual(["schedules.yaml"], os.listdir(self.folder / "a%b"))
        self.compile_ok("tiny", "--target", "x86-64", "--schedules", schedules, spec=MODEL, weights="random:1")

    def write_encoder(self):
        encoder = self.folder / "encoder.yaml"
        encoder.write_text("model: {kind: encoder, width: 16, heads: 2, encoder: {layers: 1}, feed_forward: {width: 24}, "
                           "positions: {kind: sinusoidal, max_length: 32}, vocabulary: {source: 19}, tokens: {pad: 0}}\n")
        return encoder

    def test_tune_takes_encoders(self):
        done = attnc("tune", self.write_encoder(), "--weights", "random:1", "-o", self.folder / "schedules.yaml", "--target",
                     "x86-64", "--minutes", "0", "--batch", "3", "--source-length", "7", "--threads", "1")
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertRegex(done.stdout, r"\d+ of \d+ kernels of x86-64 are faster than by rules")

    def test_tune_takes_graphs(self):
        tune = ["tune", GRAPH, "--weights", self.weights, "-o", self.folder / "schedules.yaml", "--target", "x86-64", "--minutes", "0"]
        done = attnc(*tune, "--sizes", "batch=1,query=5", "--sizes", "query=64,batch=2", "--threads", "1")
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertRegex(done.stdout, r"\d+ of 2 kernels of x86-64 are faster than by rules")

    def test_mistakes_in_the_calls_of_a_graph_are_told(self):
        tune = ["tune", GRAPH, "--weights", self.weights, "-o", self.folder / "schedules.yaml", "--target", "x86-64", "--minutes", "0"]
        for options, message in (([], "--sizes: 'batch' is not given; the graph's names are batch, query"),
                                 (["--sizes", "batch=1"], "--sizes: 'query' is not given"),
                                 (["--sizes", "batch=1,query=5", "--sizes", "batch=1,query"], "--sizes: 'query' is not NAME=N with N in 1 to"),
                                 (["--sizes", "batch=1,query=5", "--entry", "atend"], "--entry: 'atend' is not there; the bundle has attend"),
                                 (["--batch", "3"], "--batch has no meaning for")):
            self.refuse(2, message, *tune, *options)

    def test_an_interrupted_tune_leaves_its_file_as_it_was(self):
        schedules = self.folder / "schedules.yaml"
        before = "x86-64:\n  linear_16x16: {tile: 6x16, ms: 1, ms_by_rules: 2}\n"
        schedules.write_text(before)
        (self.folder / "schedules.yaml.partial").write_text("somebody's")
        process = subprocess.Popen([ATTNC, *map(str, self.TUNE), "-o", schedules, "--target", "x86-64"],
                                   stderr=subprocess.PIPE, text=True, env={**UNCACHED, "TMPDIR": str(self.folder)})
        deadline = time.monotonic() + 600
        while not list(self.folder.glob("attnc-tune-*/rules/manifest.json")) and time.monotonic() < deadline:
            self.assertIsNone(process.poll(), "attnc ended before it was interrupted")
        process.send_signal(signal.SIGINT)
        self.assertEqual("attnc: error: interrupted\n", process.communicate(timeout=600)[1])
        self.assertEqual(before, schedules.read_text())
        self.assertEqual(["schedules.yaml", "schedules.yaml.partial"], self.left_behind())

    def test_tune_refuses_before_it_compiles(self):
        schedules = self.folder / "schedules.yaml"
        encoder = self.write_encoder()
        self.refuse(2, "--beam has no meaning for", "tune", encoder, "--weights", "random:1", "-o", schedules, "--beam", "4")
        encoder.unlink()
        self.refuse(2, "excludes", "compile", MODEL, "--emit", "spec", "--schedules", schedules)
        self.refuse(2, "takes one target", *self.TUNE, "-o", schedules, "--target", "x86-64,avx2")
        self.refuse(2, "'neon'", *self.TUNE, "-o", schedules, "--target", "x86-64-neon")
        self.refuse(2, "--output is required", *self.TUNE)
        self.refuse(2, "'0' is not in 1 to", *self.TUNE, "-o", schedules, "--batch", "0")
        self.refuse(2, "tiny.yaml, whose kind is encoder_decoder", *self.TUNE, "-o", schedules, "--sizes", "row=1")
        self.refuse(1, "No such file", *self.TUNE, "-o", self.folder / "no" / "folder")
        os.mkfifo(self.folder / "pipe")
        self.refuse(1, "pipe is no file", *self.TUNE, "-o", self.folder / "pipe")
        (self.folder / "pipe").unlink()
        self.assertEqual([], self.left_behind())
        schedules.write_text("avx2: 3\n")
        self.refuse(1, "schedules.yaml:1:7: error: target 'avx2' takes its kernels by name", *self.TUNE, "-o", schedules)
        self.assertEqual("avx2: 3\n", schedules.read_text())
        self.assertEqual(["schedules.yaml"], self.left_behind())

    def test_values_that_are_read_twice_do_not_double_the_time(self):
        spec = self.folder / "doubled.yaml"
        ops = "".join(f"    v{i}: {{add: [v{i - 1}, v{i - 1}]}}\n" for i in range(1, 101))
        spec.write_text("graph:\n  inputs: {v0: {shape: [batch, head: 2, query, width: 8]}, k: {shape: [batch, head: 2, key, width: 8]}}\n"
                        f"  ops:\n{ops}    scores: {{matmul: [v100, k], transposed: true}}\n    weights: {{softmax: scores}}\n"
                        "  outputs: weights\n")
        done = attnc("compile", spec, "--emit", "planned", "--weights", "random:1")
        self.assertEqual((0, 101), (done.returncode, done.stdout.count("attn.call")), done.stderr)

    def test_explain_counts_the_calls_of_the_plan(self):
        for spec, weights in ((MODEL, "random:1"), (GRAPH, self.weights)):
            plan = attnc("compile", spec, "--emit", "planned", "--weights", weights).stdout
            calls = collections.Counter(re.findall(r"attn\.call @(\w+)", plan))
            explained = attnc("explain", spec, "--weights", weights).stdout
            listed = re.findall(r"^  (\w+), called in (\d+) place", explained, re.MULTILINE)
            self.assertTrue(calls)
            self.assertEqual(dict(calls), {kernel: int(count) for kernel, count in listed})

    def test_explain_tells_which_entries_call_a_kernel(self):
        plan = attnc("compile", MODEL, "--emit", "planned", "--weights", "random:1").stdout
        wanted = collections.defaultdict(list)
        for entry, body in re.findall(r"func\.func @(\w+)(.*?)\n  }\n", plan, re.DOTALL):
            for kernel, count in collections.Counter(re.findall(r"attn\.call @(\w+)", body)).items():
                wanted[kernel].append(f"{entry} {count}")
        explained = attnc("explain", MODEL, "--weights", "random:1").stdout
        listed = re.findall(r"^  (\w+), called in \d+ places?: (.*)", explained, re.MULTILINE)
        self.assertIn("step", explained)
        self.assertEqual({kernel: ", ".join(entries) for kernel, entries in wanted.items()}, dict(listed))

    def explain(self, spec, *options):
        """What is apart and why, with the line, and the kernels with the number of their calls."""
        done = attnc("explain", spec, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        apart = re.findall(r":(\d+):\d+: (not .*)", done.stdout)
        self.assertEqual("nothing that could be fused was left apart" in done.stdout, not apart, done.stdout)
        kernels = re.findall(r"^  (\w+), called in (\d+) place", done.stdout, re.MULTILINE)
        return [f"{line}: {text}" for line, text in apart], {kernel: int(count) for kernel, count in kernels}

    def test_explain_lists_the_kernels_of_a_model(self):
        apart, kernels = self.explain(MODEL, "--weights", "random:1")
        self.assertEqual(apart, [])
        self.assertEqual(kernels, {
            "append_2x8": 4, "attention_2x8_causal": 2, "attention_2x8_padding": 2, "attention_shared_2x8_padding": 2,
            "attention_step_2x8_padding": 2, "attention_weights_2x8_padding_mean_heads": 1, "embed_16_positions": 1,
            "embed_16_positions_2": 2, "embed_16_positions_step": 2, "increment": 2, "linear_16x16": 4,
            "linear_16x16_add_layer_norm": 8, "linear_16x24_relu": 4, "linear_16x32": 1, "linear_16x37_log_softmax_pick": 1,
            "linear_16x37_log_softmax_top_k": 1, "linear_16x37_log_sum_exp": 1, "linear_16x48": 5,
            "linear_24x16_add_layer_norm": 4})

    def test_explain_lists_the_kernels_of_a_graph(self):
        self.assertEqual(self.explain(GRAPH, "--weights", self.weights), ([], {"attention_1x3": 1, "linear_4x9": 1}))

    def test_explain_says_why_kernels_are_apart(self):
        spec = self.folder / "apart.yaml"
        spec.write_text("""weights: {random: 3}
graph:
  inputs: {x: {shape: [batch, query, width: 20]}}
  weights: {w1: {shape: [40, 20]}, w2: {shape: [40, 20]}, lw: {shape: [40]}, lb: {shape: [40]}}
  ops:
    a: {linear: [x, w1]}
    b: {activation: a, with: relu}
    c: {linear: [x, w2]}
    d: {add: [b, c]}
    e: {layer_norm: [d, lw, lb]}
    g: {activation: e, with: gelu}
    h: {scale: c, by: 2}
    i: {add: [h, g]}
  outputs: [a, i]
""")
        apart, kernels = self.explain(spec)
        self.assertEqual(apart, [
            "6: not merged: it is an output, so a slice would be copied",
            "7: not fused: the linear is an output as well",
            "8: not merged: the other linears of its input can be no slices",
            "9: not fused: the linear has a second reader",
            "10: not fused: the kernel of pointwise operations cannot take layer_norm in, because norms go only into kernels "
            "of one linear or of an embedding",
            "11: not fused: a kernel ends with its layer_norm",
            "12: not fused: the linear has a second reader",
            "13: not fused: it is in the kernel of another operation that it reads"])
        self.assertEqual(kernels, {"gelu_40_add": 1, "layer_norm_40": 1, "linear_20x40": 2, "relu_40_add": 1, "scale_40": 1})


class Pack(BundleTest):
    def setUp(self):
        super().setUp()
        self.bundle = self.compile_ok("attend", "--target", "x86-64")
        self.other = write_weights(self.folder / "other.safetensors", 2)

    def test_packing_equals_compiling_with_those_weights(self):
        done = attnc("pack", self.bundle, self.other)
        self.assertEqual(done.returncode, 0, done.stderr)
        fresh = self.compile_ok("fresh", "--target", "x86-64", weights=self.other)
        self.assertEqual(read_folder(self.bundle), read_folder(fresh))

    def test_constants_and_golden_vectors_are_renewed_in_a_model(self):
        for seed in (1, 2):
            self.compile_ok(f"seed{seed}", "--target", "x86-64", spec=MODEL, weights=f"random:{seed}")
        source = self.folder / "seed2.safetensors"
        unpack_model(self.folder / "seed2", source)
        done = attnc("pack", self.folder / "seed1", source)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(read_folder(self.folder / "seed1"), read_folder(self.folder / "seed2"))

    def refuse_weights(self, weights, message, code=1):
        before = read_folder(self.bundle)
        done = attnc("pack", self.bundle, weights)
        self.assertEqual(done.returncode, code)
        self.assertIn(message, done.stderr)
        self.assertEqual(read_folder(self.bundle), before)
        self.assertEqual(self.left_behind(), ["attend"])

    def test_random_weights_are_those_of_compile(self):
        for seed in (1, 2):
            self.compile_ok(f"seed{seed}", "--target", "x86-64", spec=MODEL, weights=f"random:{seed}")
        done = attnc("pack", self.folder / "seed1", "random:2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(read_folder(self.folder / "seed1"), read_folder(self.folder / "seed2"))

    def test_a_seed_that_is_no_number_is_an_error(self):
        self.refuse_weights("random:one", "WEIGHTS: 'random:one' is not a source of weights: write random:SEED", code=2)
        done = attnc("compile", MODEL, "-o", self.folder / "seeded", "--weights", "random:-1")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--weights: 'random:-1' is not a source of weights", done.stderr)

    def test_a_missing_tensor_is_an_error(self):
        self.other.write_bytes(self.other.read_bytes().replace(b"key_weight", b"kez_weight"))
        self.refuse_weights(self.other, "has no tensor 'key_weight'")

    def test_a_misshapen_tensor_is_an_error(self):
        self.other.write_bytes(self.other.read_bytes().replace(b'"shape": [3, 4]', b'"shape": [4, 3]', 1))
        self.refuse_weights(self.other, "has shape [4, 3], but [3, 4] is needed")

    def test_all_wrong_tensors_are_told(self):
        self.other.write_bytes(self.other.read_bytes().replace(b"key_weight", b"kez_weight").replace(b"value_weight", b"valve_weight"))
        self.refuse_weights(self.other, "has no tensor 'key_weight'")
        self.refuse_weights(self.other, "has no tensor 'value_weight'")

    def test_a_truncated_file_is_an_error(self):
        self.other.write_bytes(self.other.read_bytes()[:-1])
        self.refuse_weights(self.other, "error")

    def test_a_full_disk_leaves_the_bundle(self):
        before = read_folder(self.bundle)
        self.assertEqual(attnc("pack", self.bundle, self.other, preexec_fn=limit_files(1000)).returncode, 1)
        self.assertEqual(read_folder(self.bundle), before)

    def test_a_manifest_that_was_changed_is_an_error(self):
        manifest = self.bundle / "manifest.json"
        manifest.write_text(manifest.read_text().replace('"offset": 0', '"offset": 64', 1))
        self.refuse_weights(self.other, "does not end with the hash of its text")


def unpack_model(bundle, path):
    """Writes the tensors of a bundle's weights as a file to pack from: the recipe, backwards."""
    manifest = json.loads((bundle / "manifest.json").read_text())
    content = (bundle / "weights.safetensors").read_bytes()
    base = 8 + struct.unpack("<Q", content[:8])[0]
    tensors = {}
    for weight in manifest["weights"]["tensors"]:
        out, inner = weight["shape"][0], (weight["shape"] + [1])[1]
        stored = struct.unpack_from(f"<{weight['bytes'] // 4}f", content, base + weight["offset"])
        panel = weight["panels"]

        def element(o, i):
            return stored[(o // panel * inner + i) * panel + o % panel] if panel else stored[o * inner + i]

        row = 0
        for name, rows in zip(weight["tensors"], weight["rows"]):
            if name:
                tensors[name] = ([rows] + weight["shape"][1:],
                                 [element(o, i) for o in range(row, row + rows) for i in range(inner)])
            row += rows
    header, data = {}, b""
    for name, (shape, values) in tensors.items():
        packed = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(packed)]}
        data += packed
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


if __name__ == "__main__":
    unittest.main()
