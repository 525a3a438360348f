// Metrics of a server for Prometheus (docs/formats/metrics.md). It names members
// that are absent while no attempt is open, and never a participant.
#ifndef TACET_HOST_SERVER_METRICS_H_
#define TACET_HOST_SERVER_METRICS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

#include "tacet/agreement/signed_manifest.h"
#include "tacet/host/problems.h"
#include "tacet/protocol/announcement.h"
#include "tacet/server/round_server.h"
#include "tacet/server/server_store.h"
#include "tacet/transport/http/handshake_fault.h"
#include "tacet/transport/http/http_server.h"

namespace tacet::host {

// Requests of one kind that were answered alike.
struct CountedRequests {
  std::string kind;
  std::string status;
  uint64_t count = 0;
};

// "ok", "permission_denied", ...: as Prometheus writes words.
std::string StatusWord(absl::StatusCode code);

// Thread-safe.
class ServerMetrics {
 public:
  ServerMetrics();
  ~ServerMetrics();
  ServerMetrics(const ServerMetrics&) = delete;
  ServerMetrics& operator=(const ServerMetrics&) = delete;

  // A request that was answered, or refused.
  void CountRequest(std::string_view kind, const absl::Status& status, size_t request_bytes,
                    size_t answer_bytes);
  void CountStoreError();
  void CountAccepted(uint64_t uploads);
  // Attempts that ended, `failure` empty when one was published.
  void CountEnded(std::string_view failure);
  void ObservePhase(protocol::AttemptPhase phase, double seconds);

  void SetStatus(const tacet::server::ServerStatus& status);
  // Members are named in federations of up to 100.
  void SetAttendance(const tacet::server::ServerStatus& status,
                     const agreement::SignedManifest& manifest);
  // Which there are, and whether the server is ready.
  void SetProblems(std::span<const Problem> problems);
  void CountRefusedHandshake(transport::http::HandshakeFault fault);
  void SetLoad(const transport::http::HttpServerLoad& load);
  void SetCertificateEnd(uint64_t not_after);  // Unix seconds

  std::vector<CountedRequests> requests() const;
  uint64_t bytes_received() const;
  uint64_t bytes_sent() const;
  uint64_t store_errors() const;
  uint64_t certificate_end() const;

  // All of it in Prometheus' text format; `now` in Unix seconds.
  std::string Text(uint64_t now);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tacet::host

#endif  // TACET_HOST_SERVER_METRICS_H_
