// TCP relay for tests that forgets connections, as a firewall does that loses its state: their
// bytes are swallowed, and neither end is told. New connections pass.
#ifndef TACET_TRANSPORT_HTTPS_FORGETFUL_RELAY_FOR_TEST_H_
#define TACET_TRANSPORT_HTTPS_FORGETFUL_RELAY_FOR_TEST_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tacet/transport/http/acceptor_for_test.h"
#include "tacet/transport/http/raw_client_for_test.h"

namespace tacet::transport::https {

struct RelaySpec {
  // Whether the bytes of forgotten connections are read. If not, they fill the ends' buffers.
  bool reads_forgotten = true;
  // A line that takes so many bytes from a client every 10 ms; 0: as many as come.
  size_t bytes_at_once = 0;
  // For a client that wait before that line, as in a proxy.
  size_t buffer_bytes = 0;
};

class ForgetfulRelay {
 public:
  explicit ForgetfulRelay(uint16_t server, RelaySpec spec = {}) : server_(server), spec_(spec) {}
  ~ForgetfulRelay() { ended_ = true; }

  std::string Address() const { return acceptor_.Address(); }
  // Forgets the connections that exist.
  void Forget() { forgotten_ = connections_.load(); }
  // The same once clients have sent so many bytes more.
  void ForgetAfter(uint64_t bytes) { forget_at_ = sent_ + bytes; }
  // That there ever were.
  int connections() const { return connections_; }

 private:
  static constexpr uint64_t kNever = ~uint64_t{0};

  // Both sockets stay open until the relay ends, or one end closes a connection that it knows.
  void Serve(const http::Descriptor& client) {
    const int number = connections_++;
    if (spec_.bytes_at_once > 0 && spec_.buffer_bytes == 0) {  // nor is the system a buffer
      const int bytes = 128 << 10;
      ::setsockopt(client.number(), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
    }
    const http::Descriptor server = http::ConnectTo(server_);
    std::string waiting;  // in the buffer
    bool open[2] = {true, true};
    while (!ended_ && open[0] && open[1]) {
      if (number < forgotten_) return Swallow(client.number(), server.number());
      const bool has_room = waiting.size() <= spec_.buffer_bytes;
      pollfd ends[2] = {{.fd = has_room ? client.number() : -1, .events = POLLIN, .revents = 0},
                        {.fd = server.number(), .events = POLLIN, .revents = 0}};
      ::poll(ends, 2, waiting.empty() ? 20 : 0);
      if (ends[0].revents != 0) open[0] = ReadSome(client.number(), waiting);
      if (number < forgotten_) continue;
      Send(server.number(), waiting);
      std::string answer;
      if (ends[1].revents != 0) open[1] = ReadSome(server.number(), answer);
      if (number < forgotten_) continue;
      WriteAll(client.number(), answer.data(), answer.size());
    }
  }

  static bool ReadSome(int socket, std::string& out) {
    thread_local std::vector<char> buffer(1 << 18);
    const ssize_t size = ::recv(socket, buffer.data(), buffer.size(), 0);
    if (size <= 0) return false;
    out.append(buffer.data(), static_cast<size_t>(size));
    return true;
  }

  void Send(int server, std::string& waiting) {
    if (waiting.empty()) return;
    size_t now = waiting.size();
    if (spec_.bytes_at_once > 0) {
      now = std::min(now, spec_.bytes_at_once);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    if ((sent_ += now) >= forget_at_) {
      forget_at_ = kNever;
      return Forget();
    }
    WriteAll(server, waiting.data(), now);
    waiting.erase(0, now);
  }

  static void WriteAll(int socket, const char* bytes, size_t size) {
    while (size > 0) {
      const ssize_t written = ::send(socket, bytes, size, MSG_NOSIGNAL);
      if (written <= 0) return;
      bytes += written;
      size -= static_cast<size_t>(written);
    }
  }

  void Swallow(int client, int server) {
    pollfd ends[2] = {{.fd = client, .events = POLLIN, .revents = 0},
                      {.fd = server, .events = POLLIN, .revents = 0}};
    std::string nowhere;
    while (!ended_) {
      if (!spec_.reads_forgotten || ::poll(ends, 2, 20) <= 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        continue;
      }
      for (pollfd& end : ends) {
        if (end.revents != 0 && !ReadSome(end.fd, nowhere)) end.fd = -1;  // the other is not told
      }
      nowhere.clear();
    }
  }

  const uint16_t server_;
  const RelaySpec spec_;
  std::atomic<int> connections_{0}, forgotten_{0};
  std::atomic<uint64_t> sent_{0}, forget_at_{kNever};
  std::atomic<bool> ended_{false};
  http::AcceptorForTest acceptor_{
      [this](const http::Descriptor& client) { Serve(client); }};  // ends first
};

}  // namespace tacet::transport::https

#endif  // TACET_TRANSPORT_HTTPS_FORGETFUL_RELAY_FOR_TEST_H_
