#!/usr/bin/env python3
"""Checks that README.md and its translations show the same commands, outputs, figures and links.

usage: check_readmes.py ROOT. Compared are indented blocks line by line (without comments behind #),
words in backticks, numbers and link targets. A paragraph may order its own differently.
"""
import collections
import pathlib
import re
import sys

TRANSLATIONS = ("README.zh-CN.md", "README.zh-TW.md")
NUMBER = re.compile(r"\d[\d,.]*\d(?:e-?\d+)?|\d")


def parts(text):
    """What has to agree: {name: list}."""
    lines = text.splitlines()
    prose = "\n".join(line for line in lines if not line.startswith("    "))
    links = re.findall(r"\]\(([^)]+)\)", prose)
    words = re.findall(r"`([^`]+)`", prose)
    plain = re.sub(r"`[^`]+`|\]\([^)]+\)", " ", prose)
    return {
        "block line": [re.sub(r"\s+# .*", "", line) for line in lines if line.startswith("    ")],
        "word in backticks": sorted(words),
        "number": sorted(NUMBER.findall(plain)),
        "link": sorted(link for link in links if not link.startswith("README")),
        "heading": [re.match("#+", line)[0] for line in lines if line.startswith("#")],
    }


def differences(name, expected, found):
    for part, wanted in expected.items():
        if wanted == found[part]:
            continue
        missing = collections.Counter(wanted) - collections.Counter(found[part])
        added = collections.Counter(found[part]) - collections.Counter(wanted)
        for item in missing:
            yield f"{name}: {part} is missing: {item.strip()}"
        for item in added:
            yield f"{name}: {part} is not in README.md: {item.strip()}"
        if not missing and not added:
            yield f"{name}: the order of each {part} is another one"


def main():
    root = pathlib.Path(sys.argv[1])
    names = ("README.md",) + TRANSLATIONS
    texts = {name: (root / name).read_text(encoding="utf-8") for name in names}
    expected = parts(texts["README.md"])
    problems = [line for name in TRANSLATIONS
                for line in differences(name, expected, parts(texts[name]))]
    for name, text in texts.items():
        problems += [f"{name}: no link to {other}" for other in names
                     if other != name and f"]({other})" not in text]
    problems += [f"README.md: no {part} found" for part, items in expected.items() if not items]
    print("\n".join(problems) or f"{len(names)} files agree")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
