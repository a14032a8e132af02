#!/usr/bin/env bash
# Runs the tarball of tools/package.sh in a bare Debian 12: train, predict and eval, from two paths, offline.
# usage: tools/check_package.sh TARBALL [ROOT]       as root; needs debootstrap and unshare
# ROOT: an unpacked Debian 12 to use instead of one made by debootstrap; only its /opt/check and
# /srv/check are written.
set -euo pipefail

[ $# -ge 1 ] && [ -r "$1" ] || { sed -n '2,5s/^# //p' "$0" >&2; exit 2; }
[ "$(id -u)" -eq 0 ] || { echo "check_package.sh: chroot needs root" >&2; exit 2; }
tarball=$(readlink -f "$1")
system=${2:-}
made=
cleanup() {
  rm -rf "${system:?}/opt/check" "$system/srv/check"
  [ -z "$made" ] || rm -rf "$made"
}
if [ -z "$system" ]; then
  made=$(mktemp -d)
  system=$made
  debootstrap --variant=minbase bookworm "$system" >/dev/null
fi
trap cleanup EXIT

# No network: not even the loopback is up in a namespace of its own. The loader reads /proc to know
# where the program lies.
inside() {
  unshare --net --pid --fork --mount-proc="$system/proc" chroot "$system" /bin/sh -ec "$1"
}

for place in /opt/check "/srv/check/with space"; do
  mkdir -p "$system$place"
  tar -C "$system$place" -xf "$tarball" --no-same-owner
  inside "cd '$place'/pounce-*
    ./bin/pounce --version
    ./bin/pounce train samples/digits --epochs 2 --out run --progress plain
    ./bin/pounce predict run samples/digits/3/0003.png
    ./bin/pounce eval run samples/digits
    ! ldd bin/pounce lib/pounce/*.so* | grep -E 'not found|=> /(usr/)?lib/' |
      grep -Ev 'lib(c|m|dl|pthread|rt)\.so'"
done
echo "check_package.sh: $(basename "$tarball") runs in $(. "$system/etc/os-release" && echo "$PRETTY_NAME") without packages"
