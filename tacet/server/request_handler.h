// Request handler: authenticates the sender of a request, checks its permission and encodes the
// answer.
#ifndef TACET_SERVER_REQUEST_HANDLER_H_
#define TACET_SERVER_REQUEST_HANDLER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/bytes.h"
#include "tacet/base/unix_clock.h"
#include "tacet/protocol/member_request.h"
#include "tacet/server/request_limits.h"
#include "tacet/server/round_server.h"

namespace tacet::server {

// Told of every request once it is answered or refused; thread-safe. Names no member.
class RequestObserver {
 public:
  virtual ~RequestObserver() = default;
  // `kind` is RequestKindName, or "unreadable".
  virtual void OnRequest(std::string_view kind, const absl::Status& status, size_t request_bytes,
                         size_t answer_bytes) = 0;
};

// A request that is answered when there is a notification, or when half a minute has passed.
struct Waiting {
  uint64_t member = 0;
  protocol::AwaitRequest request;
};

// Thread-safe.
class RequestHandler {
 public:
  // All must outlive it.
  RequestHandler(const agreement::SignedManifest& manifest, RoundServer& server,
                 RequestLimits& limits, RequestObserver& observer,
                 base::UnixClock clock = base::SystemUnixSeconds);

  // The answer, or for an AwaitRequest without a notification what is waited for.
  // `certificate_name` is the name in the client's certificate, or nothing where something else
  // ends its TLS connection; PermissionDenied when it is not the name of the member that signed.
  absl::StatusOr<std::variant<base::Bytes, Waiting>> Handle(
      std::span<const uint8_t> request, std::optional<std::string_view> certificate_name);

  // For what waits, on RoundServer::OnNotification: is there a notification for it; its answer,
  // with a notification or not.
  bool IsNews(const Waiting& waiting) const;
  absl::StatusOr<base::Bytes> Answer(const Waiting& waiting);

 private:
  absl::StatusOr<protocol::MemberRequest> Read(
      std::span<const uint8_t> request, std::optional<std::string_view> certificate_name) const;
  absl::StatusOr<base::Bytes> Dispatch(const protocol::MemberRequest& request,
                                       size_t request_bytes);

  const agreement::SignedManifest& manifest_;
  RoundServer& server_;
  RequestLimits& limits_;
  RequestObserver& observer_;
  base::UnixClock clock_;
};

}  // namespace tacet::server

#endif  // TACET_SERVER_REQUEST_HANDLER_H_
