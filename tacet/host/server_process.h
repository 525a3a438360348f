// Process of a federation's server: its parts, and its life from start to end.
#ifndef TACET_HOST_SERVER_PROCESS_H_
#define TACET_HOST_SERVER_PROCESS_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"

#include "tacet/base/host_port.h"
#include "tacet/base/text_sink.h"
#include "tacet/crypto/locked_secret.h"
#include "tacet/server/request_limits.h"
#include "tacet/server/round_server.h"

namespace tacet::host {

struct ServerProcessSpec {
  std::filesystem::path home;  // the folder that joined the federation
  std::string listen;          // HOST:PORT for members
  base::HostPort admin;        // for operators
  std::string state;           // server_state.h; empty: SQLite in the home folder
  std::string log = "-";       // server_log.h
  base::TextSink out;          // of log lines where `log` is "-"
  bool page = true;            // whether operators have a page
  // File whose first line is the page's token; without one a new token is made in the home folder.
  std::optional<std::filesystem::path> page_token_file;
  // File of the operators who may act at the page (operator_tokens.h); on a loopback address alone.
  std::optional<std::filesystem::path> operators_file;
  bool client_certificates = true;  // false: something in front of it ends TLS
  uint64_t drain_seconds = 0;       // that an open attempt may still take when it is asked to end
  // Whether it takes its invitation to a later epoch from the coordinator, and continues to each
  // epoch that its folder has joined, once the open attempt has ended or its time is over.
  bool follow = false;
  tacet::server::RoundServerOptions rounds;
  tacet::server::RequestLimitsSpec limits;
  // Asked several times a second: whether to end; whether to continue the log in a new file and to
  // look at the certificate. Without `reload`, never.
  std::function<bool()> stop;
  std::function<bool()> reload = nullptr;
};

// Serves until `spec.stop` says so, and starts again in the prepared epoch that an operator starts.
// Errors are those of such a start; later ones are logged and what failed is tried again.
absl::Status RunServerProcess(const ServerProcessSpec& spec, const crypto::Unlocker& unlocker,
                              std::string_view version);

}  // namespace tacet::host

#endif  // TACET_HOST_SERVER_PROCESS_H_
