#include "tacet/transport/https/https_server.h"

#include <unordered_set>
#include <utility>

#include "tacet/base/host_port.h"
#include "tacet/base/status.h"
#include "tacet/transport/https/call_service.h"

namespace tacet::transport::https {
namespace {

// Strangers are bounded by their addresses only where certificates tell members from strangers: a
// balancer has one address.
http::PlacesSpec PlacesOf(const HttpsServerSpec& spec) {
  http::PlacesSpec places = spec.places;
  if (!spec.client_certificates) places.of_address = places.all;
  return places;
}

http::TlsIdentity::Admits AdmitsOf(const HttpsServerSpec& spec) {
  if (!spec.client_certificates) return nullptr;
  std::unordered_set<std::string> names(spec.members.begin(), spec.members.end());
  if (spec.mailbox != nullptr) names.emplace(protocol::kCoordinatorName);
  return [names = std::move(names)](const crypto::CertificateFacts& client) {
    return names.contains(client.common_name);
  };
}

}  // namespace

class HttpsServer::Impl {
 public:
  Impl(const HttpsServerSpec& spec, server::RequestHandler& handler)
      : identity_(spec.authority, AdmitsOf(spec), spec.on_refused_handshake),
        service_(handler, spec.mailbox) {}

  absl::Status Start(const HttpsServerSpec& spec, const crypto::TlsKey& key,
                     std::span<const uint8_t> certificate) {
    TACET_ASSIGN_OR_RETURN(const base::HostPort at, base::ParseListenAddress(spec.listen));
    TACET_RETURN_IF_ERROR(identity_.Set(key, certificate));
    TACET_ASSIGN_OR_RETURN(server_, http::HttpServer::Start({.listen = at,
                                                             .threads = spec.threads,
                                                             .places = PlacesOf(spec),
                                                             .limits = spec.limits},
                                                            &identity_, service_));
    return absl::OkStatus();
  }

  http::TlsIdentity& identity() { return identity_; }
  http::HttpServer& server() { return *server_; }

 private:
  http::TlsIdentity identity_;
  CallService service_;
  std::unique_ptr<http::HttpServer> server_;  // ends first
};

absl::StatusOr<std::unique_ptr<HttpsServer>> HttpsServer::Start(
    const HttpsServerSpec& spec, const crypto::TlsKey& key, std::span<const uint8_t> certificate,
    server::RequestHandler& handler) {
  auto impl = std::make_unique<Impl>(spec, handler);
  TACET_RETURN_IF_ERROR(impl->Start(spec, key, certificate));
  return std::unique_ptr<HttpsServer>(new HttpsServer(std::move(impl)));
}

HttpsServer::HttpsServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpsServer::~HttpsServer() = default;

uint16_t HttpsServer::port() const { return impl_->server().listen().port; }
void HttpsServer::News() { impl_->server().Look(); }
absl::Status HttpsServer::SetCertificate(const crypto::TlsKey& key,
                                         std::span<const uint8_t> certificate) {
  return impl_->identity().Set(key, certificate);
}
void HttpsServer::Drain(std::chrono::milliseconds most) { impl_->server().Drain(most); }
http::HttpServerLoad HttpsServer::Load() const { return impl_->server().Load(); }

}  // namespace tacet::transport::https
