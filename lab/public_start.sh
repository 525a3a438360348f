#!/usr/bin/env bash
# Draws characters and trains the public start on them (docs/experiments/public-start/README.md).
# Needs the packages of tools/packages/public-start.
# usage: lab/public_start.sh TACET-LAB OUT
set -euo pipefail
[ $# = 2 ] || { echo "usage: lab/public_start.sh TACET-LAB OUT" >&2; exit 2; }
program=$1
out=$2
lab=$(dirname -- "${BASH_SOURCE[0]}")
tools=$lab/../tools
# Debian's NumPy and Pillow are seen by Debian's Python alone.
for python in python3 /usr/bin/python3 none; do
  "$python" -c 'import numpy, PIL' 2> /dev/null && break
done
[ "$python" != none ] || { echo "public start: no Python with NumPy and Pillow" >&2; exit 1; }
mkdir -p "$out"
"$python" "$lab/public_start/font_skeletons.py" --packages "$tools/packages/public-start" \
  --out "$out/fonts.npz"
"$python" "$lab/public_start/draw_characters.py" --writers 2500 --samples 200 --seed 1 \
  --fonts "$out/fonts.npz" --out "$out/drawn"
"$program" reproduce public-start --row pretrain --data "$out/drawn" --out "$out"
