#!/usr/bin/env bash
# Cross-compiles the wheel for Debian's Python and the Debian packages for ARM processors of 64
# bits, and tries both under emulation.
# usage: tools/arm64_package.sh ENVIRONMENT FOLDER SYSROOT
# ENVIRONMENT has the packages of python/requirements/wheel.txt. FOLDER gets the wheel in
# wheelhouse/ and the packages in compiled/packages/. SYSROOT is that of tools/arm64_sysroot.sh.
set -euo pipefail
environment=$(realpath -- "$1")
folder=$(realpath -m -- "$2")
sysroot=$(realpath -- "$3")
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
compiled=$folder/compiled

tools/quiet.sh "wheel for arm64" tools/python_wheel.sh "$environment" "$folder" "$sysroot"
(
  # Tools of dpkg, and ldd, see the packages of SYSROOT.
  export PATH=$sysroot/tools:$PATH DPKG_ADMINDIR=$sysroot/var/lib/dpkg DEB_HOST_ARCH=arm64
  tools/quiet.sh "build packages for arm64" cmake --build "$compiled" \
    --target all manual_pages bills_of_materials
  rm -rf "$compiled/packages"
  tools/quiet.sh "package for arm64" tools/pack.sh "$compiled"
)

fail() {
  echo "arm64_package: $*" >&2
  exit 1
}
tried=$(mktemp -d)
trap 'rm -rf "$tried"' EXIT
emulator=(qemu-aarch64-static -L "$sysroot")
# As pip of such a system chooses wheels.
wheel=$(echo "$folder"/wheelhouse/tacet-*.whl)
platform=${wheel##*-}
platforms=()
for name in "${platform%.whl}" manylinux_2_{28,27,17}_aarch64; do
  platforms+=(--platform "$name")
done
tools/quiet.sh "install wheel for arm64" "$environment/bin/python" -m pip install \
  --disable-pip-version-check --no-compile --target "$tried/site" --only-binary :all: \
  --implementation cp --python-version 3.11 "${platforms[@]}" "$wheel"
PYTHONPATH=$tried/site:$PWD/tools tools/quiet.sh "use wheel for arm64" \
  "$sysroot/tools/arm64-python" \
  -c "import pathlib, wheel_use; wheel_use.use(pathlib.Path('$tried/runs'))"
for program in tacet tacet-server; do
  "${emulator[@]}" "$tried/site/tacet_programs/$program" --version
done

for package in tacet:libdnnl2 tacet-server:libpqxx-6.4 tacet-dev:libabsl-dev; do
  deb=$(echo "$compiled/packages/${package%:*}"_*_arm64.deb)
  dpkg-deb -f "$deb" Depends | grep -q "\<${package#*:}\>" ||
    fail "$deb does not depend on ${package#*:}: $(dpkg-deb -f "$deb" Depends)"
  dpkg-deb -x "$deb" "$tried/system"
done
for program in tacet tacet-server; do
  "${emulator[@]}" "$tried/system/usr/bin/$program" --version
done
ls -- "$wheel" "$compiled"/packages/*.deb
