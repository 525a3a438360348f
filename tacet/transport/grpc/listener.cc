#include "tacet/transport/grpc/listener.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string>
#include <utility>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tacet/base/status.h"

namespace tacet::transport::grpc {
namespace {

constexpr int kBacklog = 1024;
// How long accepting rests when the system has no room for a connection.
constexpr int kRestMilliseconds = 100;

struct FreesAddresses {
  void operator()(addrinfo* addresses) const { freeaddrinfo(addresses); }
};
using Addresses = std::unique_ptr<addrinfo, FreesAddresses>;

absl::StatusOr<Addresses> Resolve(const base::HostPort& at) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(at.host.c_str(), std::to_string(at.port).c_str(), &hints, &found);
  if (error != 0) return base::Unavailable("{}: {}", at.text(), gai_strerror(error));
  return Addresses(found);
}

uint16_t PortOf(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

void SetPort(sockaddr* address, uint16_t port) {
  if (address->sa_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(address)->sin6_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in*>(address)->sin_port = htons(port);
  }
}

void SetOption(int socket, int level, int option) {
  const int on = 1;
  setsockopt(socket, level, option, &on, sizeof(on));
}

// -1 and errno when it cannot.
Descriptor ListenAt(const addrinfo& address) {
  Descriptor socket(::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.number() < 0) return socket;
  SetOption(socket.number(), SOL_SOCKET, SO_REUSEADDR);
  if (address.ai_family == AF_INET6) SetOption(socket.number(), IPPROTO_IPV6, IPV6_V6ONLY);
  if (bind(socket.number(), address.ai_addr, address.ai_addrlen) != 0 ||
      listen(socket.number(), kBacklog) != 0) {
    return Descriptor();
  }
  return socket;
}

// The highest number that a descriptor can have, plus one.
int RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return INT_MAX;
  const rlim_t before = std::exchange(limit.rlim_cur, limit.rlim_max);
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = before;
  return static_cast<int>(std::min<rlim_t>(limit.rlim_cur, INT_MAX));
}

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    if (number_ >= 0) close(number_);
    number_ = other.Release();
  }
  return *this;
}

int Descriptor::Release() { return std::exchange(number_, -1); }

absl::StatusOr<std::unique_ptr<Listener>> Listener::Open(const base::HostPort& at,
                                                         int most_connections) {
  TACET_ASSIGN_OR_RETURN(const Addresses addresses, Resolve(at));
  std::unique_ptr<Listener> listener(new Listener);
  listener->port_ = at.port;
  for (addrinfo* address = addresses.get(); address != nullptr; address = address->ai_next) {
    SetPort(address->ai_addr, listener->port_);
    Descriptor socket = ListenAt(*address);
    // A host without IPv6 still resolves some names to both.
    if (socket.number() < 0 && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL)) continue;
    if (socket.number() < 0) {
      return base::Unavailable("cannot listen at {}: {}", at.text(), std::strerror(errno));
    }
    listener->port_ = PortOf(socket.number());
    listener->sockets_.push_back(std::move(socket));
  }
  if (listener->sockets_.empty()) {
    return base::Unavailable("cannot listen at {}: this machine has no such address", at.text());
  }
  listener->stop_ = Descriptor(eventfd(0, EFD_CLOEXEC));
  if (listener->stop_.number() < 0) return base::Unavailable("no descriptor is left");
  listener->most_descriptors_ = std::min(RaiseDescriptorLimit() - kReservedDescriptors,
                                         listener->stop_.number() + most_connections);
  return listener;
}

void Listener::Start(Take take) {
  thread_ = std::thread([this, take = std::move(take)] { Run(take); });
}

void Listener::Stop() {
  if (thread_.joinable()) {
    const uint64_t once = 1;
    // An eventfd takes eight bytes at once, and blocks only at its maximum.
    if (write(stop_.number(), &once, sizeof(once)) == sizeof(once)) thread_.join();
  }
  sockets_.clear();
}

void Listener::Run(const Take& take) {
  std::vector<pollfd> waits{{.fd = stop_.number(), .events = POLLIN, .revents = 0}};
  for (const Descriptor& socket : sockets_) {
    waits.push_back({.fd = socket.number(), .events = POLLIN, .revents = 0});
  }
  while (true) {
    if (poll(waits.data(), waits.size(), -1) < 0) continue;  // a signal
    if (waits.front().revents != 0) return;
    for (size_t i = 1; i < waits.size(); ++i) {
      if (waits[i].revents != 0) AcceptFrom(waits[i].fd, take);
    }
  }
}

void Listener::AcceptFrom(int socket, const Take& take) {
  Descriptor connection(accept4(socket, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (connection.number() < 0) {
    const bool gone = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ||
                      errno == ECONNABORTED || errno == EPROTO;
    if (!gone) Rest();
    return;
  }
  // The system gives the lowest free number: a high one says that all below are in use.
  if (connection.number() >= most_descriptors_) return;
  SetOption(connection.number(), IPPROTO_TCP, TCP_NODELAY);
  take(socket, std::move(connection));
}

void Listener::Rest() const {
  pollfd stop{.fd = stop_.number(), .events = POLLIN, .revents = 0};
  poll(&stop, 1, kRestMilliseconds);
}

}  // namespace tacet::transport::grpc
