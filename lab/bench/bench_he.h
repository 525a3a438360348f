// Benchmark of the aggregation alone, on one core.
#ifndef TACET_LAB_BENCH_BENCH_HE_H_
#define TACET_LAB_BENCH_BENCH_HE_H_

#include <cstdint>

#include "absl/status/statusor.h"

#include "lab/bench/machine_rates.h"
#include "tacet/he/aggregation.h"
#include "tacet/secagg/terms.h"

namespace tacet::app::bench {

struct BenchHeSpec {
  he::Scheme scheme = he::Scheme::kCompact;
  uint64_t dimension = 486654;   // d
  uint32_t participants = 1000;  // K
  uint32_t plaintext_bits = 22;  // w
  uint32_t repetitions = 9;      // of what is repeated for a median; 1 to 1001
  he::CommitteeShape committee{.seats = 5, .corrupt = 2};  // scheme compact
};

// The paper's setting in proportion (noise 6 K/1000, b = 0.1), with the quantisation scale chosen
// so that sums need exactly `plaintext_bits` bits. InvalidArgument when no scale does that.
absl::StatusOr<secagg::Terms> ChooseTerms(const BenchHeSpec& spec);

// Medians in seconds. Uploads are made by the product's own sealing, outside the timed parts.
struct BenchHeResult {
  double setup_s = 0;           // keys of an attempt and the round's public polynomials
  double encode_s = 0;          // counts into slots
  double encrypt_s = 0;         // encode_encrypt_s less encode_s
  double encode_encrypt_s = 0;  // counts to ciphertext, the shares of the key included
  double seal_s = 0;            // update to upload: clip, noise, quantise, tag, encode, encrypt
  double aggregate_s = 0;       // the bytes of K distinct uploads to the closed round
  double aggregate_two_cores_s = 0;  // the same on two threads
  double decrypt_s = 0;              // aggregated ciphertext to integers, the MAC verified
  double share_s = 0;    // masks and shares of one key for the whole committee; 0 without one
  double unmask_s = 0;   // a seat's sum of the masks of K uploads; 0 without a committee
  double recover_s = 0;  // sum of the keys from the answers of all seats
  uint64_t upload_bytes = 0;
  uint64_t sum_bytes = 0;  // of the closed round
  // Largest resident size less what the benchmark itself holds: an update, and all uploads unless
  // `streamed`.
  uint64_t peak_rss_bytes = 0;
  uint64_t peak_beyond_update_bytes = 0;  // largest resident size less one update of floats
  // Uploads are so long that each is added as soon as it is made; adding was measured once then.
  bool streamed = false;
  uint64_t wrong_values = 0;  // of d decrypted sums that differ from the true ones
  // Least resources that these need.
  Demand encode_encrypt, seal, aggregate, decrypt;
};

// Counts are drawn so that every decrypted sum is uniform over the whole range that the plan
// proves. InvalidArgument when no quantisation scale gives sums of exactly `plaintext_bits` bits.
absl::StatusOr<BenchHeResult> BenchHe(const BenchHeSpec& spec);

}  // namespace tacet::app::bench

#endif  // TACET_LAB_BENCH_BENCH_HE_H_
