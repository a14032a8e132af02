#!/usr/bin/env python3
"""Installs a build, builds examples/ against it alone, runs them, and compares with docs/library.md.

usage: examples_test.py SOURCE BUILD CMAKE COMPILER [--update]
The page shows every example as it is, between `<!-- examples/NAME.cpp -->` and its code block, and
what it prints, after `<!-- output of NAME -->`. Words must be equal; a number with a point may
differ by 10 % or 0.05, since CPU types round differently. --update writes the page anew.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

NUMBER = re.compile(r"\d+\.\d+")
RELATIVE, ABSOLUTE = 0.10, 0.05
EXAMPLES = ["train", "custom_network", "custom_loss", "own_data"]


def run(*command: object, cwd: pathlib.Path) -> str:
    # Under a different LC_ALL or with a palette in the environment tools print otherwise.
    done = subprocess.run([str(part) for part in command], cwd=cwd, text=True, capture_output=True,
                          env={**os.environ, "LC_ALL": "C", "OMP_WAIT_POLICY": "passive"})
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def build(source: pathlib.Path, build_folder: pathlib.Path, cmake: str, compiler: str,
          work: pathlib.Path) -> None:
    for component in ["library", "development"]:
        run(cmake, "--install", build_folder, "--prefix", work / "installed", "--component",
            component, cwd=work)
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if has_ccache() else []
    run(cmake, "-S", source / "examples", "-B", work / "build", f"-DCMAKE_CXX_COMPILER={compiler}",
        f"-DCMAKE_PREFIX_PATH={work / 'installed'}", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror",
        *launcher, cwd=work)
    run(cmake, "--build", work / "build", "--parallel", 2, cwd=work)


def has_ccache() -> bool:
    return subprocess.run(["sh", "-c", "command -v ccache"], capture_output=True).returncode == 0


def block(page: str, marker: str) -> tuple[int, int]:
    """Where the code block after `marker` has its text."""
    at = page.find(f"<!-- {marker} -->\n")
    found = at >= 0 and re.compile(r"```\w*\n(.*?)```", re.S).search(page, at)
    if not found:
        sys.exit(f"docs/library.md: no code block after <!-- {marker} -->")
    return found.span(1)


def differences(expected: str, printed: str) -> list[str]:
    problems = []
    if NUMBER.sub("#", expected) != NUMBER.sub("#", printed):
        return [f"the page shows\n{expected}it prints\n{printed}"]
    for a, b in zip(NUMBER.findall(expected), NUMBER.findall(printed)):
        if abs(float(a) - float(b)) > max(ABSOLUTE, RELATIVE * abs(float(a))):
            problems.append(f"{a} on the page, {b} printed")
    return problems


def main() -> int:
    source, build_folder = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
    cmake, compiler = sys.argv[3:5]
    update = "--update" in sys.argv[5:]
    page_path = source / "docs" / "library.md"
    page = page_path.read_text(encoding="utf-8")
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        build(source, build_folder, cmake, compiler, work)
        for name in EXAMPLES:
            code = (source / "examples" / f"{name}.cpp").read_text(encoding="utf-8")
            arguments = [] if name == "own_data" else [source / "samples" / "digits"]
            printed = run(work / "build" / name, *arguments, cwd=work)
            for marker, text in [(f"examples/{name}.cpp", code), (f"output of {name}", printed)]:
                begin, end = block(page, marker)
                if update:
                    page = page[:begin] + text + page[end:]
                elif marker.startswith("examples/") and page[begin:end] != text:
                    problems.append(f"docs/library.md shows another {marker}")
                elif not marker.startswith("examples/"):
                    problems += [f"{name}: {each}" for each in differences(page[begin:end], text)]
    if update:
        page_path.write_text(page, encoding="utf-8")
    print("\n".join(problems) or f"{len(EXAMPLES)} examples print what docs/library.md shows")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
