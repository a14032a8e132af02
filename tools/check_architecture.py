#!/usr/bin/env python3
"""Checks that docs/architecture.md mentions every folder of src/ and names no folder that is gone.

usage: check_architecture.py ROOT. Devices' folders below src/backend count as well.
"""
import pathlib
import re
import sys


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    text = (root / "docs" / "architecture.md").read_text(encoding="utf-8")
    mentioned = {name.rstrip("/") for name in re.findall(r"src(?:/[a-z_]+)+\b(?!\.)", text)}
    folders = {f"src/{path.name}" for path in (root / "src").iterdir() if path.is_dir()}
    folders |= {f"src/backend/{path.name}" for path in (root / "src/backend").iterdir()
                if path.is_dir()}
    problems = [f"{name} is not mentioned" for name in sorted(folders - mentioned)]
    problems += [f"{name} does not exist" for name in sorted(mentioned)
                 if not (root / name).exists() and not list(root.glob(f"{name}.*"))]
    print("\n".join(f"docs/architecture.md: {problem}" for problem in problems)
          or f"{len(folders)} folders, all described")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
