#!/usr/bin/env bash
# Runs clang-tidy on every .cc file. A file that the build folder's compile_commands.json does not
# know is an error: it would not be checked.
# usage: tools/tidy.sh BUILD_FOLDER [FILE...]
set -euo pipefail
build=$1
shift
if [ $# -gt 0 ]; then
  printf '%s\0' "$@"
else
  tools/sources.sh cc
fi >"$build/tidy.files"
unknown=0
while IFS= read -r -d '' file; do
  grep -qF "/$file\"" "$build/compile_commands.json" && continue
  echo "tidy: $build does not compile $file"
  unknown=1
done <"$build/tidy.files"
[ "$unknown" -eq 0 ]
xargs -a "$build/tidy.files" -0 -n 1 -P "$(nproc)" clang-tidy --quiet --warnings-as-errors='*' -p "$build"
