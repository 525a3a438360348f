#!/usr/bin/env bash
# Checks the formatting of all C++ files. Versions of clang-format differ in details, so only the
# version of .clang-format's first line judges.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
wanted=$(sed -n '1s/[^0-9]*\([0-9]*\).*/\1/p' .clang-format)
found=$(clang-format --version | sed 's/.*version \([0-9]*\).*/\1/')
if [ "$found" != "$wanted" ]; then
  echo "check_format: not checked: this is clang-format $found, and files are formatted by $wanted"
  exit 0
fi
tools/sources.sh | xargs -0 -n 32 -P "$(nproc)" clang-format --dry-run -Werror
