// TLS identity of a server and its access rules: credentials for gRPC that can be exchanged while
// it runs.
#ifndef TACET_TRANSPORT_GRPC_SERVER_IDENTITY_H_
#define TACET_TRANSPORT_GRPC_SERVER_IDENTITY_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"

#include "tacet/base/bytes.h"
#include "tacet/base/mutex.h"
#include "tacet/crypto/certificates.h"
#include "tacet/crypto/secret.h"

namespace grpc {
class ServerCredentials;
}

namespace tacet::transport::grpc {

// Thread-safe; must outlive every server that uses its credentials.
class ServerIdentity {
 public:
  explicit ServerIdentity(base::Bytes authority) : authority_(std::move(authority)) {}

  // For connections from now on. InvalidArgument unless the key belongs to the certificate and the
  // certificate is for a server; PermissionDenied unless the authority signed it.
  absl::Status Set(const crypto::TlsKey& key, std::span<const uint8_t> certificate);

  // After Set. With `client_certificates` only those complete a handshake who hold a client's
  // certificate of the authority that is valid now; otherwise none is asked for.
  std::shared_ptr<::grpc::ServerCredentials> Credentials(bool client_certificates);

 private:
  friend struct IdentityFetcher;

  base::Bytes authority_;
  base::Mutex mutex_;
  std::string certificate_pem_ ABSL_GUARDED_BY(mutex_);
  crypto::SecretBytes key_pem_ ABSL_GUARDED_BY(mutex_);
  uint64_t version_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace tacet::transport::grpc

#endif  // TACET_TRANSPORT_GRPC_SERVER_IDENTITY_H_
