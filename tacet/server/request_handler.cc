#include "tacet/server/request_handler.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "tacet/base/status.h"

namespace tacet::server {
namespace {

// Answers a request that has no content.
struct Dispatcher {
  RoundServer& server;
  uint64_t member;

  using Result = absl::StatusOr<RequestAnswer>;
  Result operator()(const protocol::AwaitRequest& body) const {
    TACET_ASSIGN_OR_RETURN(const protocol::Announcement announcement,
                           server.AnnouncementFor(member, body.listed_from, body.unmasking));
    return RequestAnswer{.head = protocol::WriteAnnouncement(announcement)};
  }
  Result operator()(const protocol::PutPartRequest&) const {
    return absl::InternalError("a part has content");  // RequestHandler::BeginContent
  }
  Result operator()(const protocol::FetchPartRequest& body) const {
    TACET_ASSIGN_OR_RETURN(ObjectPart part, server.OpenPart(member, body));
    base::Bytes head = protocol::WriteFetchedPartHead(part.object->size(), part.bytes);
    return RequestAnswer{.head = std::move(head), .part = std::move(part)};
  }
  Result operator()(const protocol::FetchPacketsRequest& body) const {
    TACET_ASSIGN_OR_RETURN(const std::vector<base::Bytes> packets,
                           server.Listed(PacketsForSeat{member, body}));
    return RequestAnswer{.head = protocol::WriteBlobs(packets)};
  }
  template <typename Body>
  Result operator()(const Body& body) const {
    if constexpr (std::is_constructible_v<Statement, const Body&>) {
      TACET_RETURN_IF_ERROR(server.Take(member, body));
      return RequestAnswer();
    } else {
      TACET_ASSIGN_OR_RETURN(const std::vector<base::Bytes> listed, server.Listed(body));
      return RequestAnswer{.head = protocol::WriteBlobs(listed)};
    }
  }
};

// Seconds, bounded by what a clock can be wrong by.
int64_t Ahead(uint64_t sent, uint64_t now) {
  constexpr uint64_t kMost = uint64_t{1} << 40;
  const auto difference =
      static_cast<int64_t>(std::min(kMost, std::max(sent, now) - std::min(sent, now)));
  return sent < now ? -difference : difference;
}

absl::StatusOr<base::Bytes> Whole(RequestAnswer answer) {
  base::Bytes bytes = std::move(answer.head);
  const size_t head = bytes.size();
  bytes.resize(head + answer.part.bytes);
  if (answer.part.bytes > 0) {
    TACET_RETURN_IF_ERROR(
        ToldToMember(answer.part.object->Read(answer.part.offset, std::span(bytes).subspan(head))));
  }
  return bytes;
}

}  // namespace

absl::Status ToldToMember(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
      return {status.code(), "the server cannot do this now: send the same again after a pause"};
    default:
      return status;
  }
}

absl::Status IncomingRequest::Write(std::span<const uint8_t> bytes) {
  hasher_.Update(bytes);
  const absl::Status written = part_->Write(bytes);
  if (written.ok()) return written;
  return handler_.Account(head_.request, bytes_, written).status();
}

absl::StatusOr<RequestAnswer> IncomingRequest::Finish() {
  return handler_.Account(head_.request, bytes_, Accept());
}

absl::StatusOr<RequestAnswer> IncomingRequest::Accept() {
  TACET_RETURN_IF_ERROR(protocol::CheckContent(head_, hasher_.Finish()));
  TACET_ASSIGN_OR_RETURN(const uint64_t arrived, part_->Finish(head_.content_digest));
  return RequestAnswer{.head = protocol::WriteArrived(arrived)};
}

RequestHandler::RequestHandler(const agreement::SignedManifest& manifest, RoundServer& server,
                               RequestLimits& limits, RequestObserver& observer,
                               base::UnixClock clock)
    : manifest_(manifest),
      server_(server),
      limits_(limits),
      observer_(observer),
      clock_(std::move(clock)) {
  for (uint64_t i = 0; i < manifest.members().size(); ++i) {
    number_.emplace(manifest.members()[i].name, i);
  }
}

size_t RequestHandler::MaxRequestBytes(std::optional<std::string_view> certificate_name) const {
  if (!certificate_name.has_value()) return protocol::kMaxRequestBytes;
  const auto found = number_.find(*certificate_name);
  if (found == number_.end()) return protocol::kMaxHeadBytes;
  return protocol::kMaxHeadBytes + server_.LargestPart(found->second);
}

absl::StatusOr<protocol::RequestHead> RequestHandler::Read(
    std::span<const uint8_t> first, size_t total,
    std::optional<std::string_view> certificate_name) const {
  TACET_ASSIGN_OR_RETURN(protocol::RequestHead head, protocol::ReadSignedHead(first, manifest_));
  const uint64_t now = clock_(), sent = head.request.time;
  if (const absl::Status time = protocol::CheckRequestTime(sent, now); !time.ok()) {
    if (!protocol::IsCheckRefusal(time)) {
      server_.NotePresence(head.request.member, RefusedFor::kOtherClock, Ahead(sent, now));
    }
    return time;
  }
  TACET_RETURN_IF_ERROR(protocol::CheckContentLength(head, total - head.head_bytes));
  const std::string& signer = manifest_.members()[head.request.member].name;
  if (certificate_name.has_value() && *certificate_name != signer) {
    return base::PermissionDenied("request: signed by {}, sent under the certificate of {}", signer,
                                  *certificate_name);
  }
  TACET_RETURN_IF_ERROR(limits_.Admit(head.request.member, total));
  server_.NotePresence(head.request.member);
  return head;
}

