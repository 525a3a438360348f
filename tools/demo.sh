#!/usr/bin/env bash
# Runs `tacet demo` in the repository's root: handwriting, then four hospitals.
# usage: tools/demo.sh PROGRAM [ARGUMENT...]      (arguments go to `tacet demo`)
# Data: $TACET_DATA, else data/, else synthetic handwriting. An empty TACET_DATA chooses the last.
set -euo pipefail
[ $# -ge 1 ] || { echo "usage: tools/demo.sh PROGRAM [ARGUMENT...]" >&2; exit 2; }
program=$(realpath -- "$1")
shift
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
. tools/demo_data.sh
exec "$program" demo ${data:+--data "$data"} "$@"
