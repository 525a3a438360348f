#!/usr/bin/env bash
# Builds Debian packages and wheel of the commit once more, and compares their bytes with those in
# FOLDERs, which this checkout has made. The second build differs in folder, umask, time zone,
# language, user's home and number of jobs. It takes nothing from a cache of compiled files.
# usage: tools/reproducible_check.sh SCRATCH-FOLDER FOLDER...
# A wheel is that of Debian's Python.
set -euo pipefail
source=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
scratch=$(realpath -m -- "$1")
shift
fail() {
  echo "reproducible_check: $*" >&2
  exit 1
}
[ -z "$(git -C "$source" status --porcelain --untracked-files=no)" ] ||
  fail "this checkout differs from its commit: commit, and make packages and wheel again"
made() { find "${folders[@]}" -maxdepth 1 -name "$1"; }
mapfile -t folders < <(realpath -- "$@")
rm -rf -- "$scratch"
second=$scratch/a-second-folder/with-a-longer-name
mkdir -p -- "$scratch/home" "${second%/*}" "$scratch/products"

build_packages() {
  tools/quiet.sh "configure again" cmake --preset package
  tools/quiet.sh "build again" cmake --build --preset package
  tools/quiet.sh "package again" tools/pack.sh build/package
  cp build/package/packages/*.deb "$scratch/products"
}
build_wheel() {
  tools/quiet.sh "python environment again" tools/python_environment.sh build/python \
    python/requirements/wheel.txt
  tools/quiet.sh "wheel again" tools/python_wheel.sh build/python build/wheel
  cp build/wheel/wheelhouse/*.whl "$scratch/products"
}
build() {
  umask 077
  export TZ=Pacific/Auckland LC_ALL=C HOME=$scratch/home CCACHE_DISABLE=1
  export CMAKE_BUILD_PARALLEL_LEVEL=$((${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)} + 1))
  git -c advice.detachedHead=false clone -q --no-local "$source" "$second"
  cd -- "$second"
  [ -z "$(made '*.deb')" ] || build_packages
  [ -z "$(made '*.whl')" ] || build_wheel
}
(build)

unpack() { # FILE FOLDER
  mkdir -p "$2"
  case $1 in
    *.deb) dpkg-deb -R "$1" "$2" ;;
    *.whl) python3 -m zipfile -e "$1" "$2" ;;
  esac
}
differ=0
cd -- "$scratch/products"
for product in *; do
  first=$(made "$product")
  [ -n "$first" ] || fail "no $product in ${folders[*]}"
  if cmp "$first" "$product"; then continue; fi
  differ=1
  # Says which files differ.
  unpack "$first" "$scratch/unpacked-first/$product"
  unpack "$product" "$scratch/unpacked-second/$product"
  diff -rq "$scratch/unpacked-first/$product" "$scratch/unpacked-second/$product" || true
done
[ $differ = 0 ] || fail "two builds made different bytes"
sha256sum -- *
echo "two builds made the same bytes"
