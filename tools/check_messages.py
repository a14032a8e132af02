#!/usr/bin/env python3
"""Checks that docs/troubleshooting.md knows what the program says.

usage: check_messages.py ROOT. Takes the sentences of the sources in SOURCES: texts in quotes, joined
where they stand side by side, of at least four words. Their fixed parts (between the {} of fmt) of at
least three words, as far as the first parenthesis, must stand in the page.
"""
import pathlib
import re
import sys

SOURCES = ("src/train/advice.cpp", "src/train/weights_file.cpp")
PAGE = "docs/troubleshooting.md"
LITERALS = re.compile(r'"((?:[^"\\\n]|\\.)*)"(?:\s*"((?:[^"\\\n]|\\.)*)")*')
ONE = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def sentences(text):
    text = re.sub(r"^\s*(#include|//).*$", "", text, flags=re.M)
    for match in LITERALS.finditer(text):
        sentence = "".join(ONE.findall(match.group(0))).replace('\\"', '"')
        if len(sentence.split()) >= 4 and "\\n" not in sentence:
            yield sentence


def fixed_parts(sentence):
    for part in re.split(r"\{[^}]*\}|[()]", sentence):
        part = part.strip(" ;:,")
        if len(part.split()) >= 3:
            yield part


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    page = (root / PAGE).read_text(encoding="utf-8").replace("`", "")
    count, problems = 0, []
    for source in SOURCES:
        for sentence in sentences((root / source).read_text(encoding="utf-8")):
            for part in fixed_parts(sentence):
                count += 1
                if part not in page:
                    problems.append(f"{PAGE} lacks a sentence of {source}: {part}")
    print("\n".join(problems) or f"{count} parts of sentences, all in {PAGE}")
    return 1 if problems or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
