// Connection to a federation's server: gRPC over mutual TLS 1.3.
#ifndef TACET_TRANSPORT_GRPC_GRPC_WIRE_H_
#define TACET_TRANSPORT_GRPC_GRPC_WIRE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/certificates.h"
#include "tacet/protocol/wire.h"

namespace tacet::transport::grpc {

struct GrpcWireSpec {
  std::string server;  // HOST:PORT; the server's certificate must name the host
  // HTTP proxy that connects to the server (CONNECT): [http://[USER:PASSWORD@]]HOST:PORT. Empty:
  // what grpc_proxy, https_proxy, http_proxy and no_proxy in the environment say.
  std::string proxy;
  base::Bytes authority;    // the federation's certificate, DER: nobody else's is trusted
  base::Bytes certificate;  // the member's own, DER
  // Not shared with other objects of this process that reach the same server.
  bool own_connection = false;
};

// Connects when it is first called, and again after the connection was lost, at most every 30
// seconds, with jitter. An error that the server did not make itself is Unavailable and may be
// tried again, except for DeadlineExceeded and Cancelled.
class GrpcWire final : public protocol::Wire {
 public:
  // InvalidArgument names the field that cannot be used.
  static absl::StatusOr<std::unique_ptr<GrpcWire>> Create(const GrpcWireSpec& spec,
                                                          const crypto::TlsKey& key);
  ~GrpcWire() override;  // no call may be in progress
  GrpcWire(const GrpcWire&) = delete;
  GrpcWire& operator=(const GrpcWire&) = delete;

  absl::StatusOr<base::Bytes> Call(std::span<const uint8_t> request,
                                   uint32_t most_seconds) override;
  void Stop() override;

 private:
  class Impl;
  explicit GrpcWire(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace tacet::transport::grpc

#endif  // TACET_TRANSPORT_GRPC_GRPC_WIRE_H_
