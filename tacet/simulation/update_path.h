// Path from the updates of a cohort to their average: encrypted, or in the clear in runs that are
// labelled so.
#ifndef TACET_SIMULATION_UPDATE_PATH_H_
#define TACET_SIMULATION_UPDATE_PATH_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/agreement/manifest.h"
#include "tacet/crypto/random.h"
#include "tacet/crypto/secret.h"
#include "tacet/crypto/signing.h"
#include "tacet/secagg/attempt.h"
#include "tacet/simulation/channel.h"
#include "tacet/simulation/simulated_keys.h"
#include "tacet/simulation/unmasking.h"

namespace tacet::simulation {

// Fresh bytes for one named purpose. A real run answers every label with the operating system's
// generator; `--insecure-seed` with a generator of (seed, label).
using EntropyFactory = std::function<std::unique_ptr<crypto::Entropy>(std::string_view label)>;

// Seconds of all threads together.
struct PrivacySeconds {
  double seal = 0;
  double add = 0;
  double open = 0;  // votes, unmask shares and decryption
};

struct Average {
  uint32_t participants = 0;  // K'
  std::vector<double> mean;   // d values
  uint64_t upload_bytes = 0;  // of one upload; 0 when nothing is encrypted
  uint64_t sum_bytes = 0;     // of the closed round sent to the members
};

// One attempt: every participant contributes, then the average comes out. Several paths of one
// attempt may take contributions, each in a process of its own: their partial sums come together in
// the one that finishes.
class UpdatePath {
 public:
  virtual ~UpdatePath() = default;

  // Takes one participant's update (d floats). Thread-safe. An error concerns this participant
  // alone: its update is not in the sum. `place` numbers the cohort: partial sums name places, so
  // that who takes part does not travel with them.
  virtual absl::Status Contribute(uint32_t place, uint64_t participant,
                                  std::span<const float> update) = 0;
  // The contributions so far, for another path of the attempt; nothing may be contributed
  // afterwards. Encrypted as far as contributions are.
  virtual absl::StatusOr<base::Bytes> TakePartial() = 0;
  // Adds what TakePartial() of another path gave. An error leaves the sum as it was.
  virtual absl::Status Merge(std::span<const uint8_t> partial) = 0;
  // No partial sum is longer.
  virtual size_t MaxPartialBytes() const = 0;
  // The average of everything contributed. An error fails the attempt: nothing is applied.
  virtual absl::StatusOr<Average> Finish() = 0;
  // Seconds spent so far.
  virtual PrivacySeconds seconds() const = 0;
};

// The real thing: seal, add, unmask, decrypt. What it refers to must outlive it. Only unmasking
// needs members' keys, in the manifest and in `keys`.
struct EncryptedPathParts {
  const agreement::Manifest& manifest;
  const MemberKeys& keys;
  PairKeys& pair_keys;
  // By place: who takes part. Partial sums name places, so that only the path that finishes knows.
  // Empty on ranks that only contribute.
  std::vector<uint64_t> participants;
  Channel& channel;
  const EntropyFactory& entropy;
  const MemberLog& log;
};
absl::StatusOr<std::unique_ptr<UpdatePath>> NewEncryptedPath(const EncryptedPathParts& parts,
                                                             const secagg::Attempt& attempt);

// The same mechanism without encryption: integer counts are added in the clear.
std::unique_ptr<UpdatePath> NewQuantizedPath(const agreement::Manifest& manifest,
                                             const secagg::Attempt& attempt,
                                             const EntropyFactory& entropy);

// Clip and noise alone, no quantisation. Terms are rounded to multiples of 2^-40, so that the sum
// does not depend on the order in which threads add.
std::unique_ptr<UpdatePath> NewPlainPath(const agreement::Manifest& manifest,
                                         const secagg::Attempt& attempt,
                                         const EntropyFactory& entropy);

}  // namespace tacet::simulation

#endif  // TACET_SIMULATION_UPDATE_PATH_H_
