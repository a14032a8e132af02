#!/usr/bin/env bash
# Installs what the tests need, builds, and runs everything through ctest: release, then the sanitizers.
# usage: ./test.sh [-y] [--quick] [ctest arguments...]
#   -y       do not ask before sudo
#   --quick  release only, without the sanitizer builds
# Other arguments go to ctest, e.g.  ./test.sh --quick -L data -R jpeg
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

install=()
quick=0
arguments=()
for argument in "$@"; do
  case $argument in
    -y) install+=(-y) ;;
    --quick) quick=1 ;;
    -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) arguments+=("$argument") ;;
  esac
done
tools/install_deps.sh --tests "${install[@]}"

ran=0 failed=0 skipped=0 broken=0
summary=()

# The number that a JUnit file holds under a name, e.g. tests="12".
junit_number() {
  LC_ALL=C sed -n "/\b$2=\"[0-9]/{s/.*\b$2=\"\([0-9]*\)\".*/\1/p;q}" "$1"
}

# run_preset PRESET [--only LABELS TARGETS...]: configure, build, test; adds to the totals.
run_preset() {
  local preset=$1 labels=() build=() started=$SECONDS
  if [ "${2:-}" = --only ]; then
    labels=(-L "$3")
    build=(--target "${@:4}")
  fi
  mkdir -p build
  local results=$PWD/build/tests-$preset.xml
  rm -f "$results"
  cmake --preset "$preset" -DPOUNCE_TESTS=ON >"build/configure-$preset.log" 2>&1 ||
    { cat "build/configure-$preset.log"; exit 1; }
  cmake --build --preset "$preset" "${build[@]}"
  echo "$preset: built in $((SECONDS - started)) s"
  ctest --test-dir "build/$preset" --output-on-failure --parallel 2 --no-tests=ignore \
    --output-junit "$results" "${labels[@]}" "${arguments[@]}" || broken=1
  [ -f "$results" ] || { summary+=("$preset 0"); return; }
  local tests
  tests=$(junit_number "$results" tests)
  ran=$((ran + tests))
  failed=$((failed + $(junit_number "$results" failures)))
  skipped=$((skipped + $(junit_number "$results" skipped)))
  summary+=("$preset $tests in $((SECONDS - started)) s")
}

run_preset release
if [ $quick -eq 0 ]; then
  run_preset asan
  run_preset tsan --only '^(base|data)$' test_base test_data
fi

printf -v presets '%s, ' "${summary[@]}"
echo "tests: $ran run, $((ran - failed - skipped)) passed, $skipped skipped, $failed failed (${presets%, })"
[ $broken -eq 0 ] && [ "$failed" -eq 0 ] && [ "$ran" -gt 0 ]
