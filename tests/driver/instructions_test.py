#!/usr/bin/env python3
"""Variants contain no instruction of a feature that they do not ask for: a machine that has what they ask for runs them.

usage: ATTNC=build/bin/attnc instructions_test.py
"""
import collections
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ATTNC = os.environ["ATTNC"]
EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples/korean-english"
OF_FLOATS = ("x86-64", "avx2", "avx512", "vnni", "amx")  # the others' kernels of float32 are these, or those of smaller types
OF_ALL = ("x86-64", "avx2", "avxvnni", "avx512", "cascadelake", "vnni", "zen4", "zen5", "amx")
MIXED = "{default: int8, attention: bf16, layers: {encoder.*: bf16, decoder.layers.0.*: f32}}"

# Which instructions a feature has, as objdump shows them (AT&T), mnemonic first. Any one of the features will do.
# Those of no feature must be in no variant.
FAMILIES = {
    r"(haddp[sd]|hsubp[sd]|addsubp[sd]|movddup|movs[hl]dup|lddqu) ": "ssse3",
    r"(pshufb|palignr|pabs[bwd]|phadd\w+|phsub\w+|psign[bwd]|pmaddubsw|pmulhrsw) ": "ssse3",
    r"(pmulld|pmuldq|p(min|max)(s[bd]|u[wd])|round[ps][sd]|v?blendv?p[sd]|pblend\w+|pmov[sz]x\w+|pextr[bdq]|pinsr[bdq]"
    r"|ptest|insertps|extractps|dpp[sd]|packusdw|pcmpeqq|mpsadbw|phminposuw|movntdqa) ": "sse4_1",
    r"(pcmpgtq|pcmp[ei]str\w|crc32\w?) ": "sse4_2",
    r"popcnt\w? ": "popcnt",
    r"lzcnt\w? ": "abm",
    r"movbe\w? ": "movbe",
    r"(andn|bextr|blsi|blsmsk|blsr|tzcnt)\w? ": "bmi1",
    r"(bzhi|mulx|pdep|pext|rorx|sarx|shlx|shrx)\w? ": "bmi2",
    r"v": "avx",
    r"vp(?!erm2f128|ermilp|test)\w+ .*%ymm|v(gather|pgather|extracti128|inserti128|perm2i128|broadcasti)\w* ": "avx2",
    r"vfn?m(add|sub)\w+ ": "fma",
    r"(vcvtph2ps|vcvtps2ph) ": "f16c",
    r".*(%zmm|%k[0-7]|%[xy]mm(1[6-9]|2\d|3[01]))|v(pternlog|pmullq|align[dq]|permt2|permi2|pro[lr]|psraq|pabsq|rndscale|range"
    r"|reduce|pconflict|plzcnt|scalef|getexp|getmant|fixupimm|pcompress|pexpand|broadcast[fi](32|64)x)": "avx512f",
    r"(vdpbf16ps|vcvtne2?ps2bf16\w?) ": "avx512_bf16",
    r"\{vex\} vpdp\w+ ": "avx_vnni",
    r"vpdp(bus|wss)ds? ": "avx512_vnni",
    r"(vperm(b|[it]2b)|vpmultishiftqb) ": "avx512vbmi",
    r"(v(pcompress|pexpand)[bw]|vpsh[lr]dv?[wdq]) ": "avx512_vbmi2",
    r"vpmadd52\w+ ": "avx512ifma",
    r"(vpopcnt[bw]|vpshufbitqmb) ": "avx512_bitalg",
    r"vpopcnt[dq] ": "avx512_vpopcntdq",
    r"v?gf2p8\w+ ": "gfni",
    r"(vmovw|vmovsh|v(add|sub|mul|div|max|min|sqrt|cmp\w*|reduce|rndscale|scalef|getexp|getmant|fc?(madd|mul)c|fn?m(add|sub)\d*)[ps]h"
    r"|vcvt(w|uw|u?[dq]q|pd|s[ds]|u?si)2[ps]hx?|vcvtt?[ps]h2(?!ps )\w+|vcvtps2phx) ": "avx512_fp16",
    r"(tile\w+|ldtilecfg|sttilecfg|tdp\w+) ": "amx_tile",
    r"tdpbf16ps ": "amx_bf16",
    r"tdpb[su][su]d ": "amx_int8",
    r"(extrq|insertq|movnts[sd]) ": "sse4a",
    r"(v?aes\w+|v?pclmul\w+|sha(1|256)\w+|ad[co]x\w?|rdrand|rdseed|prefetchw\w*|clwb|clzero|vp2intersect\w+|vpcomu?[bwdq]|vprot[bwdq]"
    r"|tdpfp16ps) ": "",
}


