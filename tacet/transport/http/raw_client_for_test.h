// TCP client for tests that says what it likes, from an address of its choice.
#ifndef TACET_TRANSPORT_HTTP_RAW_CLIENT_FOR_TEST_H_
#define TACET_TRANSPORT_HTTP_RAW_CLIENT_FOR_TEST_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "tacet/transport/http/descriptor.h"

namespace tacet::transport::http {

// A blocking connection to 127.0.0.1 from `from`, an address of 127.0.0.0/8; none when it is
// refused.
inline Descriptor ConnectTo(uint16_t port, const std::string& from = "127.0.0.1") {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  ::inet_pton(AF_INET, from.c_str(), &address.sin_addr);
  bool connected =
      ::bind(socket.number(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  connected = connected && ::connect(socket.number(), reinterpret_cast<sockaddr*>(&address),
                                     sizeof(address)) == 0;
  return connected ? std::move(socket) : Descriptor();
}

// A blocking connection to ::1; none when it is refused.
inline Descriptor ConnectToVersion6(uint16_t port) {
  Descriptor socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  address.sin6_port = htons(port);
  const bool connected =
      ::connect(socket.number(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  return connected ? std::move(socket) : Descriptor();
}

class RawClient {
 public:
  explicit RawClient(uint16_t port, const std::string& from = "127.0.0.1")
      : socket_(ConnectTo(port, from)) {}

  bool connected() const { return socket_.ok(); }
  bool Send(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t count = ::send(socket_.number(), text.data(), text.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      text.remove_prefix(static_cast<size_t>(count));
    }
    return true;
  }
  void SayNoMore() const { ::shutdown(socket_.number(), SHUT_WR); }
  // Everything until the server closes.
  std::string Rest() const {
    std::string all;
    while (ReadSome(all)) {
    }
    return all;
  }
  // Everything until it ends with `end`, or the server closes.
  std::string ReadUntil(std::string_view end) const {
    std::string all;
    while (!all.ends_with(end) && ReadSome(all)) {
    }
    return all;
  }
  // Whether the server closes within this time, without saying anything.
  bool Closes(std::chrono::milliseconds within) const {
    pollfd waited{.fd = socket_.number(), .events = POLLIN, .revents = 0};
    if (::poll(&waited, 1, static_cast<int>(within.count())) != 1) return false;
    char byte = 0;
    return ::recv(socket_.number(), &byte, 1, 0) <= 0;
  }

 private:
  bool ReadSome(std::string& all) const {
    char buffer[4096];
    const ssize_t count = ::recv(socket_.number(), buffer, sizeof(buffer), 0);
    if (count > 0) all.append(buffer, static_cast<size_t>(count));
    return count > 0;
  }

  Descriptor socket_;
};

// Fails the test when it does not come true.
template <typename Condition>
void WaitUntil(const Condition& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) {
      ADD_FAILURE() << "a condition did not come true within two minutes";
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace tacet::transport::http

#endif  // TACET_TRANSPORT_HTTP_RAW_CLIENT_FOR_TEST_H_
