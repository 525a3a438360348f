#!/usr/bin/env bash
# Line coverage of each decoder by its seed corpus, measured by clang. Fails if the coverage of a
# file is below 80 %.
# usage: tools/fuzz_coverage.sh
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
build=build/coverage
least=80

# A fuzz target and the files that decode its input.
decoders=(
  "messages tacet/secagg/upload.cc tacet/secagg/closed_round.cc tacet/secagg/unmask_share.cc tacet/secagg/vote.cc tacet/secagg/check_row.cc tacet/secagg/wire.cc"
  "ciphertext tacet/he/truncated_planes.cc"
  "aggregated_ciphertext tacet/he/residues.cc"
  "checkpoint tacet/protocol/checkpoint.cc"
  "configuration tacet/config/toml.cc"
  "enrolment tacet/crypto/certificates.cc tacet/crypto/locked_secret.cc tacet/agreement/manifest_bytes.cc tacet/agreement/signed_manifest.cc tacet/agreement/member_keys.cc"
  "csv tacet/data/csv.cc tacet/data/csv_feature.cc"
  "idx tacet/data/idx.cc tacet/data/inflating_reader.cc"
  "leaf tacet/data/leaf.cc"
  "network tacet/protocol/announcement.cc tacet/protocol/member_request.cc tacet/protocol/attestation.cc tacet/protocol/epoch_opening.cc tacet/agreement/labelled_signature.cc"
  "ledger tacet/ledger/ledger_format.cc"
  "audit tacet/audit/audit_file.cc tacet/audit/audit_record.cc"
  "http_head tacet/transport/http/header_field.cc tacet/transport/http/request_parser.cc tacet/transport/https/answer_head.cc tacet/transport/http/hello_watch.cc tacet/transport/https/call_format.cc"
  "key_sharing tacet/he/key_sharing.cc"
  "partial_sum tacet/secagg/partial_sum.cc"
  "policy tacet/policy/policy_signature.cc"
  "query tacet/statistics/query_text.cc"
  "row_sketch tacet/ledger/row_sketch.cc"
  "seat_anchor tacet/member/seat_anchor.cc"
  "rank_messages tacet/simulation/rank_messages.cc"
)

tools/quiet.sh "configure coverage" cmake --preset coverage
targets=()
for entry in "${decoders[@]}"; do targets+=("${entry%% *}_fuzz"); done
tools/quiet.sh "build coverage" cmake --build --preset coverage --target "${targets[@]}"

status=0
for entry in "${decoders[@]}"; do
  read -r name files <<<"$entry"
  binary=$(find "$build" -type f -name "${name}_fuzz" -perm -u+x -print -quit)
  LLVM_PROFILE_FILE="$build/$name.profraw" "$binary" --seeds-only fuzz/corpus/"$name"/* >/dev/null
  llvm-profdata-14 merge -sparse "$build/$name.profraw" -o "$build/$name.profdata"
  for file in $files; do
    percent=$(llvm-cov-14 export -summary-only "$binary" -instr-profile="$build/$name.profdata" "$file" |
      python3 -c 'import json, sys; print(json.load(sys.stdin)["data"][0]["totals"]["lines"]["percent"])')
    printf '%-14s %-40s %5.1f %%\n' "$name" "$file" "$percent"
    awk -v p="$percent" -v l="$least" 'BEGIN { exit !(p >= l) }' || status=1
  done
done
exit "$status"
