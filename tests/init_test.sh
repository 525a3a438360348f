#!/usr/bin/env bash
# Checks that `tacet init` writes configurations that run as they stand, and replaces nothing.
# usage: tests/init_test.sh PROGRAM SCRATCH_FOLDER
set -euo pipefail
program=$(realpath -- "$1")
configs=$(realpath -- "$(dirname -- "${BASH_SOURCE[0]}")/../configs")
rm -rf -- "$2"
mkdir -p -- "$2/csv"

cd -- "$2/csv"
next=$("$program" init | sed -n 's/^next  *tacet //p')
[ "$next" = 'simulate --config tacet.toml' ] || { echo "the next step is \"$next\"" >&2; exit 1; }
"$program" $next --out run > output
grep -q '^AUC  *0\.8' output || { cat output >&2; exit 1; }
if "$program" init --format images 2> refusal; then
  echo "a configuration was replaced" >&2
  exit 1
fi
grep -q '^tacet: tacet.toml exists, and nothing was written' refusal
cmp tacet.toml "$configs/start-csv.toml"

# One of several files is there.
mkdir -p ../half/patients
echo mine > ../half/patients/west.csv
! "$program" init --folder ../half 2> refusal
[ "$(find ../half -type f)" = ../half/patients/west.csv ]
[ "$(cat ../half/patients/west.csv)" = mine ]

# The demo runs this one.
"$program" init --format images --folder ../images > /dev/null
cmp ../images/tacet.toml "$configs/demo-drawn.toml"
[ "$(find ../images -type f | wc -l)" = 1 ]