def compile_alone(folder, variant, *options):
    """Compiles the example for one variant, with random weights; returns what it asks for and its instructions."""
    bundle = folder / f"{variant}{''.join(options)}"
    text = (EXAMPLE / "model.yaml").read_text()
    for file in EXAMPLE.iterdir():
        text = text.replace(f": {file.name}", f": {file}")
    spec = folder / "spec.yaml"
    spec.write_text(text if options else f"{text}\ntypes: {MIXED}\n")
    subprocess.run([ATTNC, "compile", spec, "-o", bundle, "--target", variant, "--weights", "random:1", *options],
                   check=True, stdout=subprocess.DEVNULL, timeout=600)
    (described,) = json.loads((bundle / "manifest.json").read_text())["variants"]
    (library,) = bundle.glob("*.so")
    listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", library], check=True, capture_output=True, text=True)
    lines = (line.partition("\t")[2] for line in listing.stdout.splitlines() if re.match(r" +[0-9a-f]+:\t", line))
    instructions = collections.Counter(" ".join(line.split("#")[0].split()) + " " for line in lines)
    return set(described["features"].split()), instructions


class Instructions(unittest.TestCase):
    def check(self, variants, *options):
        with tempfile.TemporaryDirectory() as folder:
            for variant in variants:
                with self.subTest(variant=variant):
                    self.check_variant(pathlib.Path(folder), variant, options)

    def check_variant(self, folder, variant, options):
        asked, instructions = compile_alone(folder, variant, *options)
        self.assertGreater(sum(instructions.values()), 10000)
        for family, features in FAMILIES.items():
            if asked.isdisjoint(features.split()):
                self.assertEqual([], [each for each in instructions if re.match(family, each)][:3], features or "no feature")

    def test_variants_ask_for_what_their_float32_is_made_of(self):
        self.check(OF_FLOATS, "--dtype", "f32")

    def test_variants_ask_for_what_their_smaller_types_are_made_of(self):
        self.check(OF_ALL)

    def test_families_are_found(self):
        """Each of these is an instruction of the feature, or it would be missed above."""
        examples = {"vfmadd231ps (%rax),%zmm1,%zmm2": "avx avx512f fma", "extrq $0x8,$0x10,%xmm0": "sse4a", "shlx %rax,%rbx,%rcx": "bmi2",
                    "vpaddd %ymm1,%ymm2,%ymm3": "avx avx2", "vaddps %ymm1,%ymm2,%ymm3": "avx", "tdpbf16ps %tmm0,%tmm1,%tmm2": "amx_tile amx_bf16",
                    "vmovw %eax,%xmm0": "avx avx512_fp16", "vcvtph2ps %xmm0,%ymm0": "avx f16c", "addps %xmm0,%xmm1": "", "ret": "",
                    "{vex} vpdpbusd %ymm0,%ymm1,%ymm2": "avx_vnni", "vpdpbusd %zmm0,%zmm1,%zmm2": "avx avx512f avx512_vnni",
                    "vpermb %zmm0,%zmm1,%zmm2": "avx avx512f avx512vbmi"}
        for instruction, features in examples.items():
            found = {word for family, names in FAMILIES.items() if re.match(family, instruction + " ") for word in names.split()}
            self.assertEqual(set(features.split()), found, instruction)


if __name__ == "__main__":
    unittest.main()
