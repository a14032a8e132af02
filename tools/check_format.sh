#!/usr/bin/env bash
# Checks that every C++ file is formatted as .clang-format says. usage: check_format.sh ROOT
# Exit 77 (skipped) without clang-format 14: other versions break lines elsewhere.
set -euo pipefail
cd "$1"
if ! clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
  echo "clang-format 14 (Debian 12's) is not installed: skipped"
  exit 77
fi
mapfile -t files < <(find src include tests examples -name '*.h' -o -name '*.cpp' | sort)
wrong=$(clang-format --dry-run "${files[@]}" 2>&1 | sed -n 's/^\([^:]*\):[0-9].*clang-format-violations.*/\1/p' |
  sort -u)
if [ -n "$wrong" ]; then
  printf 'not formatted; run clang-format -i on\n%s\n' "$wrong"
  exit 1
fi
echo "${#files[@]} files formatted"
