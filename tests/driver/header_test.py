#!/usr/bin/env python3
"""Headers of bundles compile, and their functions run, whatever a spec calls its values, sizes and graphs.

usage: ATTNC=build/bin/attnc CC=cc header_test.py
"""
import json
import pathlib
import shutil
import subprocess
import unittest

from bundle_test import CC, BundleTest, attnc

# Of C++26 and C23, with the alternative tokens.
KEYWORDS = """alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class
    co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue contract_assert
    decltype default delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline
    int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register
    reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast struct switch template
    this thread_local throw true try typedef typeid typename typeof typeof_unqual union unsigned using virtual void
    volatile wchar_t while xor xor_eq""".split()


class Headers(BundleTest):
    def test_any_names_make_a_header_that_compiles(self):
        spec = self.folder / "names.yaml"
        shape = "{shape: [batch, query, width: 20]}"
        spec.write_text(f"""
name: int
graph:
  name: for
  inputs: {{while: {shape}, while_: {shape}, "NULL": {shape}, INT_MAX: {shape}, bit_AVX: {shape}, errno: {shape}, call: {shape}, call_sizes: {shape}, int_descriptor: {{shape: [linux, query, width: 20]}}}}
  ops:
    b: {{add: [while, while_]}}
    Q: {{add: ["NULL", INT_MAX]}}
    a: {{add: [Q, bit_AVX]}}
    c: {{add: [a, errno]}}
    d: {{add: [b, c]}}
    e: {{add: [d, call]}}
    attnrt_invocation: {{add: [e, call_sizes]}}
    int64_t: {{activation: int_descriptor, with: relu}}
  outputs: [attnrt_invocation, int64_t]
""")
        bundle = self.compile_ok("int", "--target", "x86-64", spec=spec)
        program = self.folder / "names.c"
        program.write_text('#include <errno.h>\n#include <limits.h>\n#include "int.h"\n')
        subprocess.run([*CC, "-Wall", "-Werror", "-c", program, f"-I{bundle}", "-o", self.folder / "names.o"], check=True)

    def test_words_of_c_and_c_plus_plus_may_be_names(self):
        shape = "{shape: [width: 8]}"
        inputs = ", ".join(f'"{word}": {shape}' for word in KEYWORDS)
        ops = "".join(f'    sum{i}: {{add: [{f"sum{i - 1}" if i > 1 else KEYWORDS[0]}, "{word}"]}}\n' for i, word in enumerate(KEYWORDS[1:], 1))
        spec = self.folder / "words.yaml"
        spec.write_text(f"name: words\ngraph:\n  inputs: {{{inputs}}}\n  ops:\n{ops}  outputs: sum{len(KEYWORDS) - 1}\n")
        bundle = self.compile_ok("words", "--target", "x86-64", spec=spec)
        for language, standard in (("c", "c2x"), ("c++", "c++20")):
            command = [*CC, "-x", language, f"-std={standard}", "-Wall", "-Werror", "-fsyntax-only", f"-I{bundle}", "-"]
            subprocess.run(command, input='#include "words.h"\n', text=True, check=True)

    def test_sizes_of_one_graph_may_be_called_like_tensors_of_another(self):
        spec = self.folder / "two.yaml"
        spec.write_text("""
name: two
graph:
  - name: one
    inputs: {keys: {shape: [batch, width: 8]}}
    ops: {rows: {add: [keys, keys]}}
    outputs: rows
  - name: other
    inputs: {x: {shape: [keys, width: 8]}}
    ops: {y: {add: [x, x]}}
    outputs: y
    strides: {x: [rows]}
""")
        bundle = self.compile_ok("two", "--target", "x86-64", spec=spec)
        program = self.folder / "two.c"
        program.write_text("""#include "two.h"
static float x[16 * 8], y[16 * 8];
int main(void) {
  _Alignas(64) char arena[4096];
  for (int i = 0; i < 16 * 8; ++i)
    x[i] = (float)i;
  if (two_arena_one(2) > 4096 || two_run_one(0, two_best_variant(), 0, arena, 2, x, y) || y[15] != 30)
    return 1;
  if (two_arena_other(2, 64) > 4096 || two_run_other(0, two_best_variant(), 0, arena, 2, 64, x, y) || y[15] != 142)
    return 2;
  return 0;
}
""")
        subprocess.run([*CC, "-Wall", "-Werror", program, f"-I{bundle}", bundle / "libtwo.a", "-lm", "-o", self.folder / "program"], check=True)
        self.assertEqual(0, subprocess.run([self.folder / "program"]).returncode)
        bench = ["bench", bundle, "--entry", "one", "--seconds", "0.01"]
        self.assertEqual(0, attnc(*bench, "--sizes", "batch=2").returncode)
        done = attnc(*bench, "--sizes", "batch=2,keys=2")
        self.assertEqual(2, done.returncode)
        self.assertIn("'keys' is not there; the graph's names are batch", done.stderr)

    def test_the_best_variant_asks_for_matrix_instructions(self):
        spec = self.folder / "tiles.yaml"
        spec.write_text("name: tiles\ntypes: {default: bf16}\nweights: {random: 1}\ngraph:\n  inputs: {x: {shape: [row, width: 64]}}\n"
                        "  weights: {w: {shape: [64, 64]}}\n  ops: {y: {linear: [x, w]}}\n  outputs: y\n")
        bundle = self.compile_ok("tiles", "--target", "x86-64,amx", spec=spec, weights="random:1")
        self.assertRegex((bundle / "tiles.h").read_text(), r"ATTNRT_CPU_AMX \|\| attnrt_cpu_may_use_tiles\(\) \? ATTNRT_CPU_YES")
        program = self.folder / "tiles.c"
        program.write_text('#include "tiles.h"\n#include <stdio.h>\n#include <stdlib.h>\n'
                           "static float x[32 * 64], y[32 * 64];\nint main(int count, char **arguments) {\n"
                           "  if (count != 2) return 1;\n  const attnrt_variant *best = tiles_best_variant();\n"
                           "  char *weights = aligned_alloc(64, 1 << 16), *arena = aligned_alloc(64, 1 << 20);\n"
                           "  for (int i = 0; i < 1 << 16; ++i) weights[i] = 0;\n"
                           "  if (tiles_arena_graph(32) > 1 << 20) return 2;\n"
                           "  puts(best->name);\n  return tiles_run_graph(0, best, weights, arena, 32, x, y);\n}\n")
        wanted = json.loads((bundle / "manifest.json").read_text())["variants"][1]["features"]
        words = set(pathlib.Path("/proc/cpuinfo").read_text().split("flags", 1)[-1].split("\n", 1)[0].split())
        best = "amx" if words.issuperset(wanted.split()) else "x86-64"
        for compiler in (CC, *([path] for path in map(shutil.which, ("clang", "clang-14")) if path)):
            subprocess.run([*compiler, "-std=c11", "-pedantic", "-Wall", "-Werror", program, f"-I{bundle}", bundle / "libtiles.a", "-lm",
                            "-o", self.folder / "program"], check=True)
            done = subprocess.run([self.folder / "program", "run"], capture_output=True, text=True)
            self.assertEqual(0, done.returncode, done.stderr)
            self.assertEqual(best, done.stdout.strip())

    def test_graphs_may_be_called_like_symbols_of_the_bundle(self):
        names = ("descriptor", "entries", "variants", "kernels", "kernels0", "kernels_0", "text", "text0", "text_0", "state_bytes",
                 "x", "x_arena_bytes", "arena_bytes_x", "run", "run_x", "best_variant", "scale_8", "scale_8_x86_64", "kernel_scale_8_x86_64")
        graphs = "".join(f"- name: {name}\n  inputs: {{x: {{shape: [width: 8]}}}}\n  ops: {{y: {{scale: x, by: {number}}}}}\n"
                         "  outputs: y\n" for number, name in enumerate(names, 2))
        spec = self.folder / "names.yaml"
        spec.write_text(f"name: a\ngraph:\n{graphs}")
        bundle = self.compile_ok("a", "--target", "x86-64", spec=spec)
        program = self.folder / "names.c"
        calls = "".join(f"  if (a_run_{name}(0, a_best_variant(), 0, arena, x, y) != 0 || y[7] != {number}) return {number};\n"
                        for number, name in enumerate(names, 2))
        program.write_text('#include "a.h"\nint main(void) {\n  _Alignas(64) char arena[4096];\n'
                           f"  float x[8] = {{0, 0, 0, 0, 0, 0, 0, 1}}, y[8];\n{calls}  return 0;\n}}\n")
        for library in ("liba.a", "liba.so"):
            subprocess.run([*CC, "-Wall", "-Werror", program, f"-I{bundle}", bundle / library, f"-Wl,-rpath,{bundle}",
                            "-lm", "-o", self.folder / "program"], check=True)
            self.assertEqual(0, subprocess.run([self.folder / "program"]).returncode, library)


if __name__ == "__main__":
    unittest.main()
