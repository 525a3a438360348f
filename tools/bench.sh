#!/usr/bin/env bash
# Speed of one participant and of the aggregator at the paper's size for both schemes, then the
# microbenchmarks.
# usage: tools/bench.sh
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
for parameters in compact paper; do
  echo "== tacet-lab bench he --parameters $parameters"
  build/release/tacet-lab bench he --parameters "$parameters" --dimension 486654 --participants 1000 \
    --plaintext-bits 22
done
tools/quiet.sh "configure benchmarks" cmake --preset release -DTACET_BENCH=ON
tools/quiet.sh "build benchmarks" cmake --build --preset release --target benchmarks
for binary in build/release/bench/*_bench; do
  [ ! -x "$binary" ] || "$binary"
done