absl::StatusOr<BegunRequest> RequestHandler::Begin(
    std::span<const uint8_t> first, size_t total,
    std::optional<std::string_view> certificate_name) {
  absl::StatusOr<protocol::RequestHead> head = Read(first, total, certificate_name);
  if (!head.ok()) {
    observer_.OnRequest("unreadable", head.status(), total, 0);
    return head.status();
  }
  BegunRequest begun{.head = *std::move(head), .next = {}};
  const protocol::MemberRequest& request = begun.head.request;
  if (std::holds_alternative<protocol::PutPartRequest>(request.body)) {
    TACET_ASSIGN_OR_RETURN(begun.next, BeginContent(begun.head, total));
    return begun;
  }
  if (const auto* await = std::get_if<protocol::AwaitRequest>(&request.body);
      await != nullptr && !server_.IsNews(*await)) {
    begun.next = Waiting{.member = request.member, .request = *await};
    return begun;
  }
  TACET_ASSIGN_OR_RETURN(begun.next, Account(request, total, Dispatch(request)));
  return begun;
}

absl::StatusOr<std::unique_ptr<IncomingRequest>> RequestHandler::BeginContent(
    protocol::RequestHead head, size_t total) {
  std::unique_ptr<IncomingRequest> incoming(new IncomingRequest(*this, std::move(head), total));
  const protocol::MemberRequest& request = incoming->head_.request;
  absl::StatusOr<std::unique_ptr<IncomingPart>> part =
      server_.BeginPart(request.member, std::get<protocol::PutPartRequest>(request.body),
                        incoming->head_.content_bytes);
  if (!part.ok()) return Account(request, total, part.status()).status();
  incoming->part_ = *std::move(part);
  return incoming;
}

absl::StatusOr<HandledRequest> RequestHandler::Handle(
    std::span<const uint8_t> request, std::optional<std::string_view> certificate_name) {
  TACET_ASSIGN_OR_RETURN(BegunRequest begun, Begin(request, request.size(), certificate_name));
  HandledRequest handled{.head = std::move(begun.head), .next = {}};
  if (const auto* waiting = std::get_if<Waiting>(&begun.next)) {
    handled.next = *waiting;
    return handled;
  }
  if (auto* incoming = std::get_if<std::unique_ptr<IncomingRequest>>(&begun.next)) {
    TACET_RETURN_IF_ERROR((*incoming)->Write(request.subspan(handled.head.head_bytes)));
    TACET_ASSIGN_OR_RETURN(begun.next, (*incoming)->Finish());
  }
  TACET_ASSIGN_OR_RETURN(handled.next, Whole(std::get<RequestAnswer>(std::move(begun.next))));
  return handled;
}

absl::StatusOr<RequestAnswer> RequestHandler::Dispatch(const protocol::MemberRequest& request) {
  return std::visit(Dispatcher{server_, request.member}, request.body);
}

absl::StatusOr<RequestAnswer> RequestHandler::Account(const protocol::MemberRequest& request,
                                                      size_t request_bytes,
                                                      absl::StatusOr<RequestAnswer> answer) {
  const size_t answer_bytes = answer.ok() ? answer->size() : 0;
  observer_.OnRequest(protocol::RequestKindName(request.body.index()), answer.status(),
                      request_bytes, answer_bytes);
  if (!answer.ok()) return ToldToMember(answer.status());
  limits_.Charge(request.member, answer_bytes);
  return answer;
}

absl::StatusOr<base::Bytes> RequestHandler::AnswerUnasked(uint64_t member,
                                                          const protocol::RequestBody& body) {
  if (std::holds_alternative<protocol::PutPartRequest>(body) ||
      std::visit(
          [](const auto& kind) { return std::is_constructible_v<Statement, decltype(kind)>; },
          body)) {
    return base::InvalidArgument("{}: nobody asked for it",
                                 protocol::RequestKindName(body.index()));
  }
  const protocol::MemberRequest request{.member = member, .body = body};
  absl::StatusOr<RequestAnswer> answer = Dispatch(request);
  TACET_RETURN_IF_ERROR(ToldToMember(answer.status()));
  limits_.Charge(member, answer->size());
  return Whole(*std::move(answer));
}

bool RequestHandler::IsNews(const Waiting& waiting) const {
  return server_.IsNews(waiting.request);
}

absl::StatusOr<base::Bytes> RequestHandler::Answer(const Waiting& waiting) {
  server_.NotePresence(waiting.member);
  const protocol::MemberRequest request{.member = waiting.member, .body = waiting.request};
  TACET_ASSIGN_OR_RETURN(RequestAnswer answer, Account(request, 0, Dispatch(request)));
  return std::move(answer.head);
}

}  // namespace tacet::server
