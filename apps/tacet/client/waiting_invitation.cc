#include "apps/tacet/client/waiting_invitation.h"

#include <memory>
#include <optional>

#include "fmt/core.h"

#include "tacet/agreement/member_keys.h"
#include "tacet/base/status.h"
#include "tacet/protocol/mail_client.h"
#include "tacet/storage/file/exchange_key_files.h"
#include "tacet/storage/file/posix_file.h"
#ifdef TACET_WITH_NETWORK
#include "tacet/site/site_mail.h"
#endif

namespace tacet::app::client {

using storage::file::Membership;
using storage::file::SiteFolder;

#ifdef TACET_WITH_NETWORK
namespace {

constexpr uint32_t kMailCallSeconds = 60;

// A site's way to its mail. The keys are those of its identity.
struct OpenedMail {
  agreement::MemberKeys keys;
  std::unique_ptr<protocol::Wire> wire;

  protocol::MailClient client(const Membership& joined) const {
    return {joined.manifest.manifest().federation(), keys.signing, *wire, kMailCallSeconds};
  }
};

absl::StatusOr<OpenedMail> OpenMail(const SiteFolder& folder, const Membership& joined,
                                    const std::string& server, const std::string& proxy,
                                    const crypto::Unlocker& unlocker) {
  TACET_ASSIGN_OR_RETURN(agreement::MemberKeys keys, folder.UnlockKeys(unlocker));
  TACET_ASSIGN_OR_RETURN(auto wire, site::ConnectToServer(server, proxy, joined, keys));
  return OpenedMail{.keys = std::move(keys), .wire = std::move(wire)};
}

absl::StatusOr<Membership> JoinedSite(const SiteFolder& folder, const std::filesystem::path& home) {
  absl::StatusOr<Membership> joined = folder.Joined();
  if (joined.status().code() == absl::StatusCode::kNotFound) {
    return base::FailedPrecondition(
        "{} has joined no epoch: the first invitation comes as a file, since it holds this site's "
        "certificate for the server",
        home.string());
  }
  if (joined.ok() && !joined->member.has_value()) {
    return base::FailedPrecondition("{} is the server's folder: its invitation comes as a file",
                                    home.string());
  }
  return joined;
}

}  // namespace

void WaitingInvitation::Register(program::Options& options, std::string_view server_help) {
  options.AddString("server", server_help, &server_);
  options.AddString("proxy",
                    "HTTP proxy to the server, http://[USER:PASSWORD@]HOST:PORT; when not given, "
                    "the proxy of the environment",
                    &proxy_);
}

absl::StatusOr<base::Bytes> WaitingInvitation::Fetch(const SiteFolder& folder,
                                                     const std::filesystem::path& home,
                                                     const crypto::Unlocker& unlocker) const {
  TACET_ASSIGN_OR_RETURN(const Membership joined, JoinedSite(folder, home));
  TACET_ASSIGN_OR_RETURN(const OpenedMail mail,
                         OpenMail(folder, joined, server_, proxy_, unlocker));
  const protocol::MailClient client = mail.client(joined);
  TACET_ASSIGN_OR_RETURN(const std::optional<site::FoundLetter> found,
                         site::LookForLetter(client, joined));
  if (!found.has_value()) {
    return base::NotFound(
        "no invitation for this site waits at {}. This site has joined epoch {}. The coordinator "
        "leaves the next one with `tacet federation rotate --mailbox HOST:PORT`",
        server_, joined.manifest.epoch());
  }
  if (!found->is_news) return storage::file::ReadFile(folder.invitation_path());
  return site::FetchInvitation(client, *found, joined, mail.keys,
                               storage::file::ExchangeKeyFiles(home), unlocker);
}

absl::Status WaitingInvitation::Leave(const SiteFolder& folder, const std::filesystem::path& home,
                                      const storage::file::NextRequest& next,
                                      const crypto::Unlocker& unlocker) const {
  if (!given()) return absl::OkStatus();
  TACET_ASSIGN_OR_RETURN(const Membership joined, JoinedSite(folder, home));
  TACET_ASSIGN_OR_RETURN(const OpenedMail mail,
                         OpenMail(folder, joined, server_, proxy_, unlocker));
  return site::LeavePrekey(mail.client(joined), next);
}

absl::Status WaitingInvitation::LeaveAndDrop(SiteFolder& folder, const Membership& joined,
                                             const crypto::Unlocker& unlocker) const {
  TACET_ASSIGN_OR_RETURN(const OpenedMail mail,
                         OpenMail(folder, joined, server_, proxy_, unlocker));
  return site::EndJoin(mail.client(joined), joined, unlocker, folder);
}
#else
void WaitingInvitation::Register(program::Options&, std::string_view) {}

absl::StatusOr<base::Bytes> WaitingInvitation::Fetch(const SiteFolder&,
                                                     const std::filesystem::path&,
                                                     const crypto::Unlocker&) const {
  return absl::UnimplementedError("this program is built without the network");
}

absl::Status WaitingInvitation::Leave(const SiteFolder&, const std::filesystem::path&,
                                      const storage::file::NextRequest&,
                                      const crypto::Unlocker&) const {
  return absl::OkStatus();
}

absl::Status WaitingInvitation::LeaveAndDrop(SiteFolder&, const Membership&,
                                             const crypto::Unlocker&) const {
  return absl::UnimplementedError("this program is built without the network");
}
#endif

void WaitingInvitation::Finish(SiteFolder& folder, const Membership& joined,
                               const crypto::Unlocker& unlocker) const {
  if (!given() || !joined.member.has_value()) return;
  const absl::Status left = LeaveAndDrop(folder, joined, unlocker);
  if (left.ok()) {
    fmt::print("keys        those of the next epoch are left at {} for the coordinator\n", server_);
  } else {
    fmt::print(
        "note        the keys of the next epoch are not at {} yet: {}. `tacet client run`, or this "
        "command again, leaves them there\n",
        server_, base::Message(left));
  }
}

}  // namespace tacet::app::client
