#!/usr/bin/env bash
# The speed of one participant and of the aggregator at the paper's size, both schemes, then the
# microbenchmarks.
# usage: tools/bench.sh
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
for parameters in compact paper; do
  echo "== tacet-lab bench he --parameters $parameters"
  build/release/tacet-lab bench he --parameters "$parameters" --dimension 486654 --participants 1000 \
    --plaintext-bits 22
done
cmake --preset release -DTACET_BENCH=ON
cmake --build --preset release --target benchmarks
for binary in build/release/bench/*_bench; do
  [ ! -x "$binary" ] || "$binary"
done
