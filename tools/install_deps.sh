#!/usr/bin/env bash
# Installs the packages Pounce is built from, on Debian 12 and its relatives; instant when none is missing.
# usage: tools/install_deps.sh [--tests] [-y]
#   --tests  also what the tests need      -y  do not ask before sudo (root is never asked)
set -euo pipefail

packages=(g++ cmake ninja-build pkg-config libfmt-dev libexpected-dev nlohmann-json3-dev
  libtomlplusplus-dev librandom123-dev libxxhash-dev libjpeg-dev libspng-dev libdnnl-dev libhwy-dev
  libutf8proc-dev libwebp-dev libgif-dev libtiff-dev libavif-dev libheif-dev opencl-c-headers)
test_packages=(libgtest-dev libgmock-dev python3 zsh fish groff-base pocl-opencl-icd)

yes=0
for argument in "$@"; do
  case $argument in
    --tests) packages+=("${test_packages[@]}") ;;
    -y) yes=1 ;;
    -h | --help) sed -n '2,4s/^# //p' "$0"; exit 0 ;;
    *) echo "install_deps.sh: unknown argument $argument; known: --tests, -y" >&2; exit 2 ;;
  esac
done

system=unknown
[ -r /etc/os-release ] && system=$(. /etc/os-release && echo "${ID:-} ${VERSION_ID:-}")
if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  cat >&2 <<TEXT
$system is not a Debian or Ubuntu system. Pounce builds with these (Debian package names):
  ${packages[*]}
Install them with this system's package manager (a C++20 compiler such as g++ 12, CMake 3.25, oneDNN 2.6,
Highway 1.0.3 or newer), then run: cmake --preset release && cmake --build --preset release
TEXT
  exit 1
fi

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed ||
    missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

install=(apt-get install -y --no-install-recommends "${missing[@]}")
case $system in
  "debian 12") ;;
  *) echo "note: Debian 12 is what is tested; this is $system" >&2 ;;
esac

# Lines of --print-uris: 'address' file size checksum. It fails where package lists were never fetched.
update=0
if uris=$(LC_ALL=C "${install[@]}" --print-uris 2>/dev/null); then
  size=$(awk '/^\x27/ { bytes += $3 } END { printf "%.1f MB", bytes / 1e6 }' <<<"$uris")
else
  update=1
  size="known after the update"
fi

as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
echo "packages to install: ${#missing[@]}, download: $size" >&2
[ $update -eq 0 ] || echo "  ${as_root[*]} apt-get update" >&2
echo "  ${as_root[*]} ${install[*]}" >&2
if [ ${#as_root[@]} -gt 0 ]; then
  command -v sudo >/dev/null || { echo "sudo is missing: run the command above as root" >&2; exit 1; }
  if [ $yes -eq 0 ]; then
    [ -t 0 ] || { echo "no terminal to ask on: run it yourself, or pass -y" >&2; exit 1; }
    read -r -p "Run it? [y/N] " answer
    [[ $answer == [yY]* ]] || { echo "nothing was installed" >&2; exit 1; }
  fi
fi
[ $update -eq 0 ] || "${as_root[@]}" apt-get update -q
if [ ${#as_root[@]} -gt 0 ]; then
  sudo DEBIAN_FRONTEND=noninteractive "${install[@]}"
else
  DEBIAN_FRONTEND=noninteractive "${install[@]}"
fi
