// Counts of members' requests, and a log of refused ones that does not tell who asked for what.
#ifndef TACET_HOST_REQUEST_WATCH_H_
#define TACET_HOST_REQUEST_WATCH_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "tacet/base/mutex.h"
#include "tacet/host/server_log.h"
#include "tacet/host/server_metrics.h"
#include "tacet/host/store_health.h"
#include "tacet/server/request_handler.h"

namespace tacet::host {

// Among refusals of one kind for one reason the log gets a few a minute and the number of the
// others, so that nobody can fill a disk with them.
class RequestWatch final : public tacet::server::RequestObserver {
 public:
  using SteadyClock = std::function<std::chrono::steady_clock::time_point()>;
  static constexpr uint64_t kLoggedAMinute = 10;

  // All must outlive it.
  RequestWatch(ServerLog& log, ServerMetrics& metrics, StoreHealth& health,
               SteadyClock clock = std::chrono::steady_clock::now)
      : log_(log), metrics_(metrics), health_(health), clock_(std::move(clock)) {}

  void OnRequest(std::string_view kind, const absl::Status& status, size_t request_bytes,
                 size_t answer_bytes) override;

  // To be called about every second: logs numbers of refusals that were held back.
  void Flush();

 private:
  struct Refusals {
    std::chrono::steady_clock::time_point since;
    uint64_t count = 0;
  };
  // Whether this refusal is to be logged by itself.
  bool Admit(std::string_view kind, absl::StatusCode code);

  ServerLog& log_;
  ServerMetrics& metrics_;
  StoreHealth& health_;
  SteadyClock clock_;
  base::Mutex mutex_;
  std::map<std::pair<std::string, absl::StatusCode>, Refusals> refusals_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tacet::host

#endif  // TACET_HOST_REQUEST_WATCH_H_
