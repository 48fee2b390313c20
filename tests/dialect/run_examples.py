"""Parses and verifies every operation's example in the generated documentation.

SPDX-License-Identifier: Apache-2.0
Usage: run_examples.py ATTNC_OPT DIALECT_DOC
"""

import re
import subprocess
import sys

MODULE_LEVEL = ("attn.weight ", "attn.state ", "attn.kernel ")


def split_lines(example):
    """Lines at module level, and lines of a function: a region belongs to the line that opens it."""
    module, function, target, depth = [], [], None, 0
    for line in example.splitlines():
        if depth == 0:
            target = module if line.startswith(MODULE_LEVEL) else function
        target.append(line)
        depth += line.count("{") - line.count("}")
    return module, function


def split_types(text):
    """Splits at the commas that stand outside of brackets."""
    types, depth = [""], 0
    for character in text:
        depth += character in "<(["
        depth -= character in ">)]"
        if character == "," and depth == 0:
            types.append("")
        else:
            types[-1] += character
    return [one.strip() for one in types if one.strip()]


def find_arguments(statement):
    """Operands of an operation and their types, which the wrapping function takes as arguments."""
    head, types = re.split(r" : ", statement.split("\n")[0].rstrip("{ "), maxsplit=1)
    operands = re.findall(r"%\w+", head.split("=")[-1])
    functional = re.match(r"\((.*)\) -> ", types)
    listed = split_types(functional.group(1)) if functional else [types] * len(operands)
    return dict(zip(operands, listed))


def wrap(example):
    module, function = split_lines(example)
    if not function:
        return "\n".join(module)
    arguments = ", ".join(f"{name}: {type}" for name, type in find_arguments("\n".join(function)).items())
    return "\n".join(module + [f"func.func @example({arguments}) {{"] + function + ["return", "}"])


def main(attnc_opt, document):
    text = open(document, encoding="utf-8").read()
    sections = re.split(r"^### `attn\.", text, flags=re.M)[1:]
    operations = [section for section in sections if section.startswith(tuple("abcdefghijklmnopqrstuvwxyz"))]
    failures = 0
    for section in operations:
        name = section.split("`")[0]
        examples = re.findall(r"```mlir\n(.*?)```", section, flags=re.S)
        if not examples:
            print(f"attn.{name} has no example")
            failures += 1
        for example in examples:
            source = wrap(example)
            result = subprocess.run([attnc_opt, "-"], input=source, capture_output=True, text=True)
            if result.returncode != 0 or f"attn.{name}" not in result.stdout:
                print(f"attn.{name}: the example does not verify\n{source}\n{result.stderr}")
                failures += 1
    print(f"{len(operations)} operations, {failures} failures")
    return 1 if failures or not operations else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
