#!/usr/bin/env bash
# Unpacks Debian's libraries and Python for ARM processors of 64 bits into FOLDER, for cross
# compilation, or leaves it when it is up to date. Nothing is installed, and no architecture is
# added to this system.
# usage: tools/arm64_sysroot.sh FOLDER
# FOLDER/var/lib/dpkg tells which package a file in FOLDER belongs to: with DPKG_ADMINDIR, tools of
# dpkg find it by the path that the file has here. FOLDER/tools has ldd and an emulated Python.
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
mapfile -t packages < <(cat "$sets"/{demo,server,test,python} | grep -- '-dev$' | grep -v clang)
packages+=("libstdc++-$(aarch64-linux-gnu-g++ -dumpversion)-dev")
wanted=$(printf '%s\n' "${packages[@]}" | cat - "${BASH_SOURCE[0]}" | cksum | tr ' ' -)
stamp=$folder/packages.$wanted
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
database=$folder/var/lib/dpkg
rm -rf "$database"
mkdir -p "$database"/{info,updates}
echo 1 > "$database/info/format"
printf '%s\n' "$(dpkg --print-architecture)" arm64 > "$database/arch"
for archive in "$apt"/archives/*.deb; do
  dpkg-deb -x "$archive" "$folder"
  name=$(dpkg-deb -f "$archive" Package)
  [ "$(dpkg-deb -f "$archive" Multi-Arch)" != same ] || name+=:arm64
  dpkg-deb --fsys-tarfile "$archive" | tar -t | sed -e "s|^\.|$folder|; s|/$||" \
    > "$database/info/$name.list"
  dpkg-deb -e "$archive" "$apt/control"
  for kind in shlibs symbols; do
    [ ! -e "$apt/control/$kind" ] || cp "$apt/control/$kind" "$database/info/$name.$kind"
  done
  rm -r "$apt/control"
  { dpkg-deb -f "$archive" && printf 'Status: install ok installed\n\n'; } >> "$database/status"
done
rm -r "$apt"
# Links to absolute paths lead into this system.
find "$folder" -type l -lname '/*' -print0 | while IFS= read -r -d '' link; do
  ln -sfn "$folder$(readlink "$link")" "$link"
done
mkdir -p "$folder/tools"
emulated="qemu-aarch64-static -L '$folder' '$folder"
cat > "$folder/tools/ldd" << END
#!/bin/sh
$emulated/lib/ld-linux-aarch64.so.1' --list "\$@" | sed -E 's| (/(usr/)?lib/)| $folder\1|'
END
cat > "$folder/tools/arm64-python" << END
#!/bin/sh
exec $emulated/usr/bin/python3' -B "\$@"
END
chmod +x "$folder"/tools/*
touch "$stamp"
