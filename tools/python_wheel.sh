#!/usr/bin/env bash
# Builds the package's wheel with the libraries that it needs, and installs it into the environment.
# usage: tools/python_wheel.sh ENVIRONMENT FOLDER
# FOLDER gets the wheel in wheelhouse/, and what compilation leaves.
set -euo pipefail

environment=$(realpath -- "$1")
folder=$(realpath -m -- "$2")
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
rm -rf -- "$folder/wheelhouse" "$folder/plain"
"$environment/bin/python" -m pip wheel --no-build-isolation --no-deps --disable-pip-version-check \
  --wheel-dir "$folder/plain" --config-settings build-dir="$folder/compiled" .
PATH=$environment/bin:$PATH "$environment/bin/python" -m auditwheel repair \
  --wheel-dir "$folder/wheelhouse" "$folder"/plain/tacet-*.whl
"$environment/bin/python" -m pip install --no-deps --force-reinstall --disable-pip-version-check \
  "$folder"/wheelhouse/tacet-*.whl
