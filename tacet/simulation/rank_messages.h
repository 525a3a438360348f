// Messages between the ranks of one simulation (docs/formats/rank-messages.md).
#ifndef TACET_SIMULATION_RANK_MESSAGES_H_
#define TACET_SIMULATION_RANK_MESSAGES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/sealed_box.h"
#include "tacet/crypto/secret.h"
#include "tacet/secagg/attempt.h"
#include "tacet/simulation/cohort_trainer.h"
#include "tacet/simulation/simulated_keys.h"

namespace tacet::simulation {

// A rank that is ready, to rank 0.
struct RankHello {
  crypto::Digest agreement{};      // of the manifest it made itself
  crypto::SealingPublicKey key{};  // of this process alone: what is for it is sealed to this key

  friend bool operator==(const RankHello&, const RankHello&) = default;
};
base::Bytes WriteRankHello(const RankHello& hello);
absl::StatusOr<RankHello> ReadRankHello(std::span<const uint8_t> bytes);

// One attempt, from rank 0 to all.
struct RankJob {
  secagg::Attempt attempt;
  std::vector<float> model;
};
base::Bytes WriteRankJob(const secagg::Attempt& attempt, std::span<const float> model);
base::Bytes WriteRankEnd();  // in place of a job: the run is over
// Nothing when the run is over.
absl::StatusOr<std::optional<RankJob>> ReadRankJob(std::span<const uint8_t> bytes,
                                                   uint64_t dimension);
size_t MaxRankJobBytes(uint64_t dimension);

// A rank's own part of an attempt: who is trained, and the secrets that seal. From rank 0, sealed
// to the rank's key.
struct RankTask {
  SharedSecrets secrets;
  CohortShare share;
};
// InvalidArgument when `to` is not a key.
absl::StatusOr<base::Bytes> EncryptRankTask(const RankTask& task,
                                            const crypto::SealingPublicKey& to);
// DataLoss also for a client that is not below `clients`.
absl::StatusOr<RankTask> DecryptRankTask(std::span<const uint8_t> sealed,
                                         const crypto::SealingKey& key, uint64_t clients);
size_t MaxRankTaskBytes(uint64_t clients);

// Result of a task: of the rank itself and of those whose sums it has merged. The partial sum
// follows as the next message.
struct RankReport {
  uint32_t threads = 0;
  double train_seconds = 0, seal_seconds = 0, add_seconds = 0;  // of all threads together
  std::vector<std::string> notes = {};                          // for the observer
  uint64_t more_notes = 0;                                      // that were not kept

  static constexpr size_t kMaxNotes = 100;

  void Note(std::string_view text);  // its first 1000 bytes
  void Add(const RankReport& other);

  friend bool operator==(const RankReport&, const RankReport&) = default;
};
base::Bytes WriteRankReport(const RankReport& report);
absl::StatusOr<RankReport> ReadRankReport(std::span<const uint8_t> bytes);
inline constexpr size_t kMaxRankReportBytes = size_t{1} << 20;

}  // namespace tacet::simulation

#endif  // TACET_SIMULATION_RANK_MESSAGES_H_
