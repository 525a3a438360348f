// Network server of a federation: gRPC over mutual TLS 1.3, on one port.
#ifndef TACET_TRANSPORT_GRPC_GRPC_SERVER_H_
#define TACET_TRANSPORT_GRPC_GRPC_SERVER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/certificates.h"
#include "tacet/server/request_handler.h"

namespace tacet::transport::grpc {

struct GrpcServerSpec {
  std::string listen;     // HOST:PORT; port 0: the system chooses one
  base::Bytes authority;  // the federation's certificate, DER

  // Every client must have a certificate of the authority, and sign with the key of the member that
  // it names. False where something in front of the server ends the members' TLS: then only their
  // signatures say who they are.
  bool client_certificates = true;

  // Memory is bounded by the calls that are read, handled or answered at one time, each with at
  // most a request and an answer (about 1 MiB); those behind them wait unread, where flow control
  // keeps all but their first kilobytes with the sender.
  size_t calls = 32;
  // Bytes of memory that gRPC may use. Without a bound its connections would keep buffers of
  // megabytes; near it they make do with kilobytes, and beyond it calls are cut off: to be tried
  // again.
  size_t memory = size_t{128} << 20;
  size_t waiting_calls = 8192;  // further ones are refused: Unavailable
  // Of one certificate, calls of all kinds at once; further ones are refused.
  size_t calls_of_client = 16;
  int connections = 2048;  // further ones are closed

  // Time for which a request waits for a notification.
  std::chrono::milliseconds patience = std::chrono::seconds(25);
  // Longest time for a call that others wait for to come in, or for its answer to go out.
  std::chrono::milliseconds slowness = std::chrono::seconds(60);
};

// Number of calls in progress.
struct GrpcServerLoad {
  size_t working = 0;  // being read, handled or answered
  size_t waiting = 0;  // not read yet
  size_t parked = 0;   // requests that wait for a notification
};

// Thread-safe. Calls of the handler are made on a few threads, however many clients there are.
class GrpcServer {
 public:
  // Serves from now on. `handler` must outlive it. InvalidArgument for a spec that cannot be, and
  // as SetCertificate; Unavailable when the address cannot be listened at.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(const GrpcServerSpec& spec,
                                                           const crypto::TlsKey& key,
                                                           std::span<const uint8_t> certificate,
                                                           server::RequestHandler& handler);
  ~GrpcServer();  // drains without waiting
  GrpcServer(const GrpcServer&) = delete;
  GrpcServer& operator=(const GrpcServer&) = delete;

  uint16_t port() const;

  // For RoundServer::OnNotification, which must not call it any more when this object goes: what
  // waits for a notification looks whether there is one. Returns at once.
  void News();

  // For connections from now on. InvalidArgument unless key and certificate belong together and
  // are for a server; PermissionDenied unless the authority signed the certificate.
  absl::Status SetCertificate(const crypto::TlsKey& key, std::span<const uint8_t> certificate);

  // Accepts nothing more, answers what waits for a notification, and gives the calls in progress
  // `most` to end before they are cut off. Returns when there are none.
  void Drain(std::chrono::milliseconds most);

  GrpcServerLoad Load() const;

 private:
  class Impl;
  explicit GrpcServer(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace tacet::transport::grpc

#endif  // TACET_TRANSPORT_GRPC_GRPC_SERVER_H_
