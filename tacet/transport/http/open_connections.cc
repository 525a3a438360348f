#include "tacet/transport/http/open_connections.h"

#include <cstdint>
#include <vector>

namespace tacet::transport::http {
namespace {

// Unique as long as the connection exists.
Places::Id IdOf(const Connection& connection) { return reinterpret_cast<uintptr_t>(&connection); }

bool Works(Phase phase) { return phase == Phase::kBody || phase == Phase::kResponse; }

}  // namespace

bool OpenConnections::Enter(const std::shared_ptr<Connection>& connection) {
  const base::MutexLock lock(mutex_);
  const Places::Verdict verdict = places_.Enter(IdOf(*connection), connection->address());
  if (!verdict.admitted) {
    ++load_.replaced;
    return false;
  }
  Cut(verdict.replaced);
  connections_.emplace(IdOf(*connection), connection);
  return true;
}

void OpenConnections::ShowCertificate(const Connection& connection, const std::string& name) {
  const base::MutexLock lock(mutex_);
  Cut(places_.ShowCertificate(IdOf(connection), name, [this](Places::Id id) {
    mutex_.AssertHeld();
    return connections_.at(id)->last_active();
  }));
}

void OpenConnections::ChangePhase(Connection& connection, Phase from, Phase to) {
  const base::MutexLock lock(mutex_);
  LeavePhase(connection, from);
  if (from == Phase::kHandshake && to == Phase::kLingering) ++load_.failed_handshakes;
  if (to == Phase::kParked) parked_.insert(&connection);
  if (Works(to)) ++load_.working;
}

void OpenConnections::Leave(Connection& connection, Phase in) {
  const base::MutexLock lock(mutex_);
  LeavePhase(connection, in);
  if (in == Phase::kHandshake) ++load_.failed_handshakes;
  places_.Leave(IdOf(connection));
  connections_.erase(IdOf(connection));
  changed_.SignalAll();
}

void OpenConnections::LookAtParked() const {
  const base::MutexLock lock(mutex_);
  for (Connection* const connection : parked_) connection->Look();
}

void OpenConnections::LookAtAll() const {
  const base::MutexLock lock(mutex_);
  for (const auto& [id, connection] : connections_) connection->Look();
}

void OpenConnections::Empty(std::chrono::steady_clock::time_point end) {
  base::MutexLock lock(mutex_);
  while (!connections_.empty() && std::chrono::steady_clock::now() < end) {
    changed_.WaitUntil(mutex_, end);
  }
  for (const auto& [id, connection] : connections_) connection->Cut();
  while (!connections_.empty()) changed_.Wait(mutex_);
}

HttpServerLoad OpenConnections::Load() const {
  const base::MutexLock lock(mutex_);
  HttpServerLoad load = load_;
  load.connections = connections_.size();
  load.strangers = places_.strangers();
  load.parked = parked_.size();
  return load;
}

void OpenConnections::Cut(std::optional<Places::Id> replaced) {
  if (!replaced.has_value()) return;
  ++load_.replaced;
  connections_.at(*replaced)->Cut();
}

void OpenConnections::LeavePhase(Connection& connection, Phase phase) {
  if (phase == Phase::kParked) parked_.erase(&connection);
  if (Works(phase)) --load_.working;
}

}  // namespace tacet::transport::http
