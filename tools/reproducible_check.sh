#!/usr/bin/env bash
# Builds the Debian packages and the wheel of the commit twice and compares their bytes. The builds
# differ in folder, umask, time zone, language, user's home and number of jobs.
# usage: tools/reproducible_check.sh SCRATCH-FOLDER [KIND...]
# KINDs are `packages` and `wheel`, by default both. The wheel is that of Debian's Python.
set -euo pipefail
source=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
rm -rf -- "$1"
mkdir -p -- "$1"
scratch=$(cd -- "$1" && pwd)
shift
kinds=("$@")
[ $# -gt 0 ] || kinds=(packages wheel)
# A cache of compiled files would give the second build what the first one compiled.
export CCACHE_DISABLE=1

build() { # FOLDER JOBS
  git clone -q --no-local "$source" "$1"
  cd -- "$1"
  export TACET_LOGS=$1/build/logs CMAKE_BUILD_PARALLEL_LEVEL=$2
  local kind
  for kind in "${kinds[@]}"; do "build_$kind" "$1"; done
}
build_packages() { # FOLDER
  tools/quiet.sh "configure $1" cmake --preset package
  tools/quiet.sh "build $1" cmake --build --preset package
  tools/quiet.sh "package $1" tools/pack.sh build/package
  mkdir -p products
  cp build/package/packages/*.deb products
}
build_wheel() { # FOLDER
  tools/quiet.sh "python environment $1" tools/python_environment.sh build/python \
    python/requirements/wheel.txt
  tools/quiet.sh "wheel $1" tools/python_wheel.sh build/python build/wheel
  mkdir -p products
  cp build/wheel/wheelhouse/*.whl products
}
unpack() { # FILE FOLDER
  mkdir -p "$2"
  case $1 in
    *.deb) dpkg-deb -R "$1" "$2" ;;
    *.whl) python3 -m zipfile -e "$1" "$2" ;;
  esac
}

first=$scratch/first second=$scratch/a-second-folder/with-a-longer-name
mkdir -p "$scratch/home" "${second%/*}"
# At the same time: a build leaves processor cores idle while it links and packs.
(umask 022; TZ=UTC LC_ALL=C.UTF-8 build "$first" "${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}") &
builds=($!)
(umask 077; TZ=Pacific/Auckland LC_ALL=C HOME=$scratch/home build "$second" 1) &
builds+=($!)
failed=0
for one in "${builds[@]}"; do wait "$one" || failed=1; done
[ $failed = 0 ] || exit 1

differ=0
for product in "$first"/products/*; do
  name=${product##*/}
  if cmp "$product" "$second/products/$name"; then continue; fi
  differ=1
  # Says which files differ.
  unpack "$product" "$scratch/unpacked-first/$name"
  unpack "$second/products/$name" "$scratch/unpacked-second/$name"
  diff -rq "$scratch/unpacked-first/$name" "$scratch/unpacked-second/$name" || true
done
[ $differ = 0 ] || { echo "reproducible_check: two builds made different bytes" >&2; exit 1; }
(cd "$first/products" && sha256sum -- *)
echo "${kinds[*]}: two builds made the same bytes"
