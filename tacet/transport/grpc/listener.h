// Listening sockets of the server.
#ifndef TACET_TRANSPORT_GRPC_LISTENER_H_
#define TACET_TRANSPORT_GRPC_LISTENER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/base/host_port.h"

namespace tacet::transport::grpc {

// A file descriptor, closed with its object.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : number_(other.Release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;

  int number() const { return number_; }
  int Release();

 private:
  int number_;
};

// Accepts in a thread of its own. gRPC could listen itself, but its version 1.51 gives up listening
// for good when it is out of file descriptors, which anybody who can connect could bring about.
// Two servers on one port are an error.
class Listener {
 public:
  // Descriptors that connections never get: databases and spools need some.
  static constexpr int kReservedDescriptors = 128;
  // Owns `connection`; `listener` is the socket that it came in through.
  using Take = std::function<void(int listener, Descriptor connection)>;

  // Port 0: the system chooses one. Raises the process's limit of descriptors as far as it may;
  // further connections than about `most_connections`, or than the limit has room for, are closed
  // at once. Unavailable when the address cannot be listened at.
  static absl::StatusOr<std::unique_ptr<Listener>> Open(const base::HostPort& at,
                                                        int most_connections);
  ~Listener() { Stop(); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  uint16_t port() const { return port_; }
  void Start(Take take);
  // Nothing is taken any more once it returns; the sockets are closed.
  void Stop();

 private:
  Listener() = default;
  void Run(const Take& take);
  void AcceptFrom(int socket, const Take& take);
  void Rest() const;  // a moment, unless it stops

  std::vector<Descriptor> sockets_;
  Descriptor stop_;  // an eventfd
  int most_descriptors_ = 0;
  uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace tacet::transport::grpc

#endif  // TACET_TRANSPORT_GRPC_LISTENER_H_
