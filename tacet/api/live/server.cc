#include "tacet/server.h"

#include <utility>

#include "tacet/base/host_port.h"
#include "tacet/base/status.h"
#include "tacet/base/text_sink.h"
#include "tacet/host/relay_server.h"
#include "tacet/host/server_process.h"
#include "tacet/storage/file/unlock_source.h"
#include "tacet/version.h"

namespace tacet {
namespace {

absl::Status CheckAbove0(double value, std::string_view name) {
  if (value > 0) return absl::OkStatus();
  return base::InvalidArgument("{} is {}, expected more than 0", name, value);
}

absl::Status CheckLimits(const RoundOptions& options) {
  TACET_RETURN_IF_ERROR(CheckAbove0(options.requests_a_second, "requests_a_second"));
  return CheckAbove0(options.bytes_a_second, "bytes_a_second");
}

server::RoundServerOptions RoundsOf(const RoundOptions& options) {
  return {.collecting_seconds = options.collecting_seconds,
          .unmasking_seconds = options.unmasking_seconds,
          .abandon_seconds = options.abandon_seconds,
          .kept_rounds = options.kept_rounds,
          .grace_seconds = options.grace_seconds,
          .retry_seconds = options.retry_seconds};
}

server::RequestLimitsSpec LimitsOf(const RoundOptions& options) {
  return {.requests_a_second = options.requests_a_second, .bytes_a_second = options.bytes_a_second};
}

absl::StatusOr<host::ServerProcessSpec> SpecOf(const ServerOptions& options,
                                               const ServerFunctions& functions) {
  TACET_RETURN_IF_ERROR(CheckLimits(options.rounds));
  host::ServerProcessSpec spec;
  spec.home = options.home;
  spec.listen = options.listen;
  TACET_ASSIGN_OR_RETURN(spec.admin, base::ParseListenAddress(options.admin));
  spec.page = options.page.value_or(spec.admin.loopback());
  spec.page_token_file = options.page_token_file;
  spec.state = options.storage.value_or("");
  spec.client_certificates = options.client_certificates;
  spec.drain_seconds = options.drain_seconds;
  spec.rounds = RoundsOf(options.rounds);
  spec.limits = LimitsOf(options.rounds);
  spec.out = base::TextSink(functions.on_event);
  spec.stop = functions.stop;
  return spec;
}

}  // namespace

absl::Status RunServer(const ServerOptions& options, const ServerFunctions& functions) {
  if (!functions.stop) return base::InvalidArgument("stop is missing: give a function");
  TACET_ASSIGN_OR_RETURN(const host::ServerProcessSpec spec, SpecOf(options, functions));
  storage::file::UnlockSource unlock;
  if (options.passphrase_file) unlock.passphrase_file = options.passphrase_file->string();
  if (options.key_file) unlock.key_file = options.key_file->string();
  TACET_ASSIGN_OR_RETURN(const crypto::Unlocker unlocker, unlock.Existing("server's identity"));
  return host::RunServerProcess(spec, unlocker, Version());
}

absl::StatusOr<RelayServer> RelayServer::Open(const std::filesystem::path& home,
                                              const std::optional<std::string>& storage,
                                              const RoundOptions& options,
                                              const ServerFunctions& functions) {
  TACET_RETURN_IF_ERROR(CheckLimits(options));
  TACET_ASSIGN_OR_RETURN(std::shared_ptr<host::RelayServer> server,
                         host::RelayServer::Open({.rounds = {.home = home,
                                                             .state = storage.value_or(""),
                                                             .rounds = RoundsOf(options),
                                                             .limits = LimitsOf(options)},
                                                  .out = base::TextSink(functions.on_event)},
                                                 Version()));
  return RelayServer(std::move(server));
}

RelayServer::RelayServer(std::shared_ptr<host::RelayServer> server) : server_(std::move(server)) {}

absl::StatusOr<RelayServer::Bundles> RelayServer::Exchange(const Bundles& bundles,
                                                           double wait_seconds) const {
  if (wait_seconds >= 0) return server_->Exchange(bundles, wait_seconds);
  return base::InvalidArgument("wait_seconds is {}, expected 0 or more", wait_seconds);
}

bool RelayServer::done() const { return server_->done(); }
uint32_t RelayServer::round() const { return server_->round(); }
uint32_t RelayServer::rounds() const { return server_->rounds(); }

}  // namespace tacet
