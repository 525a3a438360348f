// Listening socket of a test: each connection is served by a thread of its own.
#ifndef TACET_TRANSPORT_HTTP_ACCEPTOR_FOR_TEST_H_
#define TACET_TRANSPORT_HTTP_ACCEPTOR_FOR_TEST_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fmt/core.h"
#include "gtest/gtest.h"
#include <fcntl.h>
#include <poll.h>

#include "tacet/transport/http/listening_sockets.h"

namespace tacet::transport::http {

class AcceptorForTest {
 public:
  // `serve` is given a socket that blocks.
  explicit AcceptorForTest(std::function<void(Descriptor)> serve) : serve_(std::move(serve)) {
    absl::StatusOr<ListeningSockets> listening = ListenAt({.host = "127.0.0.1", .port = 0});
    EXPECT_TRUE(listening.ok()) << listening.status();
    port_ = listening->at.port;
    socket_ = std::move(listening->sockets[0]);
    thread_ = std::thread([this] { Run(); });
  }
  ~AcceptorForTest() { Stop(); }
  AcceptorForTest(const AcceptorForTest&) = delete;
  AcceptorForTest& operator=(const AcceptorForTest&) = delete;

  uint16_t port() const { return port_; }
  std::string Address() const { return fmt::format("127.0.0.1:{}", port_); }
  // After all connections have been served.
  void Stop() {
    ended_ = true;
    if (thread_.joinable()) thread_.join();
    for (std::thread& thread : serving_) thread.join();
    serving_.clear();
  }

 private:
  void Run() {
    pollfd waited{.fd = socket_.number(), .events = POLLIN, .revents = 0};
    while (!ended_) {
      if (::poll(&waited, 1, 20) != 1) continue;
      AcceptResult result = Accept(socket_.number());
      if (result.state != AcceptState::kAccepted) continue;
      ::fcntl(result.accepted.socket.number(), F_SETFL, 0);
      serving_.emplace_back([this, socket = std::move(result.accepted.socket)]() mutable {
        serve_(std::move(socket));
      });
    }
  }

  std::function<void(Descriptor)> serve_;
  uint16_t port_ = 0;
  Descriptor socket_;
  std::atomic<bool> ended_ = false;
  std::vector<std::thread> serving_;  // of `thread_`, until it has ended
  std::thread thread_;
};

}  // namespace tacet::transport::http

#endif  // TACET_TRANSPORT_HTTP_ACCEPTOR_FOR_TEST_H_
