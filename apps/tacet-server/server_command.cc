#include "apps/tacet-server/server_command.h"

#include <cstdio>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "apps/tacet/program/console.h"
#include "apps/tacet/program/unlock_flags.h"
#include "tacet/base/host_port.h"
#include "tacet/base/status.h"
#include "tacet/base/stop_signal.h"
#include "tacet/host/server_process.h"

namespace tacet::app::server {
namespace {

constexpr std::string_view kStopping = "tacet: ending; once more to end at once\n";

class ServerCommand : public program::Command {
 public:
  explicit ServerCommand(std::string version) : version_(std::move(version)) {}

  std::string_view name() const override { return "server"; }
  std::string_view summary() const override {
    return "aggregation server of a federation: adds encrypted updates until it is told to stop";
  }

  void Register(program::Options& options) override {
    options.AddString("home", "folder of the server: its keys, its invitation, its state", &home_);
    options.AddString("listen", "HOST:PORT at which members connect", &listen_);
    options.AddString("state",
                      "storage of the server's state: sqlite:PATH or postgresql://...; when not "
                      "given, SQLite in the home folder",
                      &state_);
    options.AddString(
        "admin", "HOST:PORT of the operators' HTTP site: health, metrics, and the page", &admin_);
    options.AddChoice(
        "page",
        "operators' page; auto: only on an address that is reachable from this machine alone",
        {"auto", "on", "off"}, &page_);
    options.AddString("page-token-file",
                      "file whose first line is the page's token (readable by you alone); when not "
                      "given, every start writes a new token into the home folder",
                      &page_token_file_);
    options.AddString("log", "log file with one JSON object a line; -: standard output", &log_);
    options.AddUint("collecting-seconds",
                    "seconds that members have for their uploads to an attempt",
                    &rounds_.collecting_seconds);
    options.AddUint("grace-seconds",
                    "seconds that an attempt waits for members that are not connected, once enough "
                    "are: before it begins, and before it closes without them",
                    &rounds_.grace_seconds);
    options.AddUint("retry-seconds",
                    "pause after an attempt with too few uploads; it doubles from one to the next, "
                    "up to an hour",
                    &rounds_.retry_seconds);
    options.AddUint("unmasking-seconds",
                    "seconds that the committee has to vote, unmask and confirm an aggregate; "
                    "extended by as many again as long as seats are away",
                    &rounds_.unmasking_seconds);
    options.AddUint("abandon-seconds",
                    "seconds after which an attempt whose committee stays away is given up",
                    &rounds_.abandon_seconds);
    options.AddUint("kept-rounds", "number of last rounds that late members can fetch",
                    &kept_rounds_);
    options.AddUint("drain-seconds",
                    "seconds that an open attempt may still take when the server is told to stop; "
                    "after the next start the attempt continues",
                    &drain_seconds_);
    options.AddFlag("behind-balancer",
                    "a load balancer ends the members' TLS connections; the server then identifies "
                    "members by their signatures alone",
                    &behind_balancer_);
    options.AddDouble("member-requests-a-second",
                      "limit of one member's requests a second, on average",
                      &limits_.requests_a_second);
    options.AddDouble("member-bytes-a-second",
                      "limit of one member's bytes a second, sent and fetched, on average",
                      &limits_.bytes_a_second);
    unlock_.Register(options);
  }

  absl::Status Run() override {
    TACET_ASSIGN_OR_RETURN(const host::ServerProcessSpec spec, Spec());
    TACET_ASSIGN_OR_RETURN(const crypto::Unlocker unlocker, unlock_.Existing("server's identity"));
    const base::StopSignal stop(kStopping);
    const base::ReloadSignal reload;
    return host::RunServerProcess(spec, unlocker, version_);
  }

 private:
  absl::StatusOr<host::ServerProcessSpec> Spec() const {
    host::ServerProcessSpec spec;
    spec.out = program::Console(stdout);
    spec.home = home_;
    spec.listen = listen_;
    spec.state = state_;
    spec.log = log_;
    TACET_ASSIGN_OR_RETURN(spec.admin, base::ParseHostPort(admin_));
    spec.page = page_ == "on" || (page_ == "auto" && spec.admin.loopback());
    if (page_token_file_.has_value()) spec.page_token_file = *page_token_file_;
    spec.client_certificates = !behind_balancer_;
    spec.drain_seconds = drain_seconds_;
    if (kept_rounds_ > std::numeric_limits<uint32_t>::max()) {
      return base::InvalidArgument("--kept-rounds is {}, expected at most {}", kept_rounds_,
                                   std::numeric_limits<uint32_t>::max());
    }
    spec.rounds = rounds_;
    spec.rounds.kept_rounds = static_cast<uint32_t>(kept_rounds_);
    if (!(limits_.requests_a_second > 0) || !(limits_.bytes_a_second > 0)) {
      return base::InvalidArgument(
          "--member-requests-a-second is {}, --member-bytes-a-second {}: expected more than 0",
          limits_.requests_a_second, limits_.bytes_a_second);
    }
    spec.limits = limits_;
    spec.stop = base::StopSignal::Arrived;
    spec.reload = base::ReloadSignal::Take;
    return spec;
  }

  std::string version_;
  std::string home_ = "tacet-site";
  std::string listen_ = "0.0.0.0:7443";
  std::string state_;
  std::string admin_ = "127.0.0.1:9464";
  std::string page_ = "auto";
  std::optional<std::string> page_token_file_;
  std::string log_ = "-";
  tacet::server::RoundServerOptions rounds_;
  uint64_t kept_rounds_ = rounds_.kept_rounds;
  uint64_t drain_seconds_ = 0;
  bool behind_balancer_ = false;
  tacet::server::RequestLimitsSpec limits_;
  program::UnlockFlags unlock_;
};

}  // namespace

std::unique_ptr<program::Command> NewServerCommand(std::string version) {
  return std::make_unique<ServerCommand>(std::move(version));
}

}  // namespace tacet::app::server
