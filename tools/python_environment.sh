#!/usr/bin/env bash
# Makes the virtual environment FOLDER with the packages that the files of requirements list, or
# brings it up to date. A second call without a change needs no network.
# usage: tools/python_environment.sh FOLDER REQUIREMENTS...
# TACET_PYTHON3 in the environment: another Python than Debian's.
set -euo pipefail

[ $# -ge 2 ] || {
  echo "usage: tools/python_environment.sh FOLDER REQUIREMENTS..." >&2
  exit 2
}
folder=$1
shift
python3=${TACET_PYTHON3:-/usr/bin/python3}
wanted=()
for file in "$@"; do wanted+=(-r "$file"); done
stamp=$folder/requirements.$(cat -- "$@" | cksum | tr ' ' -)

[ ! -e "$stamp" ] || exit 0
[ -x "$folder/bin/python" ] || "$python3" -m venv "$folder"
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check "${wanted[@]}"
touch "$stamp"
