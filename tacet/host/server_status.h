// Status of a server as its page reads it (docs/formats/server-page.md).
#ifndef TACET_HOST_SERVER_STATUS_H_
#define TACET_HOST_SERVER_STATUS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/json.h"
#include "tacet/base/unix_clock.h"
#include "tacet/host/guarantee_worker.h"
#include "tacet/host/operator_desk.h"
#include "tacet/host/problems.h"
#include "tacet/host/readiness.h"
#include "tacet/host/server_log.h"
#include "tacet/host/server_metrics.h"
#include "tacet/host/store_health.h"
#include "tacet/server/mailbox.h"
#include "tacet/server/round_server.h"

namespace tacet::host {

// Parts whose status is reported; all must outlive the reporter.
struct ServerParts {
  const agreement::SignedManifest& manifest;
  const tacet::server::RoundServer& rounds;
  const ServerLog& log;
  ServerMetrics& metrics;
  const Readiness& readiness;
  const StoreHealth& store;
  const tacet::server::Mailbox& mailbox;
  OperatorDesk& desk;
  GuaranteeWorker& guarantees;
  base::UnixClock clock;
  std::string version;
  uint64_t started_at = 0;  // Unix seconds
};

// For the process, its store and its members, now.
std::vector<Problem> ServerProblems(const ServerParts& parts);

// The part of the status that changes: counts, and the names of members that problems concern or
// that are waited for. No participant of an attempt, unless every member uploads.
base::JsonValue ServerStatusJson(const ServerParts& parts);

// The agreement, in words and as JSON, with the names of its members.
base::JsonValue ServerAgreementJson(const ServerParts& parts);

}  // namespace tacet::host

#endif  // TACET_HOST_SERVER_STATUS_H_
