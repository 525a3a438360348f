// Cost of pair keys, which are made once an epoch: a client's with all seats, a seat's with one
// client.
#ifndef TACET_LAB_BENCH_BENCH_PAIR_KEYS_H_
#define TACET_LAB_BENCH_BENCH_PAIR_KEYS_H_

#include <cstdint>

#include "absl/status/statusor.h"

#include "tacet/crypto/random.h"

namespace tacet::app::bench {

struct PairKeyTimes {
  double client_s = 0;  // key packet and pair keys with all seats
  double seat_s = 0;    // reading one client's copy, its signature verified, and its pair key
};
// Medians of processor time.
absl::StatusOr<PairKeyTimes> BenchPairKeys(uint32_t seats, uint32_t repetitions,
                                           crypto::Entropy& entropy);

}  // namespace tacet::app::bench

#endif  // TACET_LAB_BENCH_BENCH_PAIR_KEYS_H_
