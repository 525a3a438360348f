#!/usr/bin/env bash
# Runs tools/demo.sh without data, for three rounds, and checks that it shows the guarantee. With
# `whole`, all rounds are run on fixed randomness, and the result has to be that of README.md.
# usage: tests/demo_test.sh PROGRAM SCRATCH_FOLDER [whole]
set -euo pipefail
rm -rf -- "$2"
mkdir -p -- "$2"
arguments=(--rounds 3)
[ "${3:-}" != whole ] || arguments=(--insecure-seed 1)
output=$(TACET_DATA='' TACET_DEMO_RUN=$2/run \
  "$(dirname -- "${BASH_SOURCE[0]}")/../tools/demo.sh" "$1" "${arguments[@]}")
require() { # PATTERN
  grep -q -- "$1" <<< "$output" || {
    printf '%s\nThe line "%s" is missing above.\n' "$output" "$1" >&2
    exit 1
  }
}
require '^Data: synthetic handwriting'
require '^2000 clients, cohorts of 400 (poisson, hidden by dummy uploads) out of 2000'
[ "${3:-}" = whole ] || require 'epsilon 0\.[0-9]* at delta 1e-05 per client'
require '^Not guaranteed$'
require 'epsilon 3\.999'
[ -s "$2/run/report.html" ]
if [ "${3:-}" = whole ]; then
  require '^privacy  *epsilon 1\.404 at delta 1e-05 per client'
  require '^accuracy .* before, \(89\|90\)\.[0-9]* % after'
fi
