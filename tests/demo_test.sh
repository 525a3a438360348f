#!/usr/bin/env bash
# Runs tools/demo.sh without data, for three rounds, and checks that it shows the guarantee.
# usage: tests/demo_test.sh PROGRAM SCRATCH_FOLDER
set -euo pipefail
rm -rf -- "$2"
mkdir -p -- "$2"
output=$(TACET_DATA='' TACET_DEMO_RUN=$2/run \
  "$(dirname -- "${BASH_SOURCE[0]}")/../tools/demo.sh" "$1" --rounds 3)
require() { # PATTERN
  grep -q -- "$1" <<< "$output" || {
    printf '%s\nThe line "%s" is missing above.\n' "$output" "$1" >&2
    exit 1
  }
}
require '^Data: synthetic handwriting'
require '^2000 clients, cohorts of 400 (poisson, hidden by dummy uploads) out of 2000'
require 'epsilon 0\.[0-9]* at delta 1e-05 per client'
require '^Not guaranteed$'
require 'epsilon 3\.999'
[ -s "$2/run/report.html" ]
