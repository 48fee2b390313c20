#!/usr/bin/env python3
"""Fails when an #include points to the right in the flow of docs/architecture.md.

usage: check_layers.py ROOT
A folder may include itself and what stands to its left. The dialect knows neither YAML nor Halide, the runtime
knows nothing of the compiler.
"""
import pathlib
import re
import sys

# Folder -> folders it may include, besides itself.
ALLOWED = {
    "runtime": [],
    "dialect": [],
    "compiler/spec": [],
    "compiler/huggingface": ["compiler/spec", "runtime"],
    "compiler/import": ["compiler/spec", "dialect"],
    "compiler/kernels": ["dialect"],
    "compiler/schedules": ["compiler/kernels", "dialect"],
    "compiler/emit": ["compiler/spec", "compiler/kernels", "compiler/schedules", "dialect", "runtime"],
    "compiler/tune": ["compiler/spec", "compiler/schedules"],
    "compiler/driver": ["compiler", "dialect", "runtime"],
}
# What a spec and a call have in common.
SHARED = ("attnrt/ranges.hpp",)
# Folder -> libraries whose headers it must not see.
FORBIDDEN = {
    "runtime": ("mlir/", "llvm/", "Halide", "yaml-cpp/"),
    "dialect": ("Halide", "yaml-cpp/"),
    "compiler/spec": ("mlir/", "Halide"),
    "compiler/huggingface": ("mlir/", "llvm/", "Halide", "yaml-cpp/"),
    "compiler/import": ("Halide", "yaml-cpp/"),
    "compiler/kernels": ("yaml-cpp/",),
    "compiler/schedules": ("yaml-cpp/",),
}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')


def layer(path):
    """The layer a project path belongs to, or None."""
    if path.startswith("attnrt/"):
        return "runtime"
    return max((l for l in ALLOWED if path.startswith(l + "/")), key=len, default=None)


def check(root, source):
    """Yields a message for every include of `source` that breaks the rule."""
    own = layer(str(source.relative_to(root)))
    for number, line in enumerate(source.read_text(errors="replace").splitlines(), 1):
        match = INCLUDE.match(line)
        if not match or not own or match[1] in SHARED:
            continue
        header = match[1]
        where = f"{source.relative_to(root)}:{number}"
        if header.startswith(FORBIDDEN.get(own, ())):
            yield f"{where}: {own} must not include {header}"
        other = layer(header)
        if other and other != own and not any(other.startswith(a) for a in ALLOWED[own]):
            yield f"{where}: {own} must not include {other} ({header})"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    sources = [p for l in ("runtime", "dialect", "compiler") for p in (root / l).rglob("*") if p.suffix in (".h", ".hpp", ".cpp", ".c")]
    messages = [m for source in sources for m in check(root, source)]
    print("\n".join(messages))
    print(f"{len(sources)} files, {len(messages)} includes that point to the right")
    return bool(messages) or not sources


if __name__ == "__main__":
    sys.exit(main())
