#include <iostream>
#include <optional>
#include <string>

#include "fmt/core.h"
#include "fmt/ranges.h"
#include <unistd.h>

#include "apps/tacet/federation/federation_command.h"
#include "apps/tacet/federation/told_fingerprint.h"
#include "apps/tacet/program/unlock_flags.h"
#include "tacet/agreement/member_keys.h"
#include "tacet/base/status.h"
#include "tacet/coordinator/federation_setup.h"
#include "tacet/coordinator/federation_steps.h"
#include "tacet/storage/file/coordinator_folder.h"
#include "tacet/storage/file/posix_file.h"

namespace tacet::app::federation {
namespace {

using storage::file::CoordinatorFolder;
using storage::file::CoordinatorKeys;

class FederationEnrolCommand : public program::Command {
 public:
  std::string_view name() const override { return "enrol"; }
  std::string_view summary() const override {
    return "enrol a site or the server, or renew its keys: check its request and sign its "
           "certificate";
  }

  void Register(program::Options& options) override {
    options.AddPositional("name", "name of the site", {}, true, &name_);
    options.AddString("folder", coordinator::kFolderHelp, &folder_);
    options.AddString("request", "request file that the site sent", &request_);
    options.AddString(
        "fingerprint",
        "fingerprint of the request, as the site reports it; asked for on the "
        "terminal when not given, unless the signature of an enrolled site shows that "
        "the request is its own",
        &fingerprint_);
    options.AddString("server",
                      "name of the party that is to be the server: no other request may ask for "
                      "that role; asked for on the terminal when not given",
                      &server_);
    options.AddUint("days",
                    "days for which the certificate is valid, at most until the authority's "
                    "certificate expires",
                    &days_);
    unlock_.Register(options);
    options.Require("request");
  }

  absl::Status Run() override {
    TACET_ASSIGN_OR_RETURN(CoordinatorFolder folder, CoordinatorFolder::Open(folder_));
    TACET_ASSIGN_OR_RETURN(const base::Bytes bytes, storage::file::ReadFile(request_));
    TACET_ASSIGN_OR_RETURN(const agreement::EnrolmentRequest request,
                           agreement::ReadEnrolmentRequest(bytes));
    if (request.name != name_) {
      return base::InvalidArgument("{} is the request of {}, not of {}", request_, request.name,
                                   name_);
    }
    TACET_RETURN_IF_ERROR(coordinator::CheckOneServer(request, folder));
    TACET_ASSIGN_OR_RETURN(const bool recognised, folder.Recognises(request));
    if (!recognised) TACET_RETURN_IF_ERROR(CheckRole(request));
    if (fingerprint_.has_value() || !recognised) {
      TACET_RETURN_IF_ERROR(CheckFingerprint(name_, bytes, fingerprint_));
    }
    TACET_ASSIGN_OR_RETURN(const crypto::Unlocker unlocker, unlock_.Existing("coordinator's keys"));
    TACET_ASSIGN_OR_RETURN(const CoordinatorKeys keys, folder.UnlockKeys(unlocker));
    TACET_RETURN_IF_ERROR(coordinator::EnrolParty(bytes, days_, keys.authority, folder));
    if (recognised) {
      fmt::print(
          "{} is enrolled again as {}, with the keys in its request. A new exchange key is used "
          "from the next epoch on: tacet federation rotate\n",
          name_, RoleOf(request));
    } else {
      fmt::print("{} is enrolled as {}. When all are: tacet federation seal-key\n", name_,
                 RoleOf(request));
    }
    return absl::OkStatus();
  }

 private:
  static std::string RoleOf(const agreement::EnrolmentRequest& request) {
    if (!request.server) return "a site";
    return fmt::format("the server, reached at {}", fmt::join(request.hosts, ", "));
  }
  // The holder of a server's certificate can pose as the server: nobody gets one unasked.
  absl::Status CheckRole(const agreement::EnrolmentRequest& request) const {
    if (!request.server) {
      if (server_ != name_) return absl::OkStatus();
      return base::InvalidArgument(
          "--server is {}, but the request of {} is a site's. The server's operator makes it with "
          "`tacet client request --server-host HOST`",
          *server_, name_);
    }
    if (server_ == name_) return absl::OkStatus();
    if (server_.has_value() || ::isatty(STDIN_FILENO) == 0) {
      return base::PermissionDenied(
          "{} asks to be {}. Nothing was enrolled. If it is to be the server, give --server {}; if "
          "it is a site, it has to ask again without --server-host",
          name_, RoleOf(request), name_);
    }
    fmt::print("{} asks to be {}. Is that agreed? (yes/no) ", name_, RoleOf(request));
    std::fflush(stdout);
    std::string answer;
    std::getline(std::cin, answer);
    if (answer == "yes") return absl::OkStatus();
    return base::PermissionDenied("{} was not enrolled", name_);
  }

  std::string name_, request_;
  std::string folder_ = std::string(coordinator::kDefaultFolder);
  std::optional<std::string> fingerprint_, server_;
  uint64_t days_ = 365;
  program::UnlockFlags unlock_;
};

}  // namespace

std::unique_ptr<program::Command> NewFederationEnrolCommand() {
  return std::make_unique<FederationEnrolCommand>();
}

}  // namespace tacet::app::federation
