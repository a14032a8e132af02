#!/usr/bin/env python3
"""Checks that includes point downwards only: the table of docs/architecture.md, in code.

usage: check_includes.py ROOT. Prints every include that breaks a rule; exit 1 if there is one.
"""
import pathlib
import re
import sys

# Folder of src/ -> folders it may include besides itself.
MAY_INCLUDE = {
    "base": set(),
    "ir": {"base"},
    "target": {"base"},
    "autodiff": {"base", "ir", "target"},
    "passes": {"base", "ir", "target"},
    "plan": {"base", "ir", "target"},
    "formats": {"base", "ir"},
    "backend": {"base", "ir", "target", "autodiff", "passes", "plan", "formats"},
    "data": {"base"},
    "engine": {"base", "ir", "target", "autodiff", "passes", "plan", "formats", "backend"},
    "nn": {"base", "ir"},
    "train": {"base", "ir", "target", "autodiff", "passes", "plan", "formats", "backend", "data",
              "engine", "nn"},
    "api": {"base", "ir", "target", "autodiff", "passes", "plan", "formats", "backend", "data",
            "engine", "nn", "train"},
    # The command line is the first user of the public headers; base serves it with terminal,
    # files and text.
    "cli": {"base"},
}

# Public headers a folder below the public API may include.
PUBLIC_BELOW = {"pounce/dtype.h", "pounce/error.h", "pounce/fit.h"}
SEES_WHOLE_PUBLIC_API = {"train", "api", "cli"}

# Operating-system headers belong to src/base; signal handlers to src/cli.
OS_HEADERS = re.compile(r"^(unistd|fcntl|dirent|sched|sys/.*|poll|termios|windows|dlfcn|pthread)\.h$")


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    problems = []
    sources = [p for p in (root / "src").rglob("*") if p.suffix in {".h", ".cpp"}]
    for path in sorted(sources):
        relative = path.relative_to(root / "src")
        folder = relative.parts[0]
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            found = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
            if not found:
                continue
            kind, name = found.groups()
            where = f"src/{relative}:{number}: {line.strip()}"
            if kind == "<":
                if folder != "base" and OS_HEADERS.match(name):
                    problems.append(f"{where}: operating-system headers belong to src/base")
                continue
            target = name.split("/")[0]
            if target == "pounce":
                if name not in PUBLIC_BELOW and folder not in SEES_WHOLE_PUBLIC_API:
                    problems.append(f"{where}: only train, api and cli see the public API")
            elif folder not in MAY_INCLUDE:
                problems.append(f"{where}: src/{folder} is not in the table of this script")
            elif target != folder and target not in MAY_INCLUDE[folder]:
                problems.append(f"{where}: {folder} may not include {target}")
            if folder == "backend" and target == "backend" and not backend_may_include(relative, name):
                problems.append(f"{where}: one device's folder may not include another's")
    for path in sorted((root / "include").rglob("*.h")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            found = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
            if found and not found.group(1).startswith("pounce/"):
                problems.append(f"{path.relative_to(root)}:{number}: {line.strip()}: "
                                "public headers include public headers only")
    if not sources:
        problems.append(f"{root}: no sources under src/")
    print("\n".join(problems) or f"{len(sources)} files, includes point downwards")
    return 1 if problems else 0


def backend_may_include(relative: pathlib.Path, name: str) -> bool:
    """A device's folder sees itself, shared kernels, what GPUs share, the files directly in
    backend/ and the reference kernels, which end every host backend's implementation lists."""
    if len(relative.parts) == 2:  # backend.h, registry.cpp
        return name.count("/") == 1 or relative.name.startswith("registry")
    device, parts = relative.parts[1], name.split("/")
    return len(parts) == 2 or parts[1] in {device, "kernels", "gpu"} or name == "backend/reference/kernels.h"


if __name__ == "__main__":
    sys.exit(main())
