#!/usr/bin/env bash
# Runs a live federation of six processes on this machine: a server and five sites. One site is
# killed in the middle of a round and comes back. Another is killed and stays away. Ends with a
# model, a report, the ledgers and a signed audit.
# usage: tools/federation_demo.sh PROGRAM
# Data: $TACET_DATA, else data/, else synthetic handwriting. An empty TACET_DATA chooses the last.
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: tools/federation_demo.sh PROGRAM" >&2; exit 2; }
tacet=$(realpath -- "$1")
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

. tools/demo_data.sh
if [ -n "$data" ]; then
  agreed=configs/federation-demo.toml
  site_data=(--data "$data")
else
  agreed=configs/federation-demo-drawn.toml
  site_data=(--draw)
fi

folder=runs/federation-demo-$(date +%Y%m%d-%H%M%S)
mkdir -p "$folder"
log=$folder/server.log
sites=(aachen berlin cork delft evora)
declare -A process=()

cleanup() {
  local pid
  for pid in "${process[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
}
trap cleanup EXIT

say() { printf '\n== %s\n' "$*"; }
key() { echo "--key-file=$folder/$1.key"; }
field() { sed -n "s/.*\"$1\": *\"\{0,1\}\([^\",}]*\).*/\1/p"; }
rounds_begun() { grep -c '"event":"attempt-begun"' "$log" || true; }
await_round() { # the server has begun this many attempts
  until [ "$(rounds_begun)" -ge "$1" ]; do
    kill -0 "${process[server]}" 2>/dev/null || { echo "federation-demo: the server ended. The last lines of $log:" >&2; tail -n 5 "$log" >&2; exit 1; }
    sleep 0.2
  done
}

say "Set-up: one member coordinates. Each site makes its own keys. The server gets none of them."
coordinator=$("$tacet" federation init --folder "$folder/coordinator" --name demo --config "$agreed" \
  --members 5 --json "$(key coordinator)" | field coordinator)
enrol() { # NAME [--server-host HOST]
  "$tacet" client request --home "$folder/$1" --name "$1" "${@:2}" "$(key "$1")" |
    tee "$folder/request.txt" >/dev/null
  "$tacet" federation enrol "$1" --server hub --folder "$folder/coordinator" "$(key coordinator)" \
    --request "$(sed -n 's/^request  *//p' "$folder/request.txt")" \
    --fingerprint "$(sed -n 's/^fingerprint  *//p' "$folder/request.txt")" >/dev/null
}
enrol hub --server-host 127.0.0.1
for site in "${sites[@]}"; do enrol "$site"; done
rm "$folder/request.txt"
"$tacet" federation seal-key --folder "$folder/coordinator" "$(key coordinator)" >/dev/null
for name in hub "${sites[@]}"; do
  "$tacet" client join "$folder/coordinator/invitations/$name-epoch-0.tacet" --home "$folder/$name" \
    --coordinator "$coordinator" "$(key "$name")" >"$folder/agreement.txt"
done
cat "$folder/agreement.txt"

say "The server starts. It adds ciphertexts that it cannot decrypt."
"$tacet" server --home "$folder/hub" --listen 127.0.0.1:0 --admin 127.0.0.1:0 --log "$log" \
  --collecting-seconds 5 --unmasking-seconds 60 --grace-seconds 2 --retry-seconds 2 "$(key hub)" &
process[server]=$!
until grep -q '"event":"listening"' "$log" 2>/dev/null; do
  kill -0 "${process[server]}" || exit 1
  sleep 0.1
done
port=$(grep '"event":"listening"' "$log" | field port)
echo "It listens at 127.0.0.1:$port. Its page is $(grep '"event":"admin-listening"' "$log" | field page)."
echo "The page asks for the token in $folder/hub/page.token."

printf '[data]\nsites = 5\n' >"$folder/site.toml"
start() { # NAME
  local number
  for number in "${!sites[@]}"; do [ "${sites[$number]}" = "$1" ] && break; done
  "$tacet" client run --home "$folder/$1" --server "127.0.0.1:$port" --config "$folder/site.toml" \
    "${site_data[@]}" --client "$number" --ledger "$folder/ledgers/$1" "$(key "$1")" \
    >>"$folder/$1.out" 2>&1 &
  process[$1]=$!
}
say "Five sites train. Each reads only its own data."
for site in "${sites[@]}"; do start "$site"; done
await_round 3
say "The site berlin is killed in the middle of a round"
kill -KILL "${process[berlin]}"
wait "${process[berlin]}" 2>/dev/null || true
sleep 2
say "berlin comes back. It sends its sealed upload again and never seals a second one for a round."
start berlin
await_round 6
say "The site evora is killed and stays away. Rounds now close at their deadline with four uploads."
kill -KILL "${process[evora]}"
wait "${process[evora]}" 2>/dev/null || true
unset "process[evora]"
for site in aachen berlin cork delft; do
  wait "${process[$site]}"
  unset "process[$site]"
done
kill -TERM "${process[server]}"
wait "${process[server]}"
unset "process[server]"

say "Output of aachen"
cat "$folder/aachen.out"
say "The four remaining sites have the same model"
for site in aachen berlin cork delft; do sha256sum "$folder/$site/run/model.f32"; done
[ "$(for site in aachen berlin cork delft; do sha256sum <"$folder/$site/run/model.f32"; done | sort -u | wc -l)" -eq 1 ]
say "Epsilon that each site's ledger has recorded"
for site in "${sites[@]}"; do
  echo "$site: $("$tacet" ledger show "$folder/$site/run/ledger" --json | field epsilon | head -n 1)"
  "$tacet" ledger verify "$folder/$site/run/ledger"
done
say "A signed audit and a report of aachen's run"
"$tacet" audit "$folder/aachen/run"
"$tacet" audit verify "$folder/aachen/run/audit.json"
"$tacet" report "$folder/aachen/run"
echo
echo "All files are in $folder: the coordinator's, the server's (hub) and the sites'."
echo "The log of a site is SITE/node-log.jsonl."
