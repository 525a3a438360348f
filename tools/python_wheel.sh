#!/usr/bin/env bash
# Builds the package's wheel for one Python, with the libraries that it needs.
# usage: tools/python_wheel.sh ENVIRONMENT FOLDER [SYSROOT]
# ENVIRONMENT has the packages of python/requirements/wheel.txt. FOLDER gets the wheel in wheelhouse/,
# in place of an earlier one for this Python, and what compilation leaves: the next Python's wheel
# compiles little but the extension module. The same commit, compiler and libraries make the same
# bytes, whatever the folders, umask and language are (tools/reproducible_check.sh).
# With SYSROOT (tools/arm64_sysroot.sh) the wheel is for ARM processors of 64 bits, and its libraries
# are those in SYSROOT. ENVIRONMENT has Debian's Python.
set -euo pipefail
shopt -s extglob
umask 022

environment=$(realpath -- "$1")
folder=$(realpath -m -- "$2")
sysroot=${3:+$(realpath -- "$3")}
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
SOURCE_DATE_EPOCH=$(tools/source_date.sh)
export SOURCE_DATE_EPOCH
settings=()
define() { settings+=(--config-settings "cmake.define.$1=$2"); }
define CMAKE_CXX_FLAGS "-ffile-prefix-map=$PWD=. -ffile-prefix-map=$folder=./wheel"
define TACET_OLDER_SYMBOLS ON
if [ -n "$sysroot" ]; then
  # The names that an interpreter for that processor gives.
  export _PYTHON_HOST_PLATFORM=linux-aarch64
  export SETUPTOOLS_EXT_SUFFIX=.cpython-311-aarch64-linux-gnu.so
  define CMAKE_TOOLCHAIN_FILE "$PWD/cmake/Arm64Toolchain.cmake"
  define TACET_SYSROOT "$sysroot"
  define Python_INCLUDE_DIR "$sysroot/usr/include/python3.11"
  libraries=$sysroot/usr/lib/aarch64-linux-gnu:$sysroot/lib/aarch64-linux-gnu
  licences_of() { PATH=$sysroot/tools:$PATH DPKG_ADMINDIR=$sysroot/var/lib/dpkg "$@" "$sysroot"; }
else
  # Pythons name compilers that they were built with; another name would compile everything again.
  export CC=${CC:-cc} CXX=${CXX:-c++}
  tools/lean_libraries.sh "$folder/libraries"
  libraries=$folder/libraries/lib
  licences_of() { LD_LIBRARY_PATH=$libraries "$@"; }
fi
rm -rf -- "$folder/plain"
# The build backend of all wheels lies in one place: with another path it would forget its settings.
tools=$folder/tools
stamp=$tools/$(cksum < python/requirements/wheel.txt | tr ' ' -)
if [ ! -e "$stamp" ]; then
  rm -rf -- "$tools"
  "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile \
    --target "$tools" $(grep -E '^(nanobind|scikit-build-core)==' python/requirements/wheel.txt)
  touch "$stamp"
fi
PYTHONPATH=$tools "$environment/bin/python" -m pip wheel --no-build-isolation --no-deps \
  --disable-pip-version-check --wheel-dir "$folder/plain" \
  --config-settings build-dir="$folder/compiled" \
  --config-settings wheel.reproducible=true "${settings[@]}" .
wheel=$(echo "$folder"/plain/tacet-*.whl)
if command -v dpkg-query > /dev/null; then
  licences_of python3 tools/wheel_licences.py "$wheel" "$tools"
fi
tags=${wheel##*/tacet-*([^-])-}
rm -f -- "$folder"/wheelhouse/tacet-*-"${tags%-linux_*}"-*.whl
AUDITWHEEL_LD_LIBRARY_PATH=$libraries PATH=$environment/bin:$PATH \
  "$environment/bin/python" -m auditwheel repair --zip-compression-level 9 \
  --wheel-dir "$folder/wheelhouse" "$wheel"
