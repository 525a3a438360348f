// Observer of a server's state that logs and counts its changes.
#ifndef TACET_APPS_TACET_SERVER_SERVER_WATCH_H_
#define TACET_APPS_TACET_SERVER_SERVER_WATCH_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "apps/tacet-server/server_log.h"
#include "apps/tacet-server/server_metrics.h"
#include "tacet/protocol/announcement.h"
#include "tacet/server/round_server.h"
#include "tacet/server/server_store.h"

namespace tacet::app::server {

// Thread-safe.
class ServerWatch {
 public:
  using SteadyClock = std::function<std::chrono::steady_clock::time_point()>;

  // `rounds` as agreed. `log` and `metrics` must outlive it.
  ServerWatch(uint32_t rounds, ServerLog& log, ServerMetrics& metrics,
              SteadyClock clock = std::chrono::steady_clock::now)
      : rounds_(rounds), log_(log), metrics_(metrics), clock_(std::move(clock)) {}

  // To be called once before the server does anything, after each of its changes, and about every
  // second. What the first call finds is counted but not logged as a change.
  void Look(const tacet::server::RoundServer& server);
  void Note(const tacet::server::ServerStatus& status,
            const std::vector<tacet::server::AttemptRecord>& attempts);

 private:
  void Remember(const std::vector<tacet::server::AttemptRecord>& attempts, uint32_t accepted);
  void NoteBegun(const tacet::server::AttemptRecord& record, uint32_t invited);
  void NotePhase(const tacet::server::AttemptRecord& record);
  void NoteAccepted(uint64_t accepted);
  void NoteStopped(const tacet::server::ServerStatus& status);

  uint32_t rounds_;
  ServerLog& log_;
  ServerMetrics& metrics_;
  SteadyClock clock_;

  std::mutex mutex_;
  bool looked_ = false;
  size_t attempts_ = 0;  // that are known
  // Of the last one.
  protocol::AttemptPhase phase_ = protocol::AttemptPhase::kFailed;
  uint64_t accepted_ = 0;  // its uploads that are counted
  std::optional<std::chrono::steady_clock::time_point> phase_began_;  // unless before this process
  bool stopped_ = false;
};

}  // namespace tacet::app::server

#endif  // TACET_APPS_TACET_SERVER_SERVER_WATCH_H_
