#!/usr/bin/env python3
"""Fails when docs/coverage.md names a test that does not exist.

usage: check_coverage.py ROOT
In the columns after the first, words in backticks are names of tests or of their cases (`*` stands for what may follow),
and words ending in .py or .cpp are files; all must be found below tests/ or examples/.
"""
import pathlib
import re
import sys

FILES = (".py", ".cpp", ".c", ".h", ".yaml", ".mlir")


def names(page):
    """(line, name) for each test that the page's tables claim."""
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if not line.startswith("|"):
            continue
        claims = line.split(" | ", 1)[1] if " | " in line else ""
        for name in re.findall(r"`([^`]+)`", claims):
            yield number, name
        for name in re.findall(r"\w+\.(?:py|cpp)", claims):
            yield number, name


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    page = root / "docs/coverage.md"
    files = [file for folder in ("tests", "examples") for file in (root / folder).rglob("*")
             if file.is_file() and file.suffix in FILES]
    known = "\n".join(file.name + "\n" + file.read_text(errors="replace") for file in files)
    claims = list(names(page))
    missing = [f"{page.relative_to(root)}:{number}: no test has '{name}'" for number, name in claims
               if not all(part.strip("_") in known for part in name.split("*"))]
    print("\n".join(missing))
    print(f"{len(claims)} names")
    return bool(missing) or len(claims) < 100


if __name__ == "__main__":
    sys.exit(main())
