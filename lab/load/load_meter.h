// Measurements of a federation's rounds, as its members hear of them from the server.
#ifndef TACET_LAB_LOAD_LOAD_METER_H_
#define TACET_LAB_LOAD_LOAD_METER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/mutex.h"

namespace tacet::app::load {

struct LoadRound {
  uint32_t round = 0;
  uint32_t participants = 0;  // uploads that the server accepted
  // Time from the server's first announcement of this round to that of the next one; of the last
  // round to the announcement of its sum. So a round includes what members still do for the round
  // before, and the wait for its slowest upload.
  double seconds = 0;
  double sealing_seconds = 0;  // of all members, processor time spread over the cores
};

struct LoadResult {
  double connecting_seconds = 0;  // from the first member's first call until all had an answer
  std::vector<LoadRound> rounds;
  std::vector<double> upload_seconds;  // of every upload, from the first byte to its acceptance
  // For every round's sums, by every member that applied them: from the announcement to the new
  // model.
  std::vector<double> fetch_seconds;
  uint64_t upload_bytes = 0;  // of one
};

struct LoadMeterSpec {
  uint64_t members = 0;
  uint32_t rounds = 0;
  // Hears of every round that has ended and that all members have; one call at a time, in order.
  std::function<void(const LoadRound&)> on_round;
  std::function<std::chrono::steady_clock::time_point()> clock = std::chrono::steady_clock::now;
};

// Thread-safe.
class LoadMeter {
 public:
  explicit LoadMeter(LoadMeterSpec spec) : spec_(std::move(spec)) {}

  // A member calls the server for the first time, and has its first answer.
  void Connects();
  void IsConnected();
  // The server announces that `round` has begun, or that `finished` rounds are published. The first
  // member that hears of it counts.
  void Begun(uint32_t round);
  void Published(uint32_t finished);
  void Sealed(uint32_t round, double cpu_seconds);
  void Uploaded(uint32_t round, double seconds, uint64_t bytes);
  // A member has the sums of a round, which took `seconds`.
  void Fetched(double seconds);
  // A member has the state after `round`.
  void Applied(uint32_t round);

  // The first error ends the run: waits end.
  void Fail(const absl::Status& why);
  // False as soon as a member has failed.
  bool Wait(double seconds);

  // The first error, or all that was measured.
  absl::StatusOr<LoadResult> Result();

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Progress {
    std::optional<Time> begun;
    double sealing_cpu_seconds = 0;
    uint32_t uploads = 0;
    uint64_t applied = 0;
  };
  struct Connecting {
    std::optional<Time> begun;
    uint64_t connected = 0;
  };

  void TellRounds() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const LoadMeterSpec spec_;
  base::Mutex mutex_;
  base::CondVar failed_;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  Connecting connecting_ ABSL_GUARDED_BY(mutex_);
  std::map<uint32_t, Progress> progress_ ABSL_GUARDED_BY(mutex_);  // by round
  LoadResult result_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tacet::app::load

#endif  // TACET_LAB_LOAD_LOAD_METER_H_
