#include "tacet/transport/grpc/server_identity.h"

#include <utility>

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpcpp/security/server_credentials.h>

#include "tacet/base/status.h"
#include "tacet/transport/grpc/process_settings.h"

namespace tacet::transport::grpc {

// gRPC asks it before every handshake whether there is another certificate than the last.
struct IdentityFetcher {
  ServerIdentity& identity;
  uint64_t given = 0;  // version

  static grpc_ssl_certificate_config_reload_status Fetch(
      void* fetcher, grpc_ssl_server_certificate_config** config) {
    return static_cast<IdentityFetcher*>(fetcher)->Fetch(config);
  }

  grpc_ssl_certificate_config_reload_status Fetch(grpc_ssl_server_certificate_config** config) {
    const base::MutexLock lock(identity.mutex_);
    if (given == identity.version_) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    // C strings; gRPC makes copies of its own, which it does not wipe.
    crypto::SecretBytes key(identity.key_pem_.size() + 1);
    std::ranges::copy(identity.key_pem_.Expose(), key.Expose().begin());
    const grpc_ssl_pem_key_cert_pair pair{
        .private_key = reinterpret_cast<const char*>(key.Expose().data()),
        .cert_chain = identity.certificate_pem_.c_str()};
    const std::string authority = crypto::CertificatePem(identity.authority_);
    *config = grpc_ssl_server_certificate_config_create(authority.c_str(), &pair, 1);
    given = identity.version_;
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }
};

namespace {

// gRPC's C++ interface has no credentials whose certificate can be exchanged in memory; its C
// interface has.
class ExchangeableCredentials final : public ::grpc::ServerCredentials {
 public:
  ExchangeableCredentials(ServerIdentity& identity, bool client_certificates)
      : fetcher_{.identity = identity},
        credentials_(grpc_ssl_server_credentials_create_with_options(
            grpc_ssl_server_credentials_create_options_using_config_fetcher(
                client_certificates ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                                    : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE,
                IdentityFetcher::Fetch, &fetcher_))) {}
  ~ExchangeableCredentials() override { grpc_server_credentials_release(credentials_); }

  // Nothing of ours is in the metadata.
  void SetAuthMetadataProcessor(
      const std::shared_ptr<::grpc::AuthMetadataProcessor>& /*processor*/) override {}

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), credentials_);
  }

  IdentityFetcher fetcher_;
  grpc_server_credentials* credentials_;
};

}  // namespace

absl::Status ServerIdentity::Set(const crypto::TlsKey& key, std::span<const uint8_t> certificate) {
  TACET_ASSIGN_OR_RETURN(const crypto::CertificateFacts facts,
                         crypto::ReadCertificate(certificate));
  if (facts.role != crypto::CertificateRole::kServer) {
    return base::InvalidArgument("the certificate of {} is not for a server", facts.common_name);
  }
  if (facts.public_key != key.public_key()) {
    return base::InvalidArgument("the certificate of {} is for another key", facts.common_name);
  }
  TACET_RETURN_IF_ERROR(crypto::CheckIssuedBy(certificate, authority_));
  const base::MutexLock lock(mutex_);
  certificate_pem_ = crypto::CertificatePem(certificate);
  key_pem_ = key.Pem();
  ++version_;
  return absl::OkStatus();
}

std::shared_ptr<::grpc::ServerCredentials> ServerIdentity::Credentials(bool client_certificates) {
  if (!ProcessSettingsMade()) return nullptr;
  return std::make_shared<ExchangeableCredentials>(*this, client_certificates);
}

}  // namespace tacet::transport::grpc
