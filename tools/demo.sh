#!/usr/bin/env bash
# Trains a federation on handwriting, with encryption and differential privacy.
# usage: tools/demo.sh PROGRAM [ARGUMENT...]      (arguments go to `tacet simulate`)
# Data: $TACET_DATA, else data/, else synthetic handwriting. An empty TACET_DATA chooses the last.
# The run is written to $TACET_DEMO_RUN, by default runs/demo-DATE-TIME.
set -euo pipefail
[ $# -ge 1 ] || { echo "usage: tools/demo.sh PROGRAM [ARGUMENT...]" >&2; exit 2; }
program=$(realpath -- "$1")
shift
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
. tools/demo_data.sh
if [ -n "$data" ]; then
  settings=(--config configs/demo.toml --data "$data")
else
  settings=(--config configs/demo-drawn.toml)
fi
run=${TACET_DEMO_RUN:-runs/demo-$(date +%Y%m%d-%H%M%S)}

echo "A federation trains a model. All parties run in this one process."
echo "Each client clips, noises, quantises and encrypts its update and adds a MAC."
echo "The server adds the ciphertexts without a key."
echo "A committee of clients votes for the aggregate and unmasks it; everybody checks it."
echo
"$program" simulate "${settings[@]}" --out "$run" "$@"

config() { sed -n "s/^$1 = \([^ ]*\).*/\1/p" "$run/config.toml" | head -n 1; }
summary() { sed -n "s/^  \"$1\": \([^,]*\).*/\1/p" "$run/summary.json"; }
echo
echo "== The guarantee in words"
echo "Nobody learns who took part: each client tosses a secret coin, and all upload."
echo
"$program" privacy --clients "$(summary clients)" --cohort "$(summary cohort)" \
  --rounds "$(summary charged_attempts)" --clip-norm "$(config clip_norm)" \
  --noise-multiplier "$(config noise_multiplier)" \
  --delta "$(config delta)" --explain | fold -s -w 100
echo
echo "== The guarantee at the size of the paper's experiment"
echo "3596 clients, 1000 in each of 100 rounds, noise of six clip norms."
"$program" privacy --clients 3596 --cohort 1000 --rounds 100 --clip-norm 1 \
  --noise-multiplier 6 --delta 1e-5 |
  sed -n '/^Two ways/,$p' | fold -s -w 100
echo
echo "== Files"
echo "The run is in $run (docs/formats/run-directory.md describes the files)."
echo "Open the report in a browser:"
"$program" report "$run"
