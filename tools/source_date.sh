#!/usr/bin/env bash
# Prints the time of the source in Unix seconds: that of the commit, or that of
# CHANGELOG.md where the folder is not a checkout. $SOURCE_DATE_EPOCH overrules both.
# usage: tools/source_date.sh
set -euo pipefail
source=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
if [ -n "${SOURCE_DATE_EPOCH:-}" ]; then
  echo "$SOURCE_DATE_EPOCH"
elif [ "$(git -C "$source" rev-parse --show-toplevel 2> /dev/null)" = "$source" ]; then
  git -C "$source" log -1 --format=%ct
else
  stat -c %Y "$source/CHANGELOG.md"
fi
