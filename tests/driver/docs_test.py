#!/usr/bin/env python3
"""Each YAML block of the documentation is a whole spec that compiles, and what a page shows of `attnc explain` is what
attnc prints for the block before. Needs ATTNC."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```yaml\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
# An indented block; `...` on a line of its own stands for any number of lines.
SHOWN = re.compile(r"^    \$ attnc explain (\S+)\n((?:    .*\n|\n(?=    ))*)", re.MULTILINE)


def explain(text, name):
    with tempfile.TemporaryDirectory(prefix="attnc-docs-") as folder:
        (pathlib.Path(folder) / name).write_text(text)
        return subprocess.run([os.environ["ATTNC"], "explain", name, "--weights", "random:1"], cwd=folder,
                              capture_output=True, text=True, timeout=600)


def specs(page):
    """The YAML blocks of a page, each with the text up to the next."""
    text = page.read_text()
    blocks = list(BLOCK.finditer(text))
    ends = [block.start() for block in blocks[1:]] + [len(text)]
    return [(text.count("\n", 0, block.start()) + 2, block[1], text[block.end():end]) for block, end in zip(blocks, ends)]


def indented(text):
    return "".join("    " + line + "\n" if line else "\n" for line in text.strip("\n").split("\n"))


class Docs(unittest.TestCase):
    def test_blocks_compile_and_explain_what_is_shown(self):
        pages = sorted(ROOT.glob("docs/**/*.md"))
        blocks = [(page, *block) for page in pages for block in specs(page)]
        self.assertGreater(len(blocks), 15)
        for page, line, text, after in blocks:
            with self.subTest(page=f"{page.relative_to(ROOT)}:{line}"):
                shown = SHOWN.search(after)
                done = explain(text, shown[1] if shown else "model.yaml")
                self.assertEqual(0, done.returncode, done.stderr)
                if shown:
                    self.assert_shown(shown[2].strip("\n"), indented(done.stdout).strip("\n"))

    def assert_shown(self, shown, printed):
        parts = shown.split("    ...\n")
        if len(parts) == 1:
            self.assertEqual(shown, printed)
        for part in parts:
            self.assertIn(part, printed)
            printed = printed[printed.index(part) + len(part):]

    def test_each_page_of_attention_and_architectures_shows_a_spec_and_what_it_compiles_to(self):
        for folder in ("attention", "architectures"):
            for page in (ROOT / "docs" / folder).glob("*.md"):
                if page.name != "README.md":
                    with self.subTest(page=page.name):
                        self.assertTrue(any(SHOWN.search(after) for _, _, after in specs(page)))


if __name__ == "__main__":
    unittest.main()
