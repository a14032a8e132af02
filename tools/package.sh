#!/usr/bin/env bash
# Makes a tarball of Pounce that runs on a bare Debian 12 (glibc 2.36 or newer), wherever it is unpacked.
# usage: tools/package.sh [BUILD_DIR [OUT_DIR]]      defaults: build/release dist
# BUILD_DIR is a finished build. The program finds the libraries it needs in lib/pounce beside it; only
# glibc is the system's. Equal builds give equal bytes.
set -euo pipefail
umask 022

case ${1:-} in -h | --help) sed -n '2,5s/^# //p' "$0"; exit 0 ;; esac
root=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$root/build/release}
out=${2:-$root/dist}
for tool in cmake patchelf strip ldd dpkg-query pkg-config; do
  command -v "$tool" >/dev/null || { echo "package.sh: $tool is missing (packages: cmake patchelf binutils libc-bin dpkg pkg-config)" >&2; exit 2; }
done
[ -x "$build/pounce" ] && [ -d "$build/made" ] || {
  echo "package.sh: no finished build in $build: cmake --preset release && cmake --build --preset release" >&2
  exit 2
}

version=$("$build/pounce" --version | cut -d' ' -f2)
name=pounce-$version-linux-$(uname -m)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
stage=$work/$name
cmake --install "$build" --prefix "$stage" --component program --strip >/dev/null
libraries=$stage/lib/pounce
documents=$stage/share/doc/pounce
mkdir -p "$libraries" "$documents/licences" "$stage/samples"

# Whether every Linux has the library, because the loader comes with it.
is_glibc() {
  case $(basename "$1") in
    ld-linux* | libc.so* | libm.so* | libdl.so* | libpthread.so* | librt.so*) return 0 ;;
    *) return 1 ;;
  esac
}

# Opened by the program rather than linked to it. TIFF comes along, a megabyte with all it needs; the
# libraries of AVIF and HEIC bring encoders of several, so those formats ask for the system's.
opened=()
if grep -aq 'libtiff\.so\.' "$build/pounce"; then
  folder=$(pkg-config --variable=libdir libtiff-4)
  opened+=("$folder/$(patchelf --print-soname "$folder/libtiff.so")")
fi
printf '%s\n' "${opened[@]}" >"$work/opened"

# Lines of ldd: name => path (address).
ldd "$stage/bin/pounce" "${opened[@]}" | awk '/not found/ { print "package.sh: missing " $1 > "/dev/stderr"; exit 1 }
  $2 == "=>" { print $3 }' | sort -u - "$work/opened" | sed '/^$/d' >"$work/needed"
while read -r library; do
  is_glibc "$library" && continue
  cp -L "$library" "$libraries/"
  strip --strip-unneeded "$libraries/$(basename "$library")"
  patchelf --set-rpath '$ORIGIN' "$libraries/$(basename "$library")"
  package=$(dpkg-query -S "$(readlink -f "$library")" "$library" 2>/dev/null | head -1 | cut -d: -f1 || true)
  [ -n "$package" ] || { echo "package.sh: no package, so no licence, for $library" >&2; exit 1; }
  cp -L "/usr/share/doc/$package/copyright" "$documents/licences/$package"
done <"$work/needed"
patchelf --set-rpath '$ORIGIN/../lib/pounce' "$stage/bin/pounce"

# Compiled into the program rather than linked to it.
for package in nlohmann-json3-dev libexpected-dev librandom123-dev; do
  [ -r "/usr/share/doc/$package/copyright" ] || { echo "package.sh: no licence of $package" >&2; exit 1; }
  cp -L "/usr/share/doc/$package/copyright" "$documents/licences/$package"
done
cp "$root"/{README.md,LICENSE,CHANGELOG.md} "$documents/"
cp "$root"/docs/*.md "$documents/"
cp -r "$root"/samples/. "$stage/samples/"

mkdir -p "$out"
archive=$out/$name.tar.xz
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || echo 0)}
tar -C "$work" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
  --mode=u+rw,go+r,go-w --format=gnu -cf - "$name" | xz -T1 -6 >"$archive.tmp"
mv "$archive.tmp" "$archive"
printf '%s: %.1f MB, %.1f MB unpacked\n' "$archive" \
  "$(($(stat -c %s "$archive") / 100000))e-1" "$(($(du -sb "$stage" | cut -f1) / 100000))e-1"
