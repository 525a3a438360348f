// Measurements of a federation's rounds, taken by its members.
#ifndef TACET_LAB_LOAD_LOAD_METER_H_
#define TACET_LAB_LOAD_LOAD_METER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/mutex.h"

namespace tacet::app::load {

struct LoadRound {
  uint32_t round = 0;
  uint32_t participants = 0;  // uploads that the server accepted
  // From the first member that trains, or from the end of the round before when that is later, to
  // the last member that has the model: the seconds of all rounds are those of the run.
  double seconds = 0;
  double sealing_seconds = 0;  // of all members, processor time spread over the cores
};

struct LoadResult {
  std::vector<LoadRound> rounds;
  std::vector<double> upload_seconds;  // of every upload, from the first byte to its acceptance
  // Of every round's sums, by every member that applied them: from the announcement to the new
  // model.
  std::vector<double> fetch_seconds;
  uint64_t upload_bytes = 0;  // of one
};

// Thread-safe.
class LoadMeter {
 public:
  // `on_round` hears of every round that all members have; one call at a time.
  LoadMeter(uint64_t members, std::function<void(const LoadRound&)> on_round)
      : members_(members), on_round_(std::move(on_round)) {}

  // A member begins to train.
  void Begun(uint32_t round);
  void Sealed(uint32_t round, double cpu_seconds);
  void Uploaded(uint32_t round, double seconds, uint64_t bytes);
  // A member goes on from `round`: with the round's sums, which took `seconds`, or with the state
  // of a later round.
  void Fetched(double seconds);
  void Applied(uint32_t round);

  // The first error ends the run: waits end.
  void Fail(const absl::Status& why);
  // False as soon as a member has failed.
  bool Wait(double seconds);

  // The first error, or all that was measured.
  absl::StatusOr<LoadResult> Result();

 private:
  using Clock = std::chrono::steady_clock;
  struct Progress {
    Clock::time_point begun;
    double sealing_cpu_seconds = 0;
    uint32_t uploads = 0;
    uint64_t applied = 0;
  };

  const uint64_t members_;
  const std::function<void(const LoadRound&)> on_round_;
  base::Mutex mutex_;
  base::CondVar failed_;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  std::map<uint32_t, Progress> progress_ ABSL_GUARDED_BY(mutex_);  // by round
  Clock::time_point ended_ ABSL_GUARDED_BY(mutex_);                // the last round that did
  LoadResult result_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tacet::app::load

#endif  // TACET_LAB_LOAD_LOAD_METER_H_
