// `tacet client check`: everything between a site and its server, before anything is charged.
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "fmt/chrono.h"
#include "fmt/core.h"
#include "fmt/ranges.h"

#include "apps/tacet/client/client_command.h"
#include "apps/tacet/program/unlock_flags.h"
#include "tacet/base/status.h"
#include "tacet/base/unix_clock.h"
#include "tacet/crypto/certificates.h"
#include "tacet/protocol/member_request.h"
#include "tacet/storage/file/membership.h"
#include "tacet/storage/file/site_folder.h"
#include "tacet/transport/https/https_wire.h"

namespace tacet::app::client {
namespace {

using storage::file::Membership;
using storage::file::SiteFolder;

constexpr uint32_t kCallSeconds = 20;

std::string Moment(uint64_t time) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(static_cast<std::time_t>(time)));
}

// The server's clock by its refusal of a request that is out of date (CheckRequestTime).
std::optional<uint64_t> ServerClock(const absl::Status& refusal) {
  constexpr std::string_view kBefore = "by the sender's clock, it is ";
  const std::string text = base::Message(refusal);
  const size_t at = text.find(kBefore);
  if (refusal.code() != absl::StatusCode::kAborted || at == std::string::npos) {
    return std::nullopt;
  }
  uint64_t clock = 0;
  size_t digits = 0;
  for (size_t i = at + kBefore.size(); i < text.size() && digits < 15; ++i, ++digits) {
    if (text[i] < '0' || text[i] > '9') break;
    clock = 10 * clock + static_cast<uint64_t>(text[i] - '0');
  }
  return digits > 0 ? std::optional(clock) : std::nullopt;
}

class ClientCheckCommand : public program::Command {
 public:
  std::string_view name() const override { return "check"; }
  std::string_view summary() const override {
    return "test folder, certificate, proxy, path to the server and clocks; nothing is charged, "
           "and the server does not count the site as present";
  }
  void Register(program::Options& options) override {
    options.AddString("home", "folder of the site, after it joined", &home_);
    options.AddString("server", "HOST:PORT of the federation's server", &server_);
    options.AddString("proxy",
                      "HTTP proxy to the server, http://[USER:PASSWORD@]HOST:PORT; when not given, "
                      "the proxy of the environment variables https_proxy, all_proxy and no_proxy",
                      &proxy_);
    unlock_.Register(options);
    options.Require("server");
  }

  absl::Status Run() override {
    TACET_ASSIGN_OR_RETURN(const SiteFolder folder, SiteFolder::Open(home_));
    TACET_ASSIGN_OR_RETURN(const Membership membership, storage::file::MembershipOf(folder, home_));
    TACET_RETURN_IF_ERROR(CheckFolder(membership));
    TACET_ASSIGN_OR_RETURN(const crypto::Unlocker unlocker, unlock_.Existing("site's identity"));
    TACET_ASSIGN_OR_RETURN(const agreement::MemberKeys keys, folder.UnlockKeys(unlocker));
    TACET_RETURN_IF_ERROR(CheckCertificate(membership));
    TACET_RETURN_IF_ERROR(CheckPath(membership, keys));
    fmt::print("\nEverything is in order. Nothing was charged.\n");
    return absl::OkStatus();
  }

 private:
  absl::Status CheckFolder(const Membership& membership) const {
    const agreement::SignedManifest& manifest = membership.manifest;
    if (!membership.member.has_value()) {
      return base::FailedPrecondition("{} is the server's folder: check from a site's", home_);
    }
    if (manifest.server().name.empty()) {
      return base::FailedPrecondition(
          "the manifest of epoch {} names no server: the coordinating member enrols it (tacet "
          "federation enrol) and begins an epoch (tacet federation rotate)",
          manifest.epoch());
    }
    Say("folder", fmt::format("{}: {} is member {} of {} of {}, epoch {}", home_,
                              manifest.members()[*membership.member].name, *membership.member,
                              manifest.members().size(), manifest.federation(), manifest.epoch()));
    Say("server", fmt::format("{}, enrolled with the hosts {}", manifest.server().name,
                              fmt::join(manifest.server().hosts, ", ")));
    return absl::OkStatus();
  }

