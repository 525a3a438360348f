#!/usr/bin/env bash
# Speed of this machine at the paper's size: every benchmark of tacet-lab.
# usage: lab/bench.sh TACET_LAB
set -euo pipefail
run() {
  echo "== tacet-lab bench $*"
  "$lab" bench "$@"
}
lab=$1
for parameters in compact paper; do
  run he --parameters "$parameters" --dimension 486654 --participants 1000 --plaintext-bits 22
done
run dp
run train
run kernels
run records
run pair-keys --committee 7,2
run privacy
