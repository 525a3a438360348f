#!/usr/bin/env bash
# Says how long the build of a program will take, if it has not been built yet.
# usage: tools/announce_build.sh PROGRAM JOBS
set -euo pipefail
[ $# -eq 2 ] || { echo "usage: tools/announce_build.sh PROGRAM JOBS" >&2; exit 2; }
[ ! -x "$1" ] || exit 0
# Processor time of the release build: 540 s measured on an AMD EPYC, rounded up.
cpu_seconds=600
cores=$(nproc)
[ "$2" -ge "$cores" ] || cores=$2
minutes=$(((cpu_seconds + 60 * cores - 1) / (60 * cores)))
echo "build: compiling takes about $minutes minutes on $cores processor cores, once packages are installed"
