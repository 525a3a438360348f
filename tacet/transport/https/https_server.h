// Network server of a federation: members' calls over HTTPS with certificates on both sides.
#ifndef TACET_TRANSPORT_HTTPS_HTTPS_SERVER_H_
#define TACET_TRANSPORT_HTTPS_HTTPS_SERVER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/certificates.h"
#include "tacet/server/mailbox.h"
#include "tacet/server/request_handler.h"
#include "tacet/transport/http/handshake_fault.h"
#include "tacet/transport/http/http_server.h"

namespace tacet::transport::https {

struct HttpsServerSpec {
  std::string listen;     // HOST:PORT; port 0: the system chooses one
  base::Bytes authority;  // the federation's certificate, DER

  // Every client must have a certificate of the authority, and sign with the key of the member that
  // it names. False where something in front of the server ends the members' TLS: then only their
  // signatures say who they are.
  bool client_certificates = true;
  // Names of the epoch's members. The certificate of anybody else is refused as revoked: it is of a
  // member that was removed.
  std::vector<std::string> members = {};
  // The federation's mailbox, to which the coordinator connects, too; must outlive the server.
  server::Mailbox* mailbox = nullptr;

  // Told of each handshake that ended before a request; must outlive the server.
  http::OnRefusedHandshake on_refused_handshake = nullptr;

  size_t threads = 0;  // 0: two a core, 4 to 16
  http::PlacesSpec places = {};
  http::ConnectionLimits limits = {};
};

// Thread-safe. Calls of the handler are made on a few threads, however many clients there are.
class HttpsServer {
 public:
  // Serves from now on. `handler` must outlive it. InvalidArgument for a spec that cannot be, and
  // as SetCertificate; Unavailable when the address cannot be listened at.
  static absl::StatusOr<std::unique_ptr<HttpsServer>> Start(const HttpsServerSpec& spec,
                                                            const crypto::TlsKey& key,
                                                            std::span<const uint8_t> certificate,
                                                            server::RequestHandler& handler);
  ~HttpsServer();  // drains without waiting
  HttpsServer(const HttpsServer&) = delete;
  HttpsServer& operator=(const HttpsServer&) = delete;

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

  http::HttpServerLoad Load() const;

 private:
  class Impl;
  explicit HttpsServer(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace tacet::transport::https

#endif  // TACET_TRANSPORT_HTTPS_HTTPS_SERVER_H_
