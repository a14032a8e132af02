#!/usr/bin/env bash
# From a fresh clone to a trained classifier: installs what is missing, builds, trains on the shipped digits, predicts.
# usage: ./quickstart.sh [-y]     -y: do not ask before sudo
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

case ${1:-} in
  "" | -y) ;;
  *) echo "usage: ./quickstart.sh [-y]" >&2; exit 2 ;;
esac

tools/install_deps.sh "$@"

started=$SECONDS
if [ ! -f build/release/build.ninja ]; then
  # Tests are left out unless test.sh has configured them; they are most of the build.
  mkdir -p build
  cmake --preset release -DPOUNCE_TESTS=OFF >build/configure.log 2>&1 ||
    { cat build/configure.log >&2; exit 1; }
fi
cmake --build --preset release --target pounce
pounce=build/release/pounce
echo "built $pounce in $((SECONDS - started)) s"

out=runs/quickstart
number=1
while [ -e "$out" ]; do
  number=$((number + 1))
  out=runs/quickstart-$number
done

# Two defaults are for photos. Mirroring: a mirrored digit is another sign. Enlarging to 32 pixels: at
# their own 8 the digits are learnt as well, in seconds instead of a minute.
train=("$pounce" train samples/digits --hflip 0 --image-size 8 --out "$out")
echo "\$ ${train[*]}"
"${train[@]}"

predict=("$pounce" predict "$out")
for class in 0 3 7; do
  images=(samples/digits/"$class"/*.png)
  predict+=("${images[0]}")
done
echo "\$ ${predict[*]}"
"${predict[@]}"

cat <<TEXT

Next, on your own photos, one folder a class:
  $pounce train photos/
  $pounce predict runs/photos-1 some.jpg
  $pounce train --help
TEXT
