#!/usr/bin/env bash
# Checks that every C++ file is formatted as .clang-format says. usage: check_format.sh ROOT
# Exit 77 (skipped) without clang-format.
set -euo pipefail
cd "$1"
if ! command -v clang-format >/dev/null; then
  echo "clang-format is not installed: skipped"
  exit 77
fi
find src include tests -name '*.h' -o -name '*.cpp' | sort |
  xargs clang-format --dry-run -Werror
echo "formatted"
