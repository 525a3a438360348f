// Refused TLS handshakes: counts, a log, and members whose certificates are out of time.
#ifndef TACET_HOST_HANDSHAKE_WATCH_H_
#define TACET_HOST_HANDSHAKE_WATCH_H_

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/mutex.h"
#include "tacet/host/server_log.h"
#include "tacet/host/server_metrics.h"
#include "tacet/server/round_server.h"
#include "tacet/transport/http/handshake_fault.h"

namespace tacet::host {

// Thread-safe. The log gets those whose certificate the authority signed, each name at most once in
// ten minutes: strangers cannot fill a disk with them.
class HandshakeWatch {
 public:
  using SteadyClock = std::function<std::chrono::steady_clock::time_point()>;

  // All must outlive it.
  HandshakeWatch(const agreement::SignedManifest& manifest, ServerLog& log, ServerMetrics& metrics,
                 SteadyClock clock = std::chrono::steady_clock::now)
      : manifest_(manifest), log_(log), metrics_(metrics), clock_(std::move(clock)) {}

  void OnRefused(const transport::http::RefusedHandshake& refused,
                 tacet::server::RoundServer& rounds);

 private:
  bool MayLog(const std::string& name);

  const agreement::SignedManifest& manifest_;
  ServerLog& log_;
  ServerMetrics& metrics_;
  SteadyClock clock_;
  base::Mutex mutex_;
  std::map<std::string, std::chrono::steady_clock::time_point> logged_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tacet::host

#endif  // TACET_HOST_HANDSHAKE_WATCH_H_
