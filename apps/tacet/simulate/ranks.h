// The processes of a run: this one alone, or those that mpirun started.
#ifndef TACET_APPS_TACET_SIMULATE_RANKS_H_
#define TACET_APPS_TACET_SIMULATE_RANKS_H_

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/simulation/rank_group.h"

namespace tacet::app::simulate {

class Ranks {
 public:
  virtual ~Ranks() = default;

  virtual simulation::RankGroup& group() = 0;
  // For this machine, for this rank: at least 1.
  virtual size_t processors() const = 0;
  // Prints which rank failed and why, and ends all of them; returns only in a run of one process,
  // where nothing needs to be ended.
  virtual void EndAll(const absl::Status& why) = 0;
};

// FailedPrecondition when mpirun started this program and it was built without MPI.
absl::StatusOr<std::unique_ptr<Ranks>> JoinRanks();

}  // namespace tacet::app::simulate

#endif  // TACET_APPS_TACET_SIMULATE_RANKS_H_
