#!/usr/bin/env bash
# Three members that are examples/join_federation.cc train in a live federation, first with
# tacet-server, then with a server by the header tacet/server.h.
# usage: live_example_test.sh TACET JOIN_FEDERATION SERVE_FOR_TEST SCRATCH-FOLDER
set -euo pipefail
tacet=$1 join=$2 serve=$3 scratch=$4
rm -rf -- "$scratch"
mkdir -p -- "$scratch"
cd -- "$scratch"

fail() {
  echo "live_example_test: $*" >&2
  exit 1
}

# A folder `$1` with the homes of a federation of three members and a server, all joined.
make_federation() {
  mkdir "$1"
  cd "$1"
  printf '\0\0\0\0\0\0\0\0' > initial.f32
  cat > agreed.toml << 'TOML'
[model]
name = "external"
architecture = "y = a + b x"
[federation]
rounds = 8
spare_attempts = 2
[privacy]
neighbouring = "zero-out"
clip_norm = 4.0
coordinate_bound = 4.0
noise_multiplier = 0.7
scale = 1e-3
TOML
  "$tacet" federation init --folder coordinator --name trial --config agreed.toml --initial-model \
    initial.f32 --members 3 --key-file c.key --json > made.json
  coordinator=$(sed -n 's/.*"coordinator": *"\([^"]*\)".*/\1/p' made.json)
  for name in hub north south west; do
    hosts=()
    [ "$name" != hub ] || hosts=(--server-host 127.0.0.1)
    "$tacet" client request --home "$name" --name "$name" "${hosts[@]}" --key-file "$name.key" > request.txt
    "$tacet" federation enrol "$name" --folder coordinator --request "$name/$name.request" --server hub \
      --fingerprint "$(sed -n 's/^fingerprint //p' request.txt)" --key-file c.key > /dev/null
  done
  "$tacet" federation seal-key --folder coordinator --key-file c.key > /dev/null
  for name in hub north south west; do
    "$tacet" client join "coordinator/invitations/$name-epoch-0.tacet" --home "$name" \
      --key-file "$name.key" --coordinator "$coordinator" > /dev/null
  done
  # y = 1000 + 2000 x: every update is clipped to length 4, and 2.5 or more of it are in a and in b.
  for name in north south west; do
    printf '0,1000\n0.5,2000\n1,3000\n-1,-1000\n' > "$name.csv"
  done
  cd ..
}

# Trains in the federation `$1` with the server that the remaining words start.
train() {
  cd "$1"
  shift
  "$@" > server.out &
  server=$!
  # Processes that this script started end with it.
  trap 'kill $(jobs -p) 2> /dev/null || true' EXIT
  port=
  until [ -n "$port" ]; do
    kill -0 "$server" || fail "the server ended: $(cat server.out)"
    port=$(sed -n 's/.*"event": *"listening".*"port": *\([0-9]*\).*/\1/p' server.log 2> /dev/null || true)
    sleep 0.1
  done
  members=()
  for name in north south west; do
    XDG_DATA_HOME="$PWD/$name-user" "$join" "$name" "127.0.0.1:$port" "$name.key" "$name.csv" \
      > "$name.out" &
    members+=($!)
  done
  for member in "${members[@]}"; do
    wait "$member" || fail "a member failed"
  done
  kill -TERM "$server"
  wait "$server" || fail "the server failed"
  cat north.out
  cmp north.out south.out && cmp north.out west.out || fail "the members have different models"
  # After 8 rounds a and b are 20 or more. Three shares of noise, two of which have deviation 2.8 in
  # the sum, are 3.3 in 8 averages: a or b is negative once in 10^9 runs at most.
  grep -Eq '^8 rounds: y = [0-9.]+ [+] [0-9.]+ x$' north.out || fail "$(cat north.out)"
  cd ..
}

make_federation program
train program "$tacet" server --home hub --key-file hub.key --listen 127.0.0.1:0 \
  --admin 127.0.0.1:0 --log server.log --grace-seconds 1 --retry-seconds 1 --collecting-seconds 20
make_federation header
train header "$serve" hub hub.key server.log
