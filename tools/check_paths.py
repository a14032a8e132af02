#!/usr/bin/env python3
"""Checks that every path and link named in the documentation exists.

usage: check_paths.py ROOT. Reads *.md of the root, docs/, samples/ and tests/. A path is text in
backticks that starts with a folder or dot folder of the repository, such as `src/ir/op.h`; in it
<name> and * stand for anything. A link is [text](target); targets with a scheme are left alone.
"""
import pathlib
import re
import sys

FOLDERS = ("src", "include", "tests", "tools", "docs", "cmake", "samples", ".ci")
PATH = re.compile(r"`((?:" + "|".join(map(re.escape, FOLDERS)) + r")/[^`\s]*)`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def documents(root):
    yield from root.glob("*.md")
    for folder in ("docs", "samples", "tests"):
        yield from (root / folder).rglob("*.md")


def exists(root, path):
    pattern = re.sub(r"<[^>]*>", "*", path).rstrip("/")
    return bool(pattern) and any(True for _ in root.glob(pattern))


def missing_in(document, root):
    """(line number, name) of what does not exist, and how many names there were."""
    missing, count = [], 0
    for number, line in enumerate(document.read_text(encoding="utf-8").splitlines(), 1):
        names = [(name, exists(root, name)) for name in PATH.findall(line)]
        for target in LINK.findall(line):
            file = target.split("#")[0]
            if not file or re.match(r"[a-z]+:", target):
                continue
            names.append((target, (document.parent / file).exists()))
        count += len(names)
        missing += [(number, name) for name, found in names if not found]
    return missing, count


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    total, problems = 0, []
    for document in sorted(documents(root)):
        missing, count = missing_in(document, root)
        total += count
        problems += [f"{document.relative_to(root)}:{number}: {name} does not exist"
                     for number, name in missing]
    print("\n".join(problems) or f"{total} paths and links, all there")
    return 1 if problems or total == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
