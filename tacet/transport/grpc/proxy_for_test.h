// HTTP proxy for tests that knows only CONNECT and can cut a connection.
#ifndef TACET_TRANSPORT_GRPC_PROXY_FOR_TEST_H_
#define TACET_TRANSPORT_GRPC_PROXY_FOR_TEST_H_

#include <atomic>
#include <charconv>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tacet/base/mutex.h"
#include "tacet/protocol/testing/small_federation.h"
#include "tacet/transport/grpc/listener.h"
#include "tacet/transport/grpc/tls_for_test.h"

namespace tacet::transport::grpc {

class ProxyForTest {
 public:
  ProxyForTest()
      : listener_(
            protocol::testing::ValueOf(Listener::Open({.host = "127.0.0.1", .port = 0}, 1000))) {
    listener_->Start([this](int, Descriptor connection) {
      threads_.emplace_back(
          [this, client = std::move(connection)]() mutable { Serve(std::move(client)); });
    });
  }
  ~ProxyForTest() {
    listener_->Stop();
    ended_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

  std::string Address() const { return fmt::format("127.0.0.1:{}", listener_->port()); }
  // The requests that came, each with its headers.
  std::vector<std::string> requests() const {
    const base::MutexLock lock(mutex_);
    return requests_;
  }
  // Bytes that clients sent through it.
  uint64_t sent() const { return sent_; }
  // Cuts the connection, once, that sends this many bytes in all from now on.
  void CutAfter(uint64_t bytes) { cut_at_ = sent_ + bytes; }

 private:
  static constexpr uint64_t kNever = ~uint64_t{0};

  void Serve(Descriptor client) {
    fcntl(client.number(), F_SETFL, 0);  // blocking
    const std::string request = ReadHead(client.number());
    {
      const base::MutexLock lock(mutex_);
      requests_.push_back(request);
    }
    const size_t port_at = request.find(':');
    uint16_t port = 0;
    if (!request.starts_with("CONNECT ") || port_at == std::string::npos) return;
    std::from_chars(request.data() + port_at + 1, request.data() + request.size(), port);
    const Descriptor server = ConnectTo(port);
    const std::string answer = server.number() < 0 ? "HTTP/1.1 502 Bad Gateway\r\n\r\n"
                                                   : "HTTP/1.1 200 Connection established\r\n\r\n";
    WriteAll(client.number(), answer.data(), answer.size());
    if (server.number() >= 0) Relay(client.number(), server.number());
  }

  static std::string ReadHead(int socket) {
    std::string head;
    char byte = 0;
    while (!head.ends_with("\r\n\r\n") && read(socket, &byte, 1) == 1) head += byte;
    return head;
  }

  static void WriteAll(int socket, const char* bytes, size_t size) {
    while (size > 0) {
      const ssize_t written = send(socket, bytes, size, MSG_NOSIGNAL);
      if (written <= 0) return;
      bytes += written;
      size -= static_cast<size_t>(written);
    }
  }

  void Relay(int client, int server) {
    pollfd ends[2] = {{.fd = client, .events = POLLIN, .revents = 0},
                      {.fd = server, .events = POLLIN, .revents = 0}};
    std::vector<char> buffer(1 << 14);
    while (!ended_) {
      if (poll(ends, 2, 50) <= 0) continue;
      for (const int from : {0, 1}) {
        if (ends[from].revents == 0) continue;
        const ssize_t size = read(ends[from].fd, buffer.data(), buffer.size());
        if (size <= 0) return;
        if (from == 0 && (sent_ += static_cast<uint64_t>(size)) >= cut_at_) {
          cut_at_ = kNever;
          return;
        }
        WriteAll(ends[1 - from].fd, buffer.data(), static_cast<size_t>(size));
      }
    }
  }

  mutable base::Mutex mutex_;
  std::vector<std::string> requests_ ABSL_GUARDED_BY(mutex_);
  std::atomic<uint64_t> sent_{0}, cut_at_{kNever};
  std::atomic<bool> ended_{false};
  std::vector<std::thread> threads_;  // of the listener's thread, until it has stopped
  std::unique_ptr<Listener> listener_;
};

}  // namespace tacet::transport::grpc

#endif  // TACET_TRANSPORT_GRPC_PROXY_FOR_TEST_H_
