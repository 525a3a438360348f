#!/usr/bin/env bash
# Runs tools/demo.sh without data, for three rounds of handwriting and all of the hospitals', and
# checks that it shows accuracy and guarantee. With `whole`, `tacet demo` runs all rounds on fixed
# randomness in an empty folder, and the results have to be those of README.md.
# usage: tests/demo_test.sh PROGRAM SCRATCH_FOLDER [whole]
set -euo pipefail
program=$(realpath -- "$1")
script=$(realpath -- "$(dirname -- "${BASH_SOURCE[0]}")/../tools/demo.sh")
rm -rf -- "$2"
mkdir -p -- "$2"
cd -- "$2"
if [ "${3:-}" = whole ]; then
  output=$(env -i "$program" demo --out demo --insecure-seed 1)
else
  output=$(TACET_DATA='' "$script" "$program" --out "$PWD/demo" --rounds 3)
fi
require() { # PATTERN
  grep -q -- "$1" <<< "$output" || {
    printf '%s\nThe line "%s" is missing above.\n' "$output" "$1" >&2
    exit 1
  }
}
[ "${3:-}" = whole ] || require '^Data: synthetic handwriting'
require '^federation  2000 clients, 400 a round (poisson)'
[ "${3:-}" = whole ] || require 'epsilon 0\.[0-9]* at delta 1e-05 per client'
require '^Not guaranteed$'
require 'epsilon 3\.999 against every observer'
# Deviation between runs: 0.001.
require '^AUC  *0\.8[0-9]* on 800 held-out samples$'
require '^privacy  *epsilon 2\.000 at delta 1e-05 per record'
[ "$(grep -c '^Protected is one' <<< "$output")" = 2 ]
for run in handwriting hospitals; do [ -s "demo/$run/report.html" ]; done
if [ "${3:-}" = whole ]; then
  require '^privacy  *epsilon 1\.404 at delta 1e-05 per client'
  require '^accuracy .* before, \(89\|90\)\.[0-9]* % after'
  require '^AUC  *0\.8[34]'
fi
# Nothing of the folder is replaced.
if "$program" demo --out demo > again 2>&1; then
  echo "a second demo wrote into the same folder" >&2
  exit 1
fi
grep -q 'exists, and nothing was written' again
