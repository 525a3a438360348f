#!/usr/bin/env bash
# Builds the Debian packages of the commit twice and compares their bytes. The builds differ in folder,
# umask, time zone, language, user's home and number of jobs.
# usage: tools/reproducible_check.sh SCRATCH-FOLDER [CMAKE-ARGUMENT...]
set -euo pipefail
source=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
rm -rf -- "$1"
mkdir -p -- "$1"
scratch=$(cd -- "$1" && pwd)
shift
export CCACHE_DISABLE=1

build() { # FOLDER JOBS [CMAKE-ARGUMENT...]
  local folder=$1 jobs=$2
  shift 2
  git clone -q --no-local "$source" "$folder"
  cd -- "$folder"
  export TACET_LOGS=$folder/build/logs CMAKE_BUILD_PARALLEL_LEVEL=$jobs
  tools/quiet.sh "configure $folder" cmake --preset package "$@"
  tools/quiet.sh "build $folder" cmake --build --preset package
  tools/quiet.sh "package $folder" tools/pack.sh build/package
}

first=$scratch/first second=$scratch/a-second-folder/with-a-longer-name
(umask 022; TZ=UTC LC_ALL=C.UTF-8 build "$first" "$(nproc)" "$@")
mkdir -p "$scratch/home" "${second%/*}"
(umask 077; TZ=Pacific/Auckland LC_ALL=C HOME=$scratch/home build "$second" 1 "$@")

differ=0
for deb in "$first"/build/package/packages/*.deb; do
  other=$second/build/package/packages/${deb##*/}
  if cmp "$deb" "$other"; then continue; fi
  differ=1
  # Says which files differ.
  for side in first second; do
    folder=$scratch/unpacked-$side/${deb##*/}
    mkdir -p "$folder"
    dpkg-deb -R "$([ $side = first ] && echo "$deb" || echo "$other")" "$folder"
  done
  diff -rq "$scratch/unpacked-first/${deb##*/}" "$scratch/unpacked-second/${deb##*/}" || true
done
[ $differ = 0 ] || { echo "reproducible_check: two builds made different packages" >&2; exit 1; }
(cd "$first/build/package/packages" && sha256sum ./*.deb)
echo "packages: two builds made the same bytes"
