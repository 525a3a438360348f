// Division of an attempt's work among the ranks of one simulation. Rank 0 gives the tasks, every
// rank seals and adds its share, and partial sums travel to rank 0. Both go along one tree, in
// which the parent of rank r is r without its lowest set bit. One rank sends or receives at most
// log2 of the number of ranks messages in turn.
#ifndef TACET_SIMULATION_RANK_TEAM_H_
#define TACET_SIMULATION_RANK_TEAM_H_

#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/sealed_box.h"
#include "tacet/simulation/rank_group.h"
#include "tacet/simulation/rank_messages.h"
#include "tacet/simulation/update_path.h"

namespace tacet::simulation {

// Copies `bytes` of rank 0 to all ranks. Called by all ranks. DataLoss when it is more than
// `max_bytes`.
absl::Status BroadcastFromRankZero(RankGroup& ranks, base::Bytes& bytes, size_t max_bytes);

// Merges what this rank and the ranks below it in the tree have added, and passes it on. At rank 0,
// `path` and `report` then hold all ranks' share; elsewhere `path` is spent. Called by all ranks.
absl::Status MergeAtRankZero(RankGroup& ranks, UpdatePath& path, RankReport& report);

// Rank 0's part.
class RankLeader {
 public:
  explicit RankLeader(RankGroup& ranks) : ranks_(ranks) {}

  // Waits for every other rank. FailedPrecondition names one that came to another agreement or read
  // other data. A rank proves its data under a secret that was drawn for it alone and sealed to its
  // key: no digest of data that others could recompute is sent.
  absl::Status Greet(const crypto::Digest& agreement, const crypto::Digest& data);
  // Gives `shares`, one a rank; rank 0's own, the first, stays.
  absl::Status Begin(const secagg::Attempt& attempt, std::span<const float> model,
                     const SharedSecrets& secrets, std::span<const CohortShare> shares);
  // Sends the other ranks home.
  absl::Status End();

 private:
  RankGroup& ranks_;
  std::vector<crypto::SealingPublicKey> keys_;  // of ranks 1, 2, ...
};

// Any other rank's.
class RankMember {
 public:
  // The key pair is this object's alone.
  explicit RankMember(RankGroup& ranks);

  absl::Status Greet(const crypto::Digest& agreement, const crypto::Digest& data);
  struct Work {
    RankJob job;
    RankTask task;
  };
  // The next task; nothing when the run is over.
  absl::StatusOr<std::optional<Work>> Next(uint64_t dimension, uint64_t clients);

 private:
  RankGroup& ranks_;
  crypto::SealingKey key_;
};

}  // namespace tacet::simulation

#endif  // TACET_SIMULATION_RANK_TEAM_H_
