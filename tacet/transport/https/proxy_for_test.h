// HTTP proxy for tests that knows only CONNECT, may ask for an account, and can cut a connection.
#ifndef TACET_TRANSPORT_HTTPS_PROXY_FOR_TEST_H_
#define TACET_TRANSPORT_HTTPS_PROXY_FOR_TEST_H_

#include <atomic>
#include <charconv>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tacet/base/mutex.h"
#include "tacet/transport/http/acceptor_for_test.h"
#include "tacet/transport/http/raw_client_for_test.h"

namespace tacet::transport::https {

class ProxyForTest {
 public:
  // With `credentials` ("Basic …") it serves nobody without them; with `refusal` ("403 Forbidden")
  // nobody.
  explicit ProxyForTest(std::string credentials = "", std::string refusal = "")
      : credentials_(std::move(credentials)), refusal_(std::move(refusal)) {}
  ~ProxyForTest() { ended_ = true; }

  std::string Address() const { return acceptor_.Address(); }
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

  void Serve(http::Descriptor client) {
    while (true) {
      const std::string request = ReadHead(client.number());
      if (request.empty()) return;
      {
        const base::MutexLock lock(mutex_);
        requests_.push_back(request);
      }
      if (!refusal_.empty()) return Say(client.number(), refusal_ + "\r\nContent-Length: 0");
      if (request.find(credentials_) != std::string::npos) return Connect(client.number(), request);
      Say(client.number(),
          "407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"test\"\r\n"
          "Content-Length: 0");
    }
  }

  void Connect(int client, const std::string& request) {
    const size_t port_at = request.find(':');
    uint16_t port = 0;
    if (!request.starts_with("CONNECT ") || port_at == std::string::npos) return;
    std::from_chars(request.data() + port_at + 1, request.data() + request.size(), port);
    const http::Descriptor server = http::ConnectTo(port);
    Say(client, server.ok() ? "200 Connection established" : "502 Bad Gateway");
    if (server.ok()) Relay(client, server.number());
  }

  static std::string ReadHead(int socket) {
    std::string head;
    char byte = 0;
    while (!head.ends_with("\r\n\r\n")) {
      if (read(socket, &byte, 1) != 1) return "";
      head += byte;
    }
    return head;
  }

  static void Say(int socket, const std::string& status) {
    const std::string text = "HTTP/1.1 " + status + "\r\n\r\n";
    WriteAll(socket, text.data(), text.size());
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

  const std::string credentials_, refusal_;
  mutable base::Mutex mutex_;
  std::vector<std::string> requests_ ABSL_GUARDED_BY(mutex_);
  std::atomic<uint64_t> sent_{0}, cut_at_{kNever};
  std::atomic<bool> ended_{false};
  http::AcceptorForTest acceptor_{
      [this](http::Descriptor client) { Serve(std::move(client)); }};  // ends first
};

}  // namespace tacet::transport::https

#endif  // TACET_TRANSPORT_HTTPS_PROXY_FOR_TEST_H_
