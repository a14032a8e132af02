#!/usr/bin/env python3
"""Checks that no source file is longer than 600 lines, and says which pass 300.

usage: check_size.py ROOT. Exit 1 if a file is too long: split it by what its parts are for.
"""
import pathlib
import sys

AIM, LIMIT = 300, 600
FOLDERS = ["src", "include", "tests", "tools", "bench", "fuzz", "examples", "cmake"]
SUFFIXES = {".h", ".cpp", ".k", ".py", ".sh", ".cmake"}


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines())
               for folder in FOLDERS for path in (root / folder).rglob("*")
               if path.suffix in SUFFIXES}
    long = sorted((path for path in lengths if lengths[path] > AIM), key=lambda p: -lengths[p])
    for path in long:
        note = f"  more than {LIMIT}: split it" if lengths[path] > LIMIT else ""
        print(f"{lengths[path]:5} {path.relative_to(root)}{note}")
    print(f"{len(lengths)} files, {len(long)} over {AIM} lines")
    return 1 if not lengths or any(length > LIMIT for length in lengths.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
