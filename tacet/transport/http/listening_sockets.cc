#include "tacet/transport/http/listening_sockets.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "tacet/base/status.h"

namespace tacet::transport::http {
namespace {

constexpr int kBacklog = 4096;
constexpr size_t kReservedDescriptors = 128;

struct FreesAddresses {
  void operator()(addrinfo* addresses) const { ::freeaddrinfo(addresses); }
};
using Addresses = std::unique_ptr<addrinfo, FreesAddresses>;

absl::StatusOr<Addresses> Resolve(const base::HostPort& at) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  // Without a name the system gives the addresses that stand for all, one of each version.
  const char* const name = at.host == base::kAllAddresses ? nullptr : at.host.c_str();
  const int error = ::getaddrinfo(name, std::to_string(at.port).c_str(), &hints, &found);
  if (error != 0) {
    return base::Unavailable("cannot listen on {}: {}", at.text(), ::gai_strerror(error));
  }
  return Addresses(found);
}

uint16_t PortOf(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
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
  ::setsockopt(socket, level, option, &on, sizeof(on));
}

// None and errno when it cannot.
Descriptor Bound(const addrinfo& address) {
  Descriptor socket(::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.ok()) return socket;
  SetOption(socket.number(), SOL_SOCKET, SO_REUSEADDR);
  if (address.ai_family == AF_INET6) SetOption(socket.number(), IPPROTO_IPV6, IPV6_V6ONLY);
  if (::bind(socket.number(), address.ai_addr, address.ai_addrlen) != 0 ||
      ::listen(socket.number(), kBacklog) != 0) {
    return Descriptor();
  }
  return socket;
}

// Somebody who has one IPv6 address has 2^64 of them.
std::string AddressOf(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.ss_family == AF_INET6) {
    in6_addr network = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    std::fill(network.s6_addr + 8, network.s6_addr + 16, uint8_t{0});
    ::inet_ntop(AF_INET6, &network, text.data(), text.size());
  } else {
    const in_addr& host = reinterpret_cast<const sockaddr_in&>(address).sin_addr;
    ::inet_ntop(AF_INET, &host, text.data(), text.size());
  }
  return text.data();
}

}  // namespace

absl::StatusOr<ListeningSockets> ListenAt(const base::HostPort& at) {
  TACET_ASSIGN_OR_RETURN(const Addresses addresses, Resolve(at));
  ListeningSockets listening{.sockets = {}, .at = at};
  for (addrinfo* address = addresses.get(); address != nullptr; address = address->ai_next) {
    SetPort(address->ai_addr, listening.at.port);
    Descriptor socket = Bound(*address);
    // A host without IPv6 still resolves some names to both.
    if (!socket.ok() && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL)) continue;
    if (!socket.ok()) {
      return base::Unavailable("cannot listen on {}: {}", at.text(), std::strerror(errno));
    }
    listening.at.port = PortOf(socket.number());
    listening.sockets.push_back(std::move(socket));
  }
  if (!listening.sockets.empty()) return listening;
  return base::Unavailable("cannot listen on {}: this machine has no such address", at.text());
}

AcceptResult Accept(int listener) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  Descriptor socket(::accept4(listener, reinterpret_cast<sockaddr*>(&address), &size,
                              SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket.ok()) {
    const bool gone = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ||
                      errno == ECONNABORTED || errno == EPROTO;
    return {.state = gone ? AcceptState::kNoneNow : AcceptState::kNoRoom};
  }
  SetOption(socket.number(), IPPROTO_TCP, TCP_NODELAY);
  SetOption(socket.number(), SOL_SOCKET, SO_KEEPALIVE);
  return {.state = AcceptState::kAccepted,
          .accepted = {.socket = std::move(socket), .address = AddressOf(address)}};
}

size_t RoomForConnections(size_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  const rlim_t before = std::exchange(limit.rlim_cur, limit.rlim_max);
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = before;
  const size_t descriptors = static_cast<size_t>(limit.rlim_cur);
  const size_t room = descriptors - std::min(descriptors, kReservedDescriptors);
  return std::clamp<size_t>(room, 1, wanted);
}

}  // namespace tacet::transport::http
