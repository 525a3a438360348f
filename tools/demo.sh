#!/usr/bin/env bash
# Trains a small federation, encryption and noise on, on the handwriting that is at hand.
# usage: tools/demo.sh PROGRAM [ARGUMENT...]      (arguments go to `tacet simulate`)
# Data, first that exists: $TACET_DATA, data/, ../shared/data/femnist-400; else handwriting that the
# program draws itself.
set -euo pipefail
[ $# -ge 1 ] || { echo "usage: tools/demo.sh PROGRAM [ARGUMENT...]" >&2; exit 2; }
program=$(realpath -- "$1")
shift
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

if [ -n "${TACET_DATA:-}" ] && [ ! -e "$TACET_DATA" ]; then
  echo "demo: TACET_DATA names $TACET_DATA, which does not exist" >&2
  exit 1
fi
settings=(--config configs/demo-drawn.toml)
for candidate in ${TACET_DATA:+"$TACET_DATA"} data ../shared/data/femnist-400; do
  if [ -e "$candidate" ]; then
    settings=(--config configs/demo.toml --data "$candidate")
    break
  fi
done

run=runs/demo-$(date +%Y%m%d-%H%M%S)
echo "A federation trains a model: each owner clips, noises, quantises, tags and encrypts its update,"
echo "the server adds ciphertexts without a key, openers check and open the sum."
echo
"$program" simulate "${settings[@]}" --out "$run" "$@"

echo
echo "What this small federation promises, to whom (every attempt charged):"
echo
config() { sed -n "s/^$1 = \([^ ]*\).*/\1/p" "$run/config.toml" | head -n 1; }
summary() { sed -n "s/^  \"$1\": \([^,]*\).*/\1/p" "$run/summary.json"; }
"$program" privacy --clients "$(summary clients)" --cohort "$(summary cohort)" \
  --rounds "$(summary charged_attempts)" --clip "$(config clip_norm)" --noise "$(config noise)" \
  --delta "$(config delta)"
echo
echo "The same of a federation of the paper's size, 1000 of 3596 owners a round, noise of six clip norms:"
echo
"$program" privacy --clients 3596 --cohort 1000 --rounds 100 --clip 1 --noise 6 --delta 1e-5
echo
echo "The run's files are in $run (docs/formats/run-directory.md). All of it as one page, for a browser:"
"$program" report "$run"
