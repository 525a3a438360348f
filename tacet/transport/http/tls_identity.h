// TLS identity of a server, and its rules for the certificates of clients.
#ifndef TACET_TRANSPORT_HTTP_TLS_IDENTITY_H_
#define TACET_TRANSPORT_HTTP_TLS_IDENTITY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/base/mutex.h"
#include "tacet/crypto/certificates.h"
#include "tacet/transport/http/byte_stream.h"
#include "tacet/transport/http/handshake_fault.h"

// OpenSSL's SSL_CTX.
struct ssl_ctx_st;

namespace tacet::transport::http {

// TLS 1.3 and nothing older, HTTP/1.1 as its application, full handshakes only: no tickets, no
// resumption, no early data. Thread-safe.
class TlsIdentity {
 public:
  // Whether the client with this certificate, which the authority signed and which is valid now,
  // may connect. Called on the threads of handshakes.
  using Admits = std::function<bool(const crypto::CertificateFacts& client)>;

  // The functions that are called in handshakes.
  struct Rules {
    Admits admits;
    OnRefusedHandshake on_refused;
  };

  // `authority` signs all certificates. Without `admits` clients are asked for none.
  TlsIdentity(base::Bytes authority, Admits admits, OnRefusedHandshake on_refused = nullptr);
  ~TlsIdentity();
  TlsIdentity(const TlsIdentity&) = delete;
  TlsIdentity& operator=(const TlsIdentity&) = delete;

  // For connections from now on. InvalidArgument unless the key belongs to the certificate and the
  // certificate is for a server; PermissionDenied unless the authority signed it.
  absl::Status Set(const crypto::TlsKey& key, std::span<const uint8_t> certificate);

  // The server's end of a TLS connection over `socket`, which this must outlive. After Set.
  std::unique_ptr<ByteStream> NewStream(int socket) const;

 private:
  absl::StatusOr<std::shared_ptr<ssl_ctx_st>> NewContext(
      const crypto::TlsKey& key, std::span<const uint8_t> certificate) const;

  const base::Bytes authority_;
  const Rules rules_;
  mutable base::Mutex mutex_;
  std::shared_ptr<ssl_ctx_st> context_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tacet::transport::http

#endif  // TACET_TRANSPORT_HTTP_TLS_IDENTITY_H_
