// Readiness check of a server, for the systems that send it traffic.
#ifndef TACET_HOST_READINESS_H_
#define TACET_HOST_READINESS_H_

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "tacet/base/mutex.h"

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
  // After each tick: whether the store did what it was asked.
  void NoteTick(bool store_works);

  // Why not, a sentence each; nothing when it can.
  std::vector<std::string> Problems() const;

 private:
  SteadyClock clock_;
  mutable base::Mutex mutex_;
  bool listening_ ABSL_GUARDED_BY(mutex_) = false;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool store_works_ ABSL_GUARDED_BY(mutex_) = false;
  bool ticked_ ABSL_GUARDED_BY(mutex_) = false;
  std::chrono::steady_clock::time_point last_tick_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tacet::host

#endif  // TACET_HOST_READINESS_H_