  static absl::Status CheckCertificate(const Membership& membership) {
    TACET_ASSIGN_OR_RETURN(const crypto::CertificateFacts facts,
                           crypto::ReadCertificate(membership.certificate));
    const uint64_t now = base::SystemUnixSeconds();
    if (now < facts.not_before) {
      return base::FailedPrecondition(
          "this site's certificate is valid from {}, but this machine's clock says {}: correct the "
          "clock",
          Moment(facts.not_before), Moment(now));
    }
    if (now >= facts.not_after) {
      return base::FailedPrecondition(
          "this site's certificate has expired on {}. If this machine's clock is right ({}), ask "
          "the coordinating member for a new invitation, and accept it with tacet client join",
          Moment(facts.not_after), Moment(now));
    }
    const uint64_t left = facts.not_after - now;
    Say("certificate", fmt::format("valid until {}{}", Moment(facts.not_after),
                                   left >= storage::file::kCertificateWarningSeconds
                                       ? ""
                                       : fmt::format(", {} days: ask the coordinating member for a "
                                                     "new invitation",
                                                     left / base::kSecondsADay)));
    return absl::OkStatus();
  }

  // A request that is out of date on purpose: the server checks certificate, signature and epoch
  // first, then refuses it, tells its clock and forgets it.
  absl::Status CheckPath(const Membership& membership, const agreement::MemberKeys& keys) const {
    const agreement::SignedManifest& manifest = membership.manifest;
    TACET_ASSIGN_OR_RETURN(const auto wire, transport::https::HttpsWire::Create(
                                                {.server = server_,
                                                 .proxy = proxy_,
                                                 .server_keys = {manifest.server().tls_key},
                                                 .authority = manifest.authority(),
                                                 .certificate = membership.certificate},
                                                keys.tls));
    const base::Bytes request = protocol::WriteRequestHead({.member = *membership.member,
                                                            .time = protocol::kCheckTime,
                                                            .body = protocol::FetchVotesRequest{}},
                                                           {}, manifest, keys.signing);
    const absl::Status refusal = wire->Call(request, kCallSeconds).status();
    const std::optional<uint64_t> clock = ServerClock(refusal);
    if (!clock.has_value()) return PathTrouble(refusal);
    Say("path", fmt::format("{} is the server of this epoch, and knows this site", server_));
    const uint64_t now = base::SystemUnixSeconds();
    const uint64_t apart = std::max(now, *clock) - std::min(now, *clock);
    if (apart > protocol::kMaxClockDifference) {
      return base::FailedPrecondition(
          "this machine's clock is {} s {} the server's; they may differ by {} s. Set it by the "
          "network (NTP), or tell the server's operator",
          apart, now < *clock ? "behind" : "ahead of", protocol::kMaxClockDifference);
    }
    Say("clock", fmt::format("{} s from the server's; {} s are allowed", apart,
                             protocol::kMaxClockDifference));
    return absl::OkStatus();
  }

  // The call's message tells what to do; a path that may pass is explained here.
  static absl::Status PathTrouble(const absl::Status& why) {
    if (why.ok()) return base::DataLoss("the server answered a request that is out of date");
    if (protocol::IsPermanent(why)) return why;
    if (protocol::IsLasting(why)) return absl::UnauthenticatedError(why.message());
    if (protocol::IsRetryable(why)) {
      return base::Annotate(why,
                            "this may pass, and `tacet client run` tries again. If it does not, "
                            "ask the server's operator whether it runs, and your network's "
                            "administrator whether outgoing TLS connections to it are allowed");
    }
    if (why.code() == absl::StatusCode::kFailedPrecondition) {
      return base::Annotate(why,
                            "the server is in another epoch: accept the latest invitation with "
                            "tacet client join, or ask the server's operator to");
    }
    return why;
  }

  static void Say(std::string_view what, const std::string& text) {
    fmt::print("{:<12}{}\n", what, text);
    std::fflush(stdout);
  }

  std::string home_ = "tacet-site";
  std::string server_, proxy_;
  program::UnlockFlags unlock_;
};

}  // namespace

std::unique_ptr<program::Command> NewClientCheckCommand() {
  return std::make_unique<ClientCheckCommand>();
}

}  // namespace tacet::app::client
