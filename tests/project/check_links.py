#!/usr/bin/env python3
"""Fails when a relative link in a Markdown file leads nowhere, or a page of docs/ is neither in docs/README.md nor in the
README.md of a folder that is.

usage: check_links.py ROOT
"""
import pathlib
import re
import sys

LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)]*)?\)")
FENCE = re.compile(r"^\s*```.*?^\s*```", re.MULTILINE | re.DOTALL)


def links(page):
    """Files that `page` links to."""
    for target in LINK.findall(FENCE.sub("", page.read_text())):
        if not re.match(r"[a-z]+:", target):
            yield (page.parent / target).resolve()


def find_pages(folder):
    """The Markdown files of the tree; what is built or installed lies in `build...` and in hidden folders."""
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.name.startswith((".", "build")):
            yield from find_pages(path)
        elif path.suffix == ".md":
            yield path


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    pages = list(find_pages(root))
    messages = [f"{page.relative_to(root)}: no {target}" for page in pages for target in links(page) if not target.exists()]
    known = set(links(root / "docs/README.md"))
    for index in [page for page in known if page.name == "README.md"]:
        known |= set(links(index))
    messages += [f"docs/README.md or its own: no link to {page.relative_to(root)}" for page in pages
                 if root / "docs" in page.parents and page not in known and page.name != "README.md"]
    print("\n".join(messages))
    print(f"{len(pages)} pages")
    return bool(messages) or not pages


if __name__ == "__main__":
    sys.exit(main())
