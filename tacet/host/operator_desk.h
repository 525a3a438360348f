// Desk at which a server takes its operators' actions: each is in the store before it takes effect,
// and stays there as long as it is in force or one of the last.
// None touches what members learn or are charged.
#ifndef TACET_HOST_OPERATOR_DESK_H_
#define TACET_HOST_OPERATOR_DESK_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/json.h"
#include "tacet/base/mutex.h"
#include "tacet/base/unix_clock.h"
#include "tacet/host/operator_action.h"
#include "tacet/host/problems.h"
#include "tacet/host/server_log.h"
#include "tacet/server/round_server.h"
#include "tacet/server/server_store.h"

namespace tacet::host {

// Thread-safe.
class OperatorDesk {
 public:
  // Actions within kTime after which further ones are refused: a store is not to be filled.
  static constexpr size_t kMostInTime = 20;
  static constexpr uint64_t kTime = 600;  // seconds

  // All must outlive it.
  OperatorDesk(const agreement::SignedManifest& manifest, tacet::server::ServerStore& store,
               tacet::server::RoundServer& rounds, ServerLog& log, base::UnixClock clock)
      : manifest_(manifest), store_(store), rounds_(rounds), log_(log), clock_(std::move(clock)) {}

  // Reads what the store keeps, and pauses the rounds if that says so. Before the rounds' first
  // tick; and again after a call that was Unavailable, when it does nothing otherwise.
  absl::Status Refresh();

  // `shown` are the problems of now. Aborted when there were actions that the operator has not
  // seen, as for a request that is sent again; FailedPrecondition when the action does not fit to
  // what is; ResourceExhausted; Unavailable when the store failed, and whether the action happened
  // is not known.
  absl::Status Do(const OperatorRequest& request, std::string_view by,
                  std::span<const Problem> shown);
  // Logs that a request was refused: of the same kind at most one in ten seconds.
  void NoteRefused(std::string_view reason, std::string_view by = {});

  // The epoch of an invitation that was accepted, and that the server does not run.
  void SetPrepared(std::optional<uint32_t> epoch);
  // Whether an operator has started it: the server is to end, and to start again.
  bool StartsEpoch() const;

  // {"revision", "pause", "prepared", "acknowledged"}
  base::JsonValue Json() const;

 private:
  void Take(OperatorAction action) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Check(OperatorRequest& request, std::span<const Problem> shown) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Keep(const OperatorAction& action) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Actions that are neither in force nor among the last kMostInTime: the log has them.
  void Forget() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Act(const OperatorRequest& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Obey() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // The state that the actions so far have come to.
  struct State {
    uint64_t revision = 0;            // number of actions, also of those that are forgotten
    std::vector<uint64_t> kept = {};  // numbers of those in the store, increasing
    // Numbers of those in force, by the problem that they acknowledge; the pause's at "".
    std::map<std::string, uint64_t> in_force = {};
    std::optional<OperatorAction> pause = std::nullopt;
    std::map<std::string, OperatorAction> acknowledged = {};  // the last of each problem
    std::vector<uint64_t> times = {};                         // of the last kMostInTime
  };

  const agreement::SignedManifest& manifest_;
  tacet::server::ServerStore& store_;
  tacet::server::RoundServer& rounds_;
  ServerLog& log_;
  base::UnixClock clock_;

  mutable base::Mutex mutex_;
  State state_ ABSL_GUARDED_BY(mutex_);
  bool stale_ ABSL_GUARDED_BY(mutex_) = true;
  std::optional<uint32_t> prepared_ ABSL_GUARDED_BY(mutex_);
  bool starts_epoch_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, std::chrono::steady_clock::time_point, std::less<>> refused_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace tacet::host

#endif  // TACET_HOST_OPERATOR_DESK_H_
