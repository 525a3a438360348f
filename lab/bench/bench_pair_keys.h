// Cost of pair keys, which are made once an epoch, and of sealing under them.
#ifndef TACET_LAB_BENCH_BENCH_PAIR_KEYS_H_
#define TACET_LAB_BENCH_BENCH_PAIR_KEYS_H_

#include <cstdint>

#include "absl/status/statusor.h"

#include "tacet/he/aggregation.h"

namespace tacet::app::bench {

struct BenchPairKeysSpec {
  he::CommitteeShape committee{.seats = 7, .corrupt = 2};
  uint32_t members = 1000;
  uint64_t dimension = 486654;
  uint32_t repetitions = 9;  // of what is repeated for a median; 1 to 1001
};

// Medians of processor time.
struct BenchPairKeysResult {
  // Set-up of an epoch: a client's key packet and pair keys with all seats.
  double client_setup_s = 0;
  // Set-up of an epoch: a seat reads its copies of all members' packets, verifies their signatures
  // and computes its pair keys.
  double seat_setup_s = 0;
  double seal_s = 0;  // of an update, with pair keys that exist
  // The median of differences: seal_s less the same with pair keys of X25519 alone, in turn.
  double seal_more_s = 0;
};

absl::StatusOr<BenchPairKeysResult> BenchPairKeys(const BenchPairKeysSpec& spec);

}  // namespace tacet::app::bench

#endif  // TACET_LAB_BENCH_BENCH_PAIR_KEYS_H_
