// Service of members' calls: connects the HTTP server with the request handler.
#ifndef TACET_TRANSPORT_HTTPS_CALL_SERVICE_H_
#define TACET_TRANSPORT_HTTPS_CALL_SERVICE_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/server/mailbox.h"
#include "tacet/server/request_handler.h"
#include "tacet/transport/http/exchange.h"

namespace tacet::transport::https {

// Responses in the form of docs/formats/transport.md.
http::Response CallResponse(server::RequestAnswer answer);
http::Response CallResponse(absl::StatusOr<base::Bytes> answer);
http::Response ErrorResponse(const absl::Status& status);

// Thread-safe.
class CallService final : public http::Service {
 public:
  // Both must outlive it; null: a server without a mailbox.
  CallService(server::RequestHandler& handler, server::Mailbox* mailbox)
      : handler_(handler), mailbox_(mailbox) {}

  std::variant<http::Response, std::unique_ptr<http::Exchange>> Begin(
      const http::RequestHead& head, const http::Peer& peer) override;

 private:
  size_t MaxRequestBytes(const std::optional<std::string>& certificate_name) const;

  server::RequestHandler& handler_;
  server::Mailbox* mailbox_;
};

}  // namespace tacet::transport::https

#endif  // TACET_TRANSPORT_HTTPS_CALL_SERVICE_H_
