#!/usr/bin/env bash
# Unpacks Debian's libraries for ARM processors of 64 bits into FOLDER, for cross compilation, or
# leaves it when it is up to date. Nothing is installed, and no architecture is added to this system.
# usage: tools/arm64_sysroot.sh FOLDER
set -euo pipefail

[ $# = 1 ] || {
  echo "usage: tools/arm64_sysroot.sh FOLDER" >&2
  exit 2
}
mkdir -p "$1"
folder=$(cd -- "$1" && pwd)
sets=$(dirname -- "${BASH_SOURCE[0]}")/packages

# The development packages that the product and its tests are built from; their tools are this
# system's.
mapfile -t packages < <(cat "$sets"/{demo,server,test} | grep -- '-dev$' | grep -v clang)
packages+=("libstdc++-$(aarch64-linux-gnu-g++ -dumpversion)-dev")
stamp=$folder/packages.$(printf '%s\n' "${packages[@]}" | cksum | tr ' ' -)
[ ! -e "$stamp" ] || exit 0

apt=$folder/apt
mkdir -p "$apt"/{lists,archives}/partial
: > "$apt/status"
# As a system of that architecture on which nothing is installed.
apt_get=(apt-get -q -y -o APT::Architecture=arm64 -o APT::Architectures=arm64
  -o APT::Sandbox::User=root -o Debug::NoLocking=1
  -o Dir::State::lists="$apt/lists" -o Dir::State::status="$apt/status"
  -o Dir::Cache="$apt" -o Dir::Cache::archives="$apt/archives")
"${apt_get[@]}" update
"${apt_get[@]}" --no-install-recommends --download-only install "${packages[@]}"
for archive in "$apt"/archives/*.deb; do dpkg-deb -x "$archive" "$folder"; done
rm -r "$apt"
# Links to absolute paths lead into this system.
find "$folder" -type l -lname '/*' -print0 | while IFS= read -r -d '' link; do
  ln -sfn "$folder$(readlink "$link")" "$link"
done
touch "$stamp"
