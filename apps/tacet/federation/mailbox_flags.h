// Flags for the mailbox at the server, through which the coordinator takes prekeys and leaves
// invitations.
#ifndef TACET_APPS_TACET_FEDERATION_MAILBOX_FLAGS_H_
#define TACET_APPS_TACET_FEDERATION_MAILBOX_FLAGS_H_

#include <memory>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "apps/tacet/program/options.h"
#include "tacet/agreement/signed_manifest.h"
#include "tacet/coordinator/server_steps.h"
#include "tacet/crypto/secret.h"
#include "tacet/protocol/wire.h"
#include "tacet/server/round_rules.h"
#include "tacet/storage/file/coordinator_folder.h"

namespace tacet::app::federation {

// That a change waits for the server: as long as one with the default times may stay in its epoch,
// and a minute in which it starts again.
inline constexpr double kChangeSeconds =
    static_cast<double>(tacet::server::MostSecondsToLeave({})) + 60;

class MailboxFlags {
 public:
  // None in a program without the network.
  void Register(program::Options& options);
  bool given() const { return !server_.empty(); }
  const std::string& server() const { return server_; }
  // Without --mailbox: the first host of the present epoch's server, at the usual port. Where that
  // is `newcomer`, the one of the epoch before, at which the sites are.
  absl::Status UseDefault(const storage::file::CoordinatorFolder& folder,
                          const std::string& newcomer);
  // To the server of the present epoch, or the one before.
  absl::StatusOr<std::unique_ptr<protocol::Wire>> Connect(
      const storage::file::CoordinatorKeys& keys,
      const storage::file::CoordinatorFolder& folder) const;
  // For a change that waits so long: by Connect, with its progress on standard output, until a
  // base::StopSignal. All must outlive them.
  coordinator::ChangeHooks HooksOf(const storage::file::CoordinatorKeys& keys,
                                   const storage::file::CoordinatorFolder& folder,
                                   double most_seconds) const;

  // Enrols the sites outside of `removed` with their prekeys, and prints who has run out. Nothing
  // without --mailbox.
  absl::Status TakePrekeys(const std::set<std::string>& removed,
                           const storage::file::CoordinatorKeys& keys,
                           storage::file::CoordinatorFolder& folder) const;
  // Has the server continue to the epoch, leaves the written invitations, and prints which are to
  // be sent as files. Nothing without --mailbox.
  absl::Status LeaveInvitations(const agreement::SignedManifest& manifest,
                                const crypto::SecretBytes& epoch_key,
                                const coordinator::CoordinatorParts& parts) const;

 private:
  std::string server_, proxy_;
};

}  // namespace tacet::app::federation

#endif  // TACET_APPS_TACET_FEDERATION_MAILBOX_FLAGS_H_
