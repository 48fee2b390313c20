#!/usr/bin/env python3
"""Fails when docs/coverage.md names a test that is not in the file it names.

usage: check_coverage.py ROOT
In the columns after the first, words in backticks and texts of links that are no file names (several with commas between)
are names of tests or of their cases (`*` stands for what may follow). A link's text must be in the file it leads to, a word
in backticks in a file that is named in its cell, in the head of its column, or in the section's text above the table. Files
are links or bare names of files below tests/ or examples/.
"""
import pathlib
import re
import sys

LINK = re.compile(r"\[([^\]]+)\]\(([^)#]+)\)")
SUFFIXES = (".py", ".cpp", ".yaml", ".mlir")
FILE_NAME = re.compile(r"[\w-]+\.(?:py|cpp|yaml|mlir)")


class Page:
    def __init__(self, root):
        self.path = root / "docs/coverage.md"
        self.mistakes = []
        self.claims = 0
        self.files = {}  # by name
        for folder in ("tests", "examples"):
            for file in (root / folder).rglob("*"):
                if file.is_file():
                    self.files.setdefault(file.name, []).append(file)

    def miss(self, number, text):
        self.mistakes.append(f"{self.path.name}:{number}: {text}")

    def find_files(self, number, text):
        """The files that `text` names: links, and names that stand alone."""
        linked = [(self.path.parent / target).resolve() for _, target in LINK.findall(text)]
        found = [file for file in linked if file.suffix in SUFFIXES and file.is_file()]
        for name in FILE_NAME.findall(re.sub(r"`[^`]*`", "", LINK.sub("", text))):
            if name not in self.files:
                self.miss(number, f"no file '{name}'")
            found += self.files.get(name, [])
        return found

    def expect(self, number, name, files):
        self.claims += 1
        # Names of cases are put together from strings, so what comes before a `*` may be followed by anything.
        parts = [rf"(?<!\w){re.escape(part.strip('_'))}" for part in name.split("*") if part]
        parts[-1] += "" if name.endswith("*") else r"(?!\w)"
        if not any(all(re.search(part, file.read_text(errors="replace")) for part in parts) for file in files):
            where = ", ".join(file.name for file in files) or "no file that is named"
            self.miss(number, f"'{name}' is not in {where}")

    def check_cell(self, number, cell, around):
        for text, target in LINK.findall(cell):
            file = (self.path.parent / target).resolve()
            if file.suffix in SUFFIXES and file.is_file() and not FILE_NAME.fullmatch(text):
                for name in text.split(", "):
                    self.expect(number, name.strip("`"), [file])
        files = self.find_files(number, cell)
        self.claims += len(files)
        for name in re.findall(r"`([^`]+)`", LINK.sub("", cell)):
            self.expect(number, name, files + around)

    def check(self):
        section, heads = [], None  # files of the section's text; of each column
        for number, line in enumerate(self.path.read_text().splitlines(), 1):
            if line.startswith("#"):
                section, heads = [], None
            elif not line.startswith("|"):
                section, heads = section + self.find_files(number, line), None
            elif heads is None:
                heads = [self.find_files(number, cell) for cell in line.strip("|").split("|")]
            else:
                cells = line.strip("|").split("|")
                for cell, head in list(zip(cells, heads))[1:]:
                    self.check_cell(number, cell, head + section)


def main():
    page = Page(pathlib.Path(sys.argv[1]).resolve())
    page.check()
    print("\n".join(page.mistakes))
    print(f"{page.claims} names")
    return bool(page.mistakes) or page.claims < 100


if __name__ == "__main__":
    sys.exit(main())
