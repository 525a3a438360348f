// Observer of a server's state that logs and counts its changes.
#ifndef TACET_HOST_SERVER_WATCH_H_
#define TACET_HOST_SERVER_WATCH_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/mutex.h"
#include "tacet/host/server_log.h"
#include "tacet/host/server_metrics.h"
#include "tacet/protocol/announcement.h"
#include "tacet/server/round_server.h"
#include "tacet/server/server_store.h"

namespace tacet::host {

// Thread-safe.
class ServerWatch {
 public:
  using SteadyClock = std::function<std::chrono::steady_clock::time_point()>;

  // Members are waited for as long before the log says so, and again as often for absent others.
  static constexpr std::chrono::seconds kBeforeWaitingIsLogged{10};
  static constexpr std::chrono::minutes kBetweenWaitingLines{1};

  // All must outlive it.
  ServerWatch(const agreement::SignedManifest& manifest, ServerLog& log, ServerMetrics& metrics,
              SteadyClock clock = std::chrono::steady_clock::now)
      : manifest_(manifest), log_(log), metrics_(metrics), clock_(std::move(clock)) {}

  // To be called once before the server does anything, after each of its changes, and about every
  // second. What the first call finds is counted. A process that was killed may not have logged the
  // last of it, so the last two attempts are logged as found.
  void Look(const tacet::server::RoundServer& server);
  void Note(const tacet::server::ServerStatus& status,
            const std::vector<tacet::server::AttemptRecord>& attempts);

 private:
  void Remember(const std::vector<tacet::server::AttemptRecord>& attempts, uint32_t accepted)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LogFound(std::span<const tacet::server::AttemptRecord> attempts)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteBegun(const tacet::server::AttemptRecord& record, uint32_t invited)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NotePhase(const tacet::server::AttemptRecord& record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteDeadline(const tacet::server::ServerStatus& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteAccepted(uint64_t accepted) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteWaiting(const tacet::server::ServerStatus& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteLeftOut(const tacet::server::ServerStatus& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteStopped(const tacet::server::ServerStatus& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  using Time = std::chrono::steady_clock::time_point;
  struct LastAttempt {
    size_t number = 0;  // attempts that are known
    protocol::AttemptPhase phase = protocol::AttemptPhase::kFailed;
    uint64_t accepted = 0;            // its uploads that are counted
    uint64_t deadline = 0;            // of its phase, Unix seconds
    std::optional<Time> phase_began;  // unless before this process
  };
  // For members, and what the log says of it.
  struct WaitForMembers {
    std::optional<Time> since;
    std::optional<Time> logged;
    std::vector<uint64_t> away_logged;
  };

  const agreement::SignedManifest& manifest_;
  ServerLog& log_;
  ServerMetrics& metrics_;
  SteadyClock clock_;

  base::Mutex mutex_;
  bool looked_ ABSL_GUARDED_BY(mutex_) = false;
  LastAttempt last_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  WaitForMembers wait_ ABSL_GUARDED_BY(mutex_);
  std::vector<uint64_t> left_out_
      ABSL_GUARDED_BY(mutex_);  // whom the log named, as long as they are
};

}  // namespace tacet::host

#endif  // TACET_HOST_SERVER_WATCH_H_
