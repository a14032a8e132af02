#!/usr/bin/env bash
# Builds the fuzzers and runs every target for a while; exit 1, naming the input, at the first finding.
# usage: fuzz/run.sh [SECONDS [TARGET...]]     defaults: 30 each, all targets; 600 is the full length
# New inputs that reach new code gather in build/fuzz/corpus/<target>; those in the repository stay as
# they are. Needs Clang (package clang).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case ${1:-} in -h | --help) sed -n '2,5s/^# //p' "$0"; exit 0 ;; esac
seconds=${1:-30}
shift || true
[[ $seconds =~ ^[1-9][0-9]*$ ]] || { echo "fuzz/run.sh: SECONDS is a whole number, not $seconds" >&2; exit 2; }

# Large freed blocks kept back for ASan's sake would count against the limit below.
export ASAN_OPTIONS=quarantine_size_mb=16
mkdir -p build
[ -f build/fuzz/build.ninja ] || cmake --preset fuzz >build/configure-fuzz.log 2>&1 ||
  { cat build/configure-fuzz.log >&2; exit 1; }
cmake --build build/fuzz --target fuzzers

targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
  for folder in fuzz/corpus/*/; do targets+=("$(basename "$folder")"); done
fi
for target in "${targets[@]}"; do
  program=build/fuzz/fuzz/fuzz_$target
  [ -x "$program" ] || { echo "fuzz/run.sh: no target $target" >&2; exit 2; }
  found=build/fuzz/corpus/$target
  findings=build/fuzz/findings
  mkdir -p "$found" "$findings"
  # A decoder may ask for the largest picture there is (512 MiB) where only it understands the header.
  if ! "$program" -max_total_time="$seconds" -max_len=16384 -timeout=20 -rss_limit_mb=2048 \
    -malloc_limit_mb=600 -print_final_stats=1 -artifact_prefix="$findings/$target-" \
    "$found" "fuzz/corpus/$target" >"build/fuzz/$target.log" 2>&1; then
    tail -40 "build/fuzz/$target.log" >&2
    newest=$(find "$findings" -name "$target-*" -printf '%T@ %p\n' | sort -n | tail -1 | cut -d' ' -f2-)
    echo "fuzz/run.sh: $target failed; again with: $program $newest" >&2
    exit 1
  fi
  runs=$(awk '/stat::number_of_executed_units/ { print $2 }' "build/fuzz/$target.log")
  echo "$target: $runs inputs in $seconds s, no finding"
done
