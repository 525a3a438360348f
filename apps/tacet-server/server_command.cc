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
    options.AddString("home", "folder of the server: its keys, its invitation, its state",
                      &flags_.home);
    options.AddString("listen",
                      "HOST:PORT at which members connect; *:PORT: all addresses, IPv4 and IPv6",
                      &flags_.listen);
    options.AddString("state",
                      "storage of the server's state: sqlite:PATH or postgresql://...; when not "
                      "given, SQLite in the home folder",
                      &flags_.state);
    options.AddString("admin",
                      "HOST:PORT of the operators' HTTP site: health, metrics, and the page",
                      &flags_.admin);
    options.AddChoice(
        "page",
        "operators' page; auto: only on an address that is reachable from this machine alone",
        {"auto", "on", "off"}, &flags_.page);
    options.AddString("page-token-file",
                      "file whose first line is the page's token (readable by you alone); when not "
                      "given, every start writes a new token into the home folder",
                      &flags_.page_token_file);
    options.AddString("operators",
                      "file of the operators who may pause, resume, acknowledge and start an epoch "
                      "at the page: NAME TOKEN in each line (readable by you alone)",
                      &flags_.operators);
    options.AddString("log", "log file with one JSON object a line; -: standard output",
                      &flags_.log);
    options.AddUint("collecting-seconds",
                    "seconds that members have for their uploads to an attempt",
                    &flags_.rounds.collecting_seconds);
    options.AddUint("grace-seconds",
                    "seconds that an attempt waits for members that are not connected, once enough "
                    "are: before it begins, and before it closes without them",
                    &flags_.rounds.grace_seconds);
    options.AddUint("retry-seconds",
                    "pause after an attempt with too few uploads; it doubles from one to the next, "
                    "up to an hour",
                    &flags_.rounds.retry_seconds);
    options.AddUint("unmasking-seconds",
                    "seconds that the committee has to vote, unmask and confirm an aggregate; "
                    "extended by as many again as long as seats are absent",
                    &flags_.rounds.unmasking_seconds);
    options.AddUint("abandon-seconds",
                    "seconds after which an attempt whose committee stays away is given up",
                    &flags_.rounds.abandon_seconds);
    options.AddUint("most-rounds-left-out",
                    "most rounds of which a participant is left out at a time, whose uploads made "
                    "sums wrong; it doubles each time, from 1",
                    &flags_.rounds.most_rounds_left_out);
    options.AddUint("kept-rounds", "number of last rounds that late members can fetch",
                    &flags_.kept_rounds);
    options.AddUint("drain-seconds",
                    "seconds that an open attempt may still take when the server is told to stop; "
                    "after the next start the attempt continues",
                    &flags_.drain_seconds);
    options.AddFlag(
        "follow",
        "continue from epoch to epoch: take the invitations that the coordinator leaves, "
        "and begin each epoch when no attempt of the one before is open",
        &flags_.follow);
    options.AddFlag("behind-balancer",
                    "a load balancer ends the members' TLS connections; the server then identifies "
                    "members by their signatures alone",
                    &flags_.behind_balancer);
    options.AddDouble("member-requests-a-second",
                      "limit of one member's requests a second, on average",
                      &flags_.limits.requests_a_second);
    options.AddDouble("member-bytes-a-second",
                      "limit of one member's bytes a second, sent and fetched, on average",
                      &flags_.limits.bytes_a_second);
    flags_.unlock.Register(options);
  }

  absl::Status Run() override {
    TACET_ASSIGN_OR_RETURN(const host::ServerProcessSpec spec, Spec());
    TACET_ASSIGN_OR_RETURN(const crypto::Unlocker unlocker,
                           flags_.unlock.Existing("server's identity"));
    const base::StopSignal stop(kStopping);
    const base::ReloadSignal reload;
    return host::RunServerProcess(spec, unlocker, version_);
  }

 private:
  absl::StatusOr<host::ServerProcessSpec> Spec() const {
    host::ServerProcessSpec spec;
    spec.out = program::Console(stdout);
    spec.home = flags_.home;
    spec.listen = flags_.listen;
    spec.state = flags_.state;
    spec.log = flags_.log;
    TACET_ASSIGN_OR_RETURN(spec.admin, base::ParseListenAddress(flags_.admin));
    spec.page = flags_.page == "on" || (flags_.page == "auto" && spec.admin.loopback());
    if (flags_.page_token_file.has_value()) spec.page_token_file = *flags_.page_token_file;
    if (flags_.operators.has_value()) spec.operators_file = *flags_.operators;
    spec.client_certificates = !flags_.behind_balancer;
    spec.drain_seconds = flags_.drain_seconds;
    spec.follow = flags_.follow;
    if (flags_.kept_rounds > std::numeric_limits<uint32_t>::max()) {
      return base::InvalidArgument("--kept-rounds is {}, expected at most {}", flags_.kept_rounds,
                                   std::numeric_limits<uint32_t>::max());
    }
    spec.rounds = flags_.rounds;
    spec.rounds.kept_rounds = static_cast<uint32_t>(flags_.kept_rounds);
    if (!(flags_.limits.requests_a_second > 0) || !(flags_.limits.bytes_a_second > 0)) {
      return base::InvalidArgument(
          "--member-requests-a-second is {}, --member-bytes-a-second {}: expected more than 0",
          flags_.limits.requests_a_second, flags_.limits.bytes_a_second);
    }
    spec.limits = flags_.limits;
    spec.stop = base::StopSignal::Arrived;
    spec.reload = base::ReloadSignal::Take;
    return spec;
  }

  struct Flags {
    std::string home = "tacet-site";
    std::string listen = "0.0.0.0:7443";
    std::string state;
    std::string admin = "127.0.0.1:9464";
    std::string page = "auto";
    std::optional<std::string> page_token_file;
    std::optional<std::string> operators;
    std::string log = "-";
    tacet::server::RoundServerOptions rounds;
    uint64_t kept_rounds = rounds.kept_rounds;
    uint64_t drain_seconds = 0;
    bool behind_balancer = false, follow = false;
    tacet::server::RequestLimitsSpec limits;
    program::UnlockFlags unlock;
  };

  std::string version_;
  Flags flags_;
};

}  // namespace

std::unique_ptr<program::Command> NewServerCommand(std::string version) {
  return std::make_unique<ServerCommand>(std::move(version));
}

}  // namespace tacet::app::server
