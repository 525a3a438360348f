#include "tacet/transport/http/http_server.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tacet/base/mutex.h"
#include "tacet/base/parallel.h"
#include "tacet/base/status.h"
#include "tacet/transport/http/event_loop.h"
#include "tacet/transport/http/listening_sockets.h"
#include "tacet/transport/http/open_connections.h"

namespace tacet::transport::http {
namespace {

using Clock = Waiter::Clock;

// Connections that are accepted at once before others have a turn.
constexpr int kAcceptAtOnce = 64;
// Pause when the system has no room for a connection.
constexpr auto kNoRoomPause = std::chrono::milliseconds(100);

size_t Threads(size_t wanted) {
  if (wanted > 0) return wanted;
  return std::clamp<size_t>(2 * base::Processors(), 4, 16);
}

PlacesSpec Bounded(PlacesSpec places) {
  places.all = RoomForConnections(places.all);
  return places;
}

absl::Status CheckSpec(const HttpServerSpec& spec) {
  const auto zero = std::chrono::milliseconds(0);
  const ConnectionLimits& limits = spec.limits;
  const bool positive = spec.places.all > 0 && spec.places.of_address > 0 &&
                        spec.places.of_certificate > 0 && limits.max_head_bytes > 0 &&
                        limits.bytes_per_second > 0 && limits.hello > zero && limits.head > zero &&
                        limits.idle > zero && limits.stall > zero && limits.transfer > zero &&
                        limits.long_poll > zero;
  return positive ? absl::OkStatus()
                  : base::InvalidArgument("a server's limits must be above zero");
}

}  // namespace

class HttpServer::Impl final : public Connection::Owner {
 public:
  Impl(const HttpServerSpec& spec, const TlsIdentity* tls, Service& service)
      : limits_(spec.limits),
        tls_(tls),
        service_(service),
        connections_(Bounded(spec.places)),
        loop_(Threads(spec.threads)) {}
  ~Impl() override { Drain(std::chrono::milliseconds(0)); }

  absl::Status Listen(const base::HostPort& at) {
    TACET_ASSIGN_OR_RETURN(ListeningSockets listening, ListenAt(at));
    listen_ = listening.at;
    for (Descriptor& socket : listening.sockets) {
      TACET_ASSIGN_OR_RETURN(std::shared_ptr<Waiter> waiter, loop_.Watch(std::move(socket)));
      {
        const base::MutexLock lock(mutex_);
        listeners_.push_back(waiter);
        ++accepting_;
      }
      Waiter& started = *waiter;
      started.Yield([this, kept = std::move(waiter)](Wake) { AcceptFrom(kept); });
    }
    return absl::OkStatus();
  }

  const base::HostPort& listen() const { return listen_; }

  void Look() { connections_.LookAtParked(); }
  HttpServerLoad Load() const { return connections_.Load(); }

  void Drain(std::chrono::milliseconds most) {
    std::call_once(drained_, [&] {
      draining_ = true;
      const auto end = Clock::now() + most;
      {
        base::MutexLock lock(mutex_);
        for (const std::shared_ptr<Waiter>& listener : listeners_) listener->Call();
        while (accepting_ > 0) changed_.Wait(mutex_);
        listeners_.clear();
      }
      connections_.LookAtAll();
      connections_.Empty(end);
    });
  }

  // For the connections.
  const ConnectionLimits& limits() const override { return limits_; }
  Service& service() override { return service_; }
  bool draining() const override { return draining_; }
  std::unique_ptr<ByteStream> NewStream(int socket) override {
    return tls_ == nullptr ? NewPlainStream(socket) : tls_->NewStream(socket);
  }
  void OnAuthenticated(Connection& connection, const std::string& name) override {
    connections_.ShowCertificate(connection, name);
  }
  void OnPhase(Connection& connection, Phase from, Phase to) override {
    connections_.ChangePhase(connection, from, to);
  }
  void OnEnded(Connection& connection, Phase in) override { connections_.Leave(connection, in); }

 private:
  void AcceptFrom(const std::shared_ptr<Waiter>& listener) {
    auto again = Clock::time_point::max();
    for (int i = 0; i < kAcceptAtOnce && !draining_; ++i) {
      AcceptResult result = Accept(listener->descriptor());
      if (result.state == AcceptState::kNoRoom) again = Clock::now() + kNoRoomPause;
      if (result.state != AcceptState::kAccepted) break;
      Take(std::move(result.accepted));
    }
    if (draining_) {
      const base::MutexLock lock(mutex_);
      --accepting_;
      changed_.SignalAll();
      return;
    }
    const bool rests = again != Clock::time_point::max();
    listener->Await(rests ? Direction::kNone : Direction::kRead, again,
                    [this, listener](Wake) { AcceptFrom(listener); });
  }

  void Take(Accepted accepted) {
    absl::StatusOr<std::shared_ptr<Waiter>> waiter = loop_.Watch(std::move(accepted.socket));
    if (!waiter.ok()) return;  // the socket is closed
    const auto connection =
        std::make_shared<Connection>(*this, *std::move(waiter), std::move(accepted.address));
    if (connections_.Enter(connection)) connection->Start();
  }

  const ConnectionLimits limits_;
  const TlsIdentity* const tls_;
  Service& service_;
  base::HostPort listen_;
  std::atomic<bool> draining_ = false;
  std::once_flag drained_;
  OpenConnections connections_;

  base::Mutex mutex_;
  base::CondVar changed_;
  std::vector<std::shared_ptr<Waiter>> listeners_ ABSL_GUARDED_BY(mutex_);
  size_t accepting_ ABSL_GUARDED_BY(mutex_) = 0;  // listeners in use

  EventLoop loop_;  // its threads end first
};

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const HttpServerSpec& spec,
                                                              const TlsIdentity* tls,
                                                              Service& service) {
  TACET_RETURN_IF_ERROR(CheckSpec(spec));
  auto impl = std::make_unique<Impl>(spec, tls, service);
  TACET_RETURN_IF_ERROR(impl->Listen(spec.listen));
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

const base::HostPort& HttpServer::listen() const { return impl_->listen(); }
void HttpServer::Look() { impl_->Look(); }
void HttpServer::Drain(std::chrono::milliseconds most) { impl_->Drain(most); }
HttpServerLoad HttpServer::Load() const { return impl_->Load(); }

}  // namespace tacet::transport::http
