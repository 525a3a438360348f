// Connection to a federation's server: HTTPS with certificates on both sides.
#ifndef TACET_TRANSPORT_HTTPS_HTTPS_WIRE_H_
#define TACET_TRANSPORT_HTTPS_HTTPS_WIRE_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/certificates.h"
#include "tacet/protocol/wire.h"

namespace tacet::transport::https {

struct HttpsWireSpec {
  std::string server;  // HOST:PORT; the server's certificate must name the host
  // HTTP proxy that connects to the server (CONNECT): [http://[USER:PASSWORD@]]HOST:PORT, user and
  // password percent-encoded. Empty: what https_proxy, all_proxy and no_proxy in the environment
  // say.
  std::string proxy;
  // SubjectPublicKeyInfo of the servers that may answer, DER; none: any of the authority's.
  std::vector<base::Bytes> server_keys = {};
  base::Bytes authority;    // the federation's certificate, DER: nobody else's is trusted
  base::Bytes certificate;  // the member's own, DER
  // After which a connection without a byte is given up, DeadlineExceeded. It is longer than a
  // server's long poll (ConnectionLimits).
  std::chrono::milliseconds most_silence = std::chrono::seconds(20);
};

// Connects with the first call, and again after the connection was lost. Calls at one time have
// connections of their own. A call has a second more than `most_seconds` for each 4 KiB of the
// request and of the answer. After a silence the idle connections are given up, too: what forgets
// one forgets others. As long as no call is answered, each silence may last twice as long as the
// one before, up to eight times the first: a proxy may take a part at once and send it over a slow
// line. Errors that the server did not make itself are those of connection_failure.h.
class HttpsWire final : public protocol::Wire {
 public:
  // InvalidArgument names the field that cannot be used.
  static absl::StatusOr<std::unique_ptr<HttpsWire>> Create(const HttpsWireSpec& spec,
                                                           const crypto::TlsKey& key);
  ~HttpsWire() override;  // no call may be in progress
  HttpsWire(const HttpsWire&) = delete;
  HttpsWire& operator=(const HttpsWire&) = delete;

  absl::StatusOr<base::Bytes> Call(std::span<const uint8_t> request,
                                   uint32_t most_seconds) override;
  absl::StatusOr<base::Bytes> CallWithContent(std::span<const uint8_t> head,
                                              std::span<const uint8_t> content,
                                              uint32_t most_seconds) override;
  void Stop() override;

 private:
  class Impl;
  explicit HttpsWire(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace tacet::transport::https

#endif  // TACET_TRANSPORT_HTTPS_HTTPS_WIRE_H_
