#!/usr/bin/env bash
# Measures the field's tools next to tacet in an environment of their own (docs/peers/README.md).
# usage: lab/peers.sh ENVIRONMENT WHEELHOUSE OUT
set -euo pipefail
[ $# = 3 ] || { echo "usage: lab/peers.sh ENVIRONMENT WHEELHOUSE OUT" >&2; exit 2; }
environment=$1
wheelhouse=$2
out=$3
lab=$(dirname -- "${BASH_SOURCE[0]}")
tools=$lab/../tools
"$tools/python_environment.sh" "$environment" "$lab/peers/requirements.txt"
"$environment/bin/python" -m pip install --quiet --no-deps --force-reinstall \
  --disable-pip-version-check --no-index --find-links "$wheelhouse" tacet
"$environment/bin/python" "$lab/peers/run_peers.py" --out "$out"
