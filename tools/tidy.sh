#!/usr/bin/env bash
# Runs clang-tidy on every .cc file that the build folder's compile_commands.json knows.
# usage: tools/tidy.sh BUILD_FOLDER [FILE...]
set -euo pipefail
build=$1
shift
if [ $# -gt 0 ]; then
  printf '%s\0' "$@"
else
  tools/sources.sh cc
fi |
  while IFS= read -r -d '' file; do
    ! grep -qF "/$file\"" "$build/compile_commands.json" || printf '%s\0' "$file"
  done |
  xargs -0 -n 1 -P "$(nproc)" clang-tidy-14 --quiet --warnings-as-errors='*' -p "$build"
