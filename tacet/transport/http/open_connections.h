// Connections of a server: who has a place, which of them are parked, and how many of them work.
#ifndef TACET_TRANSPORT_HTTP_OPEN_CONNECTIONS_H_
#define TACET_TRANSPORT_HTTP_OPEN_CONNECTIONS_H_

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "tacet/base/mutex.h"
#include "tacet/transport/http/connection.h"
#include "tacet/transport/http/http_server.h"
#include "tacet/transport/http/places.h"

namespace tacet::transport::http {

// Thread-safe. A connection that gives its place to another one is cut.
class OpenConnections {
 public:
  explicit OpenConnections(const PlacesSpec& places) : places_(places) {}

  // False when there is no place for it.
  bool Enter(const std::shared_ptr<Connection>& connection);
  void ShowCertificate(const Connection& connection, const std::string& name);
  void ChangePhase(Connection& connection, Phase from, Phase to);
  void Leave(Connection& connection, Phase in);

  // Calls Look of those that are parked, or of all.
  void LookAtParked() const;
  void LookAtAll() const;
  // Waits until `end` for all to leave, cuts those that have not, and waits for these.
  void Empty(std::chrono::steady_clock::time_point end);

  HttpServerLoad Load() const;

 private:
  void Cut(std::optional<Places::Id> replaced) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LeavePhase(Connection& connection, Phase phase) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable base::Mutex mutex_;
  base::CondVar changed_;
  Places places_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<Places::Id, std::shared_ptr<Connection>> connections_ ABSL_GUARDED_BY(mutex_);
  std::unordered_set<Connection*> parked_ ABSL_GUARDED_BY(mutex_);
  HttpServerLoad load_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tacet::transport::http

#endif  // TACET_TRANSPORT_HTTP_OPEN_CONNECTIONS_H_
