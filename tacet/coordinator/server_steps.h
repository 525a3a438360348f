// Steps of a coordinator at its running server that may have to wait: until it is reached, until a
// training or query has ended, until it continues to an epoch.
#ifndef TACET_COORDINATOR_SERVER_STEPS_H_
#define TACET_COORDINATOR_SERVER_STEPS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/stopwatch.h"
#include "tacet/coordinator/federation_setup.h"
#include "tacet/crypto/locked_secret.h"
#include "tacet/protocol/mail_client.h"
#include "tacet/protocol/wire.h"
#include "tacet/storage/file/coordinator_folder.h"

namespace tacet::coordinator {

struct CoordinatorParts {
  storage::file::CoordinatorFolder& folder;
  const storage::file::CoordinatorKeys& keys;
  const crypto::Unlocker& unlocker;
};

struct ChangeHooks {
  // To the server of the present epoch or the one before (ServerKeys).
  std::function<absl::StatusOr<std::unique_ptr<protocol::Wire>>()> connect;
  // Lines about the progress.
  std::function<void(const std::string& line)> say;
  // Waits; false when the call is to end.
  std::function<bool(double seconds)> wait;
  double most_seconds = 0;  // that the call waits for the server, for keys, and for the sites, each
};

// Looks again and again, with growing pauses.
class Polling {
 public:
  explicit Polling(const ChangeHooks& hooks) : hooks_(hooks) {}

  // False when the time is over, or the call is to end.
  bool Wait();
  // The call is to end.
  bool is_ended() const { return is_ended_; }

 private:
  const ChangeHooks& hooks_;
  bool is_ended_ = false;
  base::Stopwatch waited_;
  double pause_ = 0.1;
};

// `step` with the mailbox, again while the server cannot be reached.
absl::Status AtMailbox(const std::function<absl::Status(const protocol::MailClient&)>& step,
                       const CoordinatorParts& parts, const ChangeHooks& hooks);

// The manifest of the epoch before; nothing in the first one.
absl::StatusOr<std::optional<agreement::SignedManifest>> ManifestBefore(
    const agreement::SignedManifest& manifest, const storage::file::CoordinatorFolder& folder);

// Until no attempt of the training, or query, of the present epoch follows. FailedPrecondition
// where one may in `hooks.most_seconds`: the next one would drop it. Cancelled when the call is to
// end.
absl::Status AwaitEnd(const agreement::SignedManifest& present, const CoordinatorParts& parts,
                      const ChangeHooks& hooks);

// For a server that takes its invitation as a file, while an attempt may follow in its epoch.
enum class UntilItHasItsFile { kWait, kRefuse };
// Gives the server its written invitation, and waits until it is in the epoch of `manifest`: a site
// that goes first leaves an attempt that it has paid for. The invitation, where it is still to go
// as a file: another server takes over, or nothing is left for this one to do in its epoch. For
// these nobody waits. Unavailable where the server does not continue in `hooks.most_seconds`.
absl::StatusOr<std::optional<HandedOut>> MoveServer(const agreement::SignedManifest& manifest,
                                                    UntilItHasItsFile until,
                                                    const CoordinatorParts& parts,
                                                    const ChangeHooks& hooks);

}  // namespace tacet::coordinator

#endif  // TACET_COORDINATOR_SERVER_STEPS_H_
