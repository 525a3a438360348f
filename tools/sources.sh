#!/usr/bin/env bash
# Prints the C++ files of the repository, each ended by a zero byte. Arguments are the endings
# wanted, by default cc and h.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
endings=("$@")
[ $# -gt 0 ] || endings=(cc h)
names=()
for ending in "${endings[@]}"; do
  names+=(${names[@]+-o} -name "*.$ending")
done
find include tacet apps lab tests fuzz examples python -type f \( "${names[@]}" \) -print0 | LC_ALL=C sort -z
