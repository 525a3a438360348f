// Rounds of a federation as a process hosts them: storage, limits, log and metrics around the
// server of the rounds. Members' requests come to its handler over any transport.
#ifndef TACET_HOST_HOSTED_ROUNDS_H_
#define TACET_HOST_HOSTED_ROUNDS_H_

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/agreement/signed_manifest.h"
#include "tacet/crypto/random.h"
#include "tacet/host/operator_desk.h"
#include "tacet/host/request_watch.h"
#include "tacet/host/server_log.h"
#include "tacet/host/server_metrics.h"
#include "tacet/host/server_state.h"
#include "tacet/host/server_watch.h"
#include "tacet/host/store_health.h"
#include "tacet/server/blob_store.h"
#include "tacet/server/mailbox.h"
#include "tacet/server/request_handler.h"
#include "tacet/server/request_limits.h"
#include "tacet/server/round_server.h"
#include "tacet/storage/file/membership.h"
#include "tacet/storage/file/site_folder.h"

namespace tacet::host {

// By which a phase may end late.
inline constexpr std::chrono::milliseconds kBetweenTicks(200);

// True for the first call, and then at most once in `time`.
class AtMostEvery {
 public:
  explicit AtMostEvery(std::chrono::steady_clock::duration time) : time_(time) {}

  bool Now();
  void Forget() { last_.reset(); }

 private:
  std::chrono::steady_clock::duration time_;
  std::optional<std::chrono::steady_clock::time_point> last_;
};

// For a server's folder. FailedPrecondition when it is a site's; NotFound before it has joined.
absl::StatusOr<storage::file::Membership> ServerMembership(const storage::file::SiteFolder& folder,
                                                           const std::filesystem::path& home);

struct HostedRoundsSpec {
  std::filesystem::path home;  // of the server
  std::string state = {};      // server_state.h; empty: SQLite in the home folder
  tacet::server::RoundServerOptions rounds = {};
  tacet::server::RequestLimitsSpec limits = {};
};

class HostedRounds {
 public:
  // `manifest` and `log` must outlive it.
  HostedRounds(HostedRoundsSpec spec, const agreement::SignedManifest& manifest, ServerLog& log);
  // Once, before everything else. Errors of OpenServerState and RoundServer::Create.
  absl::Status Open(std::string_view version);

  tacet::server::RoundServer& rounds() { return *rounds_; }
  tacet::server::RequestHandler& handler() { return *doors_.handler; }
  tacet::server::Mailbox& mailbox() { return *doors_.mailbox; }
  RequestWatch& requests() { return requests_; }
  ServerMetrics& metrics() { return metrics_; }
  const StoreHealth& health() const { return pulse_.health; }
  OperatorDesk& desk() { return *desk_; }

  // Lets time pass, and logs and counts what changed; to be called every kBetweenTicks. An error
  // is the store's: it is logged, and the next call tries again.
  absl::Status Tick();
  // Logs and counts what changed.
  void Look() { watch_.Look(*rounds_); }

 private:
  struct Storage {
    ServerState state;
    std::unique_ptr<tacet::server::BlobStore> blobs;
    std::unique_ptr<tacet::server::BlobStore> mail;
  };
  // To which members' requests come.
  struct Doors {
    tacet::server::RequestLimits limits;
    AtMostEvery mail_check;
    std::optional<tacet::server::RequestHandler> handler = std::nullopt;
    std::unique_ptr<tacet::server::Mailbox> mailbox = nullptr;
  };
  // Whether the store works, and when that is looked at and logged again.
  struct StorePulse {
    AtMostEvery probe, trouble;
    bool failed = false;
    StoreHealth health = StoreHealth();
  };

  void LogStart(std::string_view version);
  absl::Status TickAndProbe();
  void SweepMail();
  // kNoRoom where the folder of objects has too little for a part of one.
  absl::Status CheckRoom() const;

  HostedRoundsSpec spec_;
  const agreement::SignedManifest& manifest_;
  ServerLog& log_;
  ServerMetrics metrics_;
  ServerWatch watch_;
  StorePulse pulse_;
  RequestWatch requests_;
  crypto::SystemEntropy entropy_;
  Storage storage_;
  std::unique_ptr<tacet::server::RoundServer> rounds_;
  std::optional<OperatorDesk> desk_;
  Doors doors_;
};

}  // namespace tacet::host

#endif  // TACET_HOST_HOSTED_ROUNDS_H_
