#include "apps/tacet/federation/mailbox_flags.h"

#include <chrono>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "fmt/core.h"

#include "tacet/base/status.h"
#include "tacet/base/stop_signal.h"
#include "tacet/coordinator/kept_exchange_keys.h"
#include "tacet/coordinator/mailbox_steps.h"
#include "tacet/coordinator/site_kit.h"
#include "tacet/protocol/mail_client.h"
#ifdef TACET_WITH_NETWORK
#include "tacet/transport/https/https_wire.h"
#endif

namespace tacet::app::federation {
namespace {

constexpr uint32_t kCallSeconds = 60;

protocol::MailClient MailOf(const storage::file::CoordinatorKeys& keys,
                            const storage::file::CoordinatorFolder& folder, protocol::Wire& wire) {
  return {folder.parts().identity, keys.signing, wire, kCallSeconds};
}

}  // namespace

void MailboxFlags::Register(program::Options& options) {
#ifdef TACET_WITH_NETWORK
  options.AddString("mailbox",
                    "HOST:PORT of the running server: prekeys are taken from it, and invitations "
                    "are left there for the sites; when not given, invitations go as files",
                    &server_);
  options.AddString("proxy",
                    "HTTP proxy to the server, http://[USER:PASSWORD@]HOST:PORT; when not given, "
                    "the proxy of the environment",
                    &proxy_);
#else
  (void)options;
#endif
}

absl::Status MailboxFlags::UseDefault(const storage::file::CoordinatorFolder& folder,
                                      const std::string& newcomer) {
  if (given()) return absl::OkStatus();
  TACET_ASSIGN_OR_RETURN(const uint32_t epoch, folder.Epoch());
  TACET_ASSIGN_OR_RETURN(base::Bytes bytes, folder.SignedManifest(epoch));
  TACET_ASSIGN_OR_RETURN(agreement::SignedManifest manifest,
                         agreement::SignedManifest::Read(bytes));
  if (!newcomer.empty() && manifest.server().name == newcomer && epoch > 0) {
    TACET_ASSIGN_OR_RETURN(bytes, folder.SignedManifest(epoch - 1));
    TACET_ASSIGN_OR_RETURN(manifest, agreement::SignedManifest::Read(bytes));
  }
  if (manifest.server().hosts.empty()) {
    return base::InvalidArgument("--mailbox is needed: the manifest of epoch {} names no server",
                                 epoch);
  }
  server_ = coordinator::DefaultServer(manifest);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<protocol::Wire>> MailboxFlags::Connect(
    const storage::file::CoordinatorKeys& keys,
    const storage::file::CoordinatorFolder& folder) const {
#ifdef TACET_WITH_NETWORK
  const crypto::TlsKey own = crypto::TlsKey::Generate();
  TACET_ASSIGN_OR_RETURN(const base::Bytes certificate,
                         coordinator::IssueOwnCertificate(own, keys.authority, folder));
  TACET_ASSIGN_OR_RETURN(std::vector<base::Bytes> servers, coordinator::ServerKeys(folder));
  return transport::https::HttpsWire::Create({.server = server_,
                                              .proxy = proxy_,
                                              .server_keys = std::move(servers),
                                              .authority = folder.parts().authority,
                                              .certificate = certificate},
                                             own);
#else
  (void)keys;
  (void)folder;
  return absl::UnimplementedError("this program is built without the network");
#endif
}

absl::Status MailboxFlags::TakePrekeys(const std::set<std::string>& removed,
                                       const storage::file::CoordinatorKeys& keys,
                                       storage::file::CoordinatorFolder& folder) const {
  if (server_.empty()) return absl::OkStatus();
  TACET_ASSIGN_OR_RETURN(const auto wire, Connect(keys, folder));
  TACET_ASSIGN_OR_RETURN(
      const coordinator::TakenPrekeys prekeys,
      coordinator::TakePrekeys(removed, keys.authority, MailOf(keys, folder, *wire), folder));
  for (const std::string& refusal : prekeys.refused) fmt::print("warning     {}\n", refusal);
  if (!prekeys.taken.empty()) {
    fmt::print("keys        new for the next epoch: {}\n", coordinator::NamesText(prekeys.taken));
  }
  if (!prekeys.run_out.empty()) {
    fmt::print(
        "keys        without one for the next epoch: {}. `tacet client join` or `tacet client "
        "renew` with --server leaves one\n",
        coordinator::NamesText(prekeys.run_out));
  }
  return absl::OkStatus();
}

coordinator::ChangeHooks MailboxFlags::HooksOf(const storage::file::CoordinatorKeys& keys,
                                               const storage::file::CoordinatorFolder& folder,
                                               double most_seconds) const {
  return {.connect = [this, &keys, &folder] { return Connect(keys, folder); },
          .say =
              [](const std::string& line) {
                fmt::print("{}\n", line);
                std::fflush(stdout);
              },
          .wait =
              [](double seconds) {
                return base::StopSignal::Wait(std::chrono::duration<double>(seconds));
              },
          .most_seconds = most_seconds};
}

absl::Status MailboxFlags::LeaveInvitations(const agreement::SignedManifest& manifest,
                                            const crypto::SecretBytes& epoch_key,
                                            const coordinator::CoordinatorParts& parts) const {
  if (server_.empty()) return absl::OkStatus();
  const base::StopSignal stop("\ntacet: ending; the same command continues\n");
  const coordinator::ChangeHooks hooks = HooksOf(parts.keys, parts.folder, kChangeSeconds);
  const auto leave = [&]() -> absl::StatusOr<coordinator::LeftInvitations> {
    // Nobody waits for a server that is not there at first.
    TACET_ASSIGN_OR_RETURN(auto wire, Connect(parts.keys, parts.folder));
    TACET_RETURN_IF_ERROR(
        coordinator::EpochOfServer(MailOf(parts.keys, parts.folder, *wire)).status());
    TACET_RETURN_IF_ERROR(
        coordinator::MoveServer(manifest, coordinator::UntilItHasItsFile::kRefuse, parts, hooks)
            .status());
    TACET_ASSIGN_OR_RETURN(wire, Connect(parts.keys, parts.folder));
    return coordinator::LeaveInvitations(manifest, epoch_key, parts.keys.signing,
                                         MailOf(parts.keys, parts.folder, *wire), parts.folder);
  };
  const absl::StatusOr<coordinator::LeftInvitations> left = leave();
  if (!left.ok()) {
    return base::Annotate(left.status(),
                          fmt::format("the invitations are written, and not all of them are at "
                                      "{}. The same command, or `tacet federation seal-key "
                                      "--mailbox {}`, leaves them there",
                                      server_, server_));
  }
  std::vector<std::string> names;
  for (const auto& [name, letter] : left->left) names.push_back(name);
  fmt::print("left at {}: {}. Each accepts its own with\n  tacet client join --server {}\n",
             server_, names.empty() ? "none" : coordinator::NamesText(names), server_);
  if (!left->by_file.empty()) {
    fmt::print("to be sent as files, because they join for the first time: {}\n",
               coordinator::NamesText(left->by_file));
  }
  return absl::OkStatus();
}

}  // namespace tacet::app::federation
