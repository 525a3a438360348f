// Readiness of a server's process: it listens, works, and is not about to end.
#ifndef TACET_HOST_READINESS_H_
#define TACET_HOST_READINESS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "tacet/base/mutex.h"
#include "tacet/host/problems.h"

namespace tacet::host {

// Thread-safe.
class Readiness {
 public:
  using SteadyClock = std::function<std::chrono::steady_clock::time_point()>;
  static constexpr std::chrono::seconds kMaxTickAge{15};

  explicit Readiness(SteadyClock clock = std::chrono::steady_clock::now)
      : clock_(std::move(clock)) {}

  void SetListening(bool listening);
  void SetDraining();
  // After each tick; `unix_now` by the clock that may be set.
  void NoteTick(uint64_t unix_now);
  // Whether the clock was set, or ticks stood still, so lately that members had no time to call.
  bool IsUnsettled(uint64_t unix_now) const;

  // Why it is not ready; nothing when it is.
  std::vector<Problem> Problems() const;

 private:
  // Whether it happened between the last tick and now.
  bool IsDisturbed(uint64_t unix_now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  SteadyClock clock_;
  mutable base::Mutex mutex_;
  bool listening_ ABSL_GUARDED_BY(mutex_) = false;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  using Time = std::chrono::steady_clock::time_point;
  std::optional<Time> last_tick_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_unix_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<Time> disturbed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tacet::host

#endif  // TACET_HOST_READINESS_H_
