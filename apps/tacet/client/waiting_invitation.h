// Flags of `tacet client join` and `renew` for the mail at the server.
#ifndef TACET_APPS_TACET_CLIENT_WAITING_INVITATION_H_
#define TACET_APPS_TACET_CLIENT_WAITING_INVITATION_H_

#include <filesystem>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "apps/tacet/program/options.h"
#include "tacet/base/bytes.h"
#include "tacet/crypto/locked_secret.h"
#include "tacet/storage/file/site_folder.h"

namespace tacet::app::client {

class WaitingInvitation {
 public:
  // None in a program without the network.
  void Register(program::Options& options, std::string_view server_help);
  bool given() const { return !server_.empty(); }
  const std::string& server() const { return server_; }

  // As bytes of an invitation file; those accepted last where the letter that waits says the same.
  // NotFound where none waits, FailedPrecondition before the first invitation, which comes as a
  // file. Errors of site::LookForLetter and site::FetchInvitation.
  absl::StatusOr<base::Bytes> Fetch(const storage::file::SiteFolder& folder,
                                    const std::filesystem::path& home,
                                    const crypto::Unlocker& unlocker) const;

  // Leaves the request at the server. Nothing without --server. FailedPrecondition before the first
  // invitation.
  absl::Status Leave(const storage::file::SiteFolder& folder, const std::filesystem::path& home,
                     const storage::file::NextRequest& next,
                     const crypto::Unlocker& unlocker) const;

  // After the site has joined: makes and leaves the keys of the next epoch for the coordinator, and
  // drops the letter. Nothing without --server, and for the server's own folder. What fails is
  // printed with the remedy: the site has joined.
  void Finish(storage::file::SiteFolder& folder, const storage::file::Membership& joined,
              const crypto::Unlocker& unlocker) const;

 private:
  absl::Status LeaveAndDrop(storage::file::SiteFolder& folder,
                            const storage::file::Membership& joined,
                            const crypto::Unlocker& unlocker) const;

  std::string server_, proxy_;
};

}  // namespace tacet::app::client

#endif  // TACET_APPS_TACET_CLIENT_WAITING_INVITATION_H_
