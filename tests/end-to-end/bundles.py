"""Compiles bundles and runs attnc for the end-to-end tests. Standard library only."""

import ctypes
import ctypes.util
import functools
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile
import unittest

# A sanitizer's runtime is preloaded where it has to be, so that Python can load bundles; other programs have their own.
for _name in ("LD_PRELOAD", "LSAN_OPTIONS", "PYTHONMALLOC"):
    os.environ.pop(_name, None)

ROOT = pathlib.Path(__file__).resolve().parents[2]
ATTNC = os.environ.get("ATTNC", str(ROOT / "build/ci/bin/attnc"))
CC = shlex.split(os.environ.get("CC", "cc"))
MODELS = pathlib.Path(os.environ.get("ATTNC_MODELS", ROOT.parent / "shared/models"))
SPECS = pathlib.Path(__file__).resolve().parent / "specs"

_scratch = tempfile.TemporaryDirectory(prefix="attnc-e2e-")


def attnc(*arguments, text="", check=True):
    """Runs attnc; returns its standard output. Fails the test with attnc's own message."""
    done = subprocess.run([ATTNC, *map(str, arguments)], input=text, capture_output=True, text=True, timeout=3600)
    if check and done.returncode != 0:
        raise AssertionError(f"attnc {' '.join(map(str, arguments))} exited with {done.returncode}:\n{done.stderr}")
    return done.stdout if check else done


def scratch(name):
    """A fresh path in the scratch folder."""
    return pathlib.Path(_scratch.name) / f"{len(os.listdir(_scratch.name))}-{name}"


def lay_out(spec, model):
    """Puts a spec beside the files of a real model, as the spec expects them; returns the spec's new path."""
    folder = scratch(model)
    folder.mkdir()
    for file in (MODELS / model).iterdir():
        (folder / file.name).symlink_to(file)
    return pathlib.Path(shutil.copy(spec, folder))


def compile_bundle(spec, *options):
    """Compiles `spec` into a scratch folder, for the variants that this machine runs unless told: others would show nothing
    and take as long. Returns the bundle's path."""
    bundle = scratch(spec.stem)
    if "--target" not in options:
        dtype = options[options.index("--dtype") + 1] if "--dtype" in options else "f32"
        options += "--target", ",".join(variants(dtype))
    attnc("compile", spec, "-o", bundle, *options)
    return bundle


@functools.cache
def variants(dtype="f32"):
    """The variants of a bundle with matrices of this type that this machine can run: attnc itself says which."""
    spec, bundle = scratch("one.yaml"), scratch("one")
    spec.write_text("graph: {name: one, inputs: {x: {shape: [row, width: 16]}}, weights: {w: {shape: [16, 16]}}, "
                    "ops: {y: {linear: [x, w]}}, outputs: y}\n")
    attnc("compile", spec, "-o", bundle, "--weights", "random:1", "--dtype", dtype)
    named = [variant["name"] for variant in json.loads((bundle / "manifest.json").read_text())["variants"]]
    run = [name for name in named if attnc("inspect", bundle, "--variant", name, check=False).returncode == 0]
    for name in set(named) - set(run):
        print(f"this machine does not run {name}: not compiled for it, or not compared")
    return run


def build_program(source, *parts):
    """Builds a C program with the runtime in it; returns its path."""
    program = scratch(source.stem)
    subprocess.run([*CC, "-std=c11", "-Wall", "-Wextra", "-Werror", source, "-o", program, f"-I{ROOT / 'runtime/include'}", *parts,
                    os.environ["ATTNRT"], "-lsentencepiece", "-lutf8proc", "-lstdc++", "-lm", "-lpthread", "-ldl"], check=True)
    return program


class Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def seal(manifest):
    """The text of a manifest that was changed, with the hash that it ends with."""
    hashing = ctypes.CDLL(ctypes.util.find_library("xxhash"))
    hashing.XXH3_128bits.restype = Hash128
    text = json.dumps({key: value for key, value in manifest.items() if key != "hash"}, indent=1)[:-2]
    hashed = hashing.XXH3_128bits(text.encode(), ctypes.c_size_t(len(text.encode())))
    return f'{text},\n "hash": "{hashed.high:016x}{hashed.low:016x}"\n}}\n'


def reference(model):
    """The reference outputs of a real model, or skips the test where the models are missing."""
    path = MODELS / model / "pairs.json"
    if not path.exists():
        raise unittest.SkipTest(f"{path} is missing: the real models are not part of the project")
    return json.loads(path.read_text())


def ids(numbers):
    return " ".join(map(str, numbers))


def run_ids(bundle, sources, *options):
    """Decodes id lists; returns (ids, score) per output line."""
    text = "".join(ids(s) + "\n" for s in sources)
    lines = attnc("run", bundle, "--ids", "--scores", *options, text=text).splitlines()
    pairs = [line.rsplit("\t", 1) for line in lines]
    return [([int(i) for i in line.split()], float(score)) for line, score in pairs]
