// Request handler: authenticates the sender of a request, checks its permission and encodes the
// answer.
#ifndef TACET_SERVER_REQUEST_HANDLER_H_
#define TACET_SERVER_REQUEST_HANDLER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/bytes.h"
#include "tacet/base/unix_clock.h"
#include "tacet/crypto/hash.h"
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

// A request that is answered when there is a notification, or when it has waited for long enough.
struct Waiting {
  uint64_t member = 0;
  protocol::AwaitRequest request;
};

// Bytes of an answer: `head`, then a part of an object, which is read when it is sent.
struct RequestAnswer {
  base::Bytes head;
  ObjectPart part = {};

  size_t size() const { return head.size() + part.bytes; }
};

// An error as a member is told of it. The texts of a store name places on the server's machine, and
// what they say is for its operators.
absl::Status ToldToMember(const absl::Status& status);

class RequestHandler;

// A request whose content is on its way in. Not thread-safe. If it goes before Finish, the request
// had no effect.
class IncomingRequest {
 public:
  size_t content_bytes() const { return head_.content_bytes; }
  // The next bytes of the content, content_bytes() in all.
  absl::Status Write(std::span<const uint8_t> bytes);
  // After the last one; call it once. DataLoss unless they are those that the sender signed.
  absl::StatusOr<RequestAnswer> Finish();

 private:
  friend class RequestHandler;
  IncomingRequest(RequestHandler& handler, protocol::RequestHead head, size_t bytes)
      : handler_(handler), head_(std::move(head)), bytes_(bytes) {}
  absl::StatusOr<RequestAnswer> Accept();

  RequestHandler& handler_;
  protocol::RequestHead head_;
  size_t bytes_;  // of the request
  crypto::Sha256Hasher hasher_;
  std::unique_ptr<IncomingPart> part_;
};

// The state of a request when its head was read.
struct BegunRequest {
  protocol::RequestHead head;
  std::variant<RequestAnswer, Waiting, std::unique_ptr<IncomingRequest>> next;
};

// The result of a whole request.
struct HandledRequest {
  protocol::RequestHead head;
  std::variant<base::Bytes, Waiting> next;  // its answer
};

// Thread-safe. The texts of its errors are for members: they name no place on the server's machine.
// The observer gets those of the store.
class RequestHandler {
 public:
  // All must outlive it, and it what it makes.
  RequestHandler(const agreement::SignedManifest& manifest, RoundServer& server,
                 RequestLimits& limits, RequestObserver& observer,
                 base::UnixClock clock = base::SystemUnixSeconds);

  // The longest request that is expected now under the certificate of this name, or of anybody.
  size_t MaxRequestBytes(std::optional<std::string_view> certificate_name) const;

  // Begins a request of `total` bytes, of which `first` has all, or at least kMaxHeadBytes. The
  // answer, for an AwaitRequest without a notification what is waited for, for a request with
  // content what takes it. Everything that can be checked without the content is.
  // `certificate_name` is the name in the client's certificate, or nothing where something else
  // ends its TLS connection; PermissionDenied when it is not the name of the member that signed.
  absl::StatusOr<BegunRequest> Begin(std::span<const uint8_t> first, size_t total,
                                     std::optional<std::string_view> certificate_name);

  // The same for a request that is in memory whole, and with an answer that is.
  absl::StatusOr<HandledRequest> Handle(std::span<const uint8_t> request,
                                        std::optional<std::string_view> certificate_name);

  // For what waits, on RoundServer::OnNotification: is there a notification for it; its answer,
  // with a notification or not.
  bool IsNews(const Waiting& waiting) const;
  absl::StatusOr<base::Bytes> Answer(const Waiting& waiting);
  // The answer to this member if it asked `body`, which has no content and changes
  // nothing: an await or a fetch. InvalidArgument for another one.
  absl::StatusOr<base::Bytes> AnswerUnasked(uint64_t member, const protocol::RequestBody& body);

 private:
  friend class IncomingRequest;
  absl::StatusOr<protocol::RequestHead> Read(
      std::span<const uint8_t> first, size_t total,
      std::optional<std::string_view> certificate_name) const;
  absl::StatusOr<std::unique_ptr<IncomingRequest>> BeginContent(protocol::RequestHead head,
                                                                size_t total);
  absl::StatusOr<RequestAnswer> Dispatch(const protocol::MemberRequest& request);
  // Tells the observer, charges the member for the answer, and returns it. An error has the text
  // that the member is told.
  absl::StatusOr<RequestAnswer> Account(const protocol::MemberRequest& request,
                                        size_t request_bytes, absl::StatusOr<RequestAnswer> answer);

  const agreement::SignedManifest& manifest_;
  RoundServer& server_;
  RequestLimits& limits_;
  RequestObserver& observer_;
  base::UnixClock clock_;
  std::unordered_map<std::string_view, uint64_t> number_;  // of members, by name
};

}  // namespace tacet::server

#endif  // TACET_SERVER_REQUEST_HANDLER_H_
