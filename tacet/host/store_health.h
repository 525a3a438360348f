// Health of a server's store and of its folder of objects.
#ifndef TACET_HOST_STORE_HEALTH_H_
#define TACET_HOST_STORE_HEALTH_H_

#include <chrono>
#include <functional>
#include <optional>
#include <utility>

#include "absl/status/status.h"

#include "tacet/base/failure_cause.h"
#include "tacet/base/mutex.h"
#include "tacet/host/problems.h"

namespace tacet::host {

// Thread-safe.
class StoreHealth {
 public:
  using SteadyClock = std::function<std::chrono::steady_clock::time_point()>;
  // For so long the failure of a request counts: its member sends it again within 30 s.
  static constexpr std::chrono::seconds kRequestsFailure{60};

  explicit StoreHealth(SteadyClock clock = std::chrono::steady_clock::now)
      : clock_(std::move(clock)) {}

  // For the server's own calls, which come several times a second.
  void NoteTick(const absl::Status& done);
  // For a member's request. Only an error with a cause tells of the store.
  void NoteRequest(const absl::Status& status);

  // disk-full, database-away or store-failed; nothing while it works.
  std::optional<Problem> Now() const;

 private:
  SteadyClock clock_;
  mutable base::Mutex mutex_;
  std::optional<base::FailureCause> tick_failed_ ABSL_GUARDED_BY(mutex_);
  struct Failure {
    base::FailureCause cause;
    std::chrono::steady_clock::time_point at;
  };
  std::optional<Failure> request_failed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tacet::host

#endif  // TACET_HOST_STORE_HEALTH_H_
