#include "tacet/transport/https/call_service.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/transport/https/call_format.h"

namespace tacet::transport::https {
namespace {

using http::Exchange;
using http::Response;

// Longest text of an error.
constexpr size_t kMaxErrorBytes = 4096;

Response NewResponse(int status) {
  Response response{.status = status};
  response.headers.emplace_back(kWireHeader, std::to_string(kWireVersion));
  return response;
}

// The piece of an object behind the head of an answer.
class PartSource final : public http::BodySource {
 public:
  explicit PartSource(server::ObjectPart part) : part_(std::move(part)) {}
  uint64_t size() const override { return part_.bytes; }
  absl::Status Read(std::span<uint8_t> out) override {
    TACET_RETURN_IF_ERROR(part_.object->Read(part_.offset, out));
    part_.offset += out.size();
    return absl::OkStatus();
  }

 private:
  server::ObjectPart part_;
};

// One call, of a member's protocol or about mail.
class CallExchange final : public Exchange {
 public:
  CallExchange(server::RequestHandler& handler, server::Mailbox* mailbox, size_t total,
               std::optional<std::string> certificate_name)
      : handler_(handler),
        mailbox_(mailbox),
        total_(total),
        certificate_name_(std::move(certificate_name)) {}

  std::optional<Response> Receive(std::span<const uint8_t> bytes) override {
    if (head_bytes_.has_value()) return Write(bytes);
    const size_t wanted = std::min(total_, protocol::kMaxHeadBytes);
    const auto first = bytes.first(std::min(bytes.size(), wanted - first_.size()));
    first_.insert(first_.end(), first.begin(), first.end());
    if (first_.size() < wanted) return std::nullopt;
    if (std::optional<Response> refusal = Begin()) return refusal;
    // The content that came with the head, then that behind it.
    const base::Bytes received = std::exchange(first_, {});
    if (auto refusal = Write(std::span(received).subspan(*head_bytes_))) return refusal;
    return Write(bytes.subspan(first.size()));
  }

  std::optional<Response> Finish() override {
    if (!head_bytes_.has_value()) {  // a request without a byte
      if (std::optional<Response> refusal = Begin()) return refusal;
    }
    if (auto* const answer = std::get_if<server::RequestAnswer>(&next_)) {
      return CallResponse(std::move(*answer));
    }
    if (auto* const request = std::get_if<std::unique_ptr<server::IncomingRequest>>(&next_)) {
      return Finished((*request)->Finish());
    }
    if (auto* const mail = std::get_if<std::unique_ptr<server::IncomingMail>>(&next_)) {
      return Finished((*mail)->Finish());
    }
    return std::nullopt;
  }

  std::optional<Response> Look() override {
    if (!handler_.IsNews(waiting())) return std::nullopt;
    return GiveUp();
  }
  Response GiveUp() override { return CallResponse(handler_.Answer(waiting())); }

 private:
  std::optional<Response> Begin() {
    if (mailbox_ != nullptr && protocol::IsMailRequest(first_)) {
      absl::StatusOr<server::BegunMail> begun = mailbox_->Begin(first_, total_, certificate_name_);
      if (!begun.ok()) return ErrorResponse(begun.status());
      head_bytes_ = begun->head_bytes;
      std::visit([this](auto& next) { next_ = std::move(next); }, begun->next);
      return std::nullopt;
    }
    absl::StatusOr<server::BegunRequest> begun = handler_.Begin(first_, total_, certificate_name_);
    if (!begun.ok()) return ErrorResponse(begun.status());
    head_bytes_ = begun->head.head_bytes;
    std::visit([this](auto& next) { next_ = std::move(next); }, begun->next);
    return std::nullopt;
  }

  // Content; only a request that is incoming has any.
  std::optional<Response> Write(std::span<const uint8_t> bytes) {
    if (bytes.empty()) return std::nullopt;
    const auto* const mail = std::get_if<std::unique_ptr<server::IncomingMail>>(&next_);
    const absl::Status written =
        mail != nullptr ? (*mail)->Write(bytes)
                        : std::get<std::unique_ptr<server::IncomingRequest>>(next_)->Write(bytes);
    return written.ok() ? std::nullopt : std::optional(ErrorResponse(written));
  }

  static Response Finished(absl::StatusOr<server::RequestAnswer> answer) {
    return answer.ok() ? CallResponse(*std::move(answer)) : ErrorResponse(answer.status());
  }
  const server::Waiting& waiting() const { return std::get<server::Waiting>(next_); }

  server::RequestHandler& handler_;
  server::Mailbox* mailbox_;
  const size_t total_;
  const std::optional<std::string> certificate_name_;
  base::Bytes first_;                 // of the request, until it has begun
  std::optional<size_t> head_bytes_;  // once it has begun
  std::variant<server::RequestAnswer, server::Waiting, std::unique_ptr<server::IncomingRequest>,
               std::unique_ptr<server::IncomingMail>>
      next_;
};

}  // namespace

Response ErrorResponse(const absl::Status& status) {
  Response response = NewResponse(HttpStatusOf(status.code()));
  response.headers.emplace_back(kStatusHeader, absl::StatusCodeToString(status.code()));
  const std::string text = base::Message(status).substr(0, kMaxErrorBytes);
  response.body.assign(text.begin(), text.end());
  return response;
}

Response CallResponse(server::RequestAnswer answer) {
  Response response = NewResponse(200);
  response.content_type = kCallType;
  response.body = std::move(answer.head);
  if (answer.part.bytes > 0) {
    response.more = std::make_unique<PartSource>(std::move(answer.part));
  }
  return response;
}

Response CallResponse(absl::StatusOr<base::Bytes> answer) {
  if (!answer.ok()) return ErrorResponse(answer.status());
  return CallResponse(server::RequestAnswer{.head = *std::move(answer)});
}

std::variant<Response, std::unique_ptr<Exchange>> CallService::Begin(const http::RequestHead& head,
                                                                     const http::Peer& peer) {
  const std::optional<uint32_t> version = VersionIn(head.target);
  if (!version.has_value()) {
    return ErrorResponse(
        base::NotFound("this is a server of tacet: members' calls go to {}", CallPath()));
  }
  if (*version != kWireVersion) {
    return ErrorResponse(base::FailedPrecondition(
        "the server speaks version {} of tacet's protocol, the client version {}", kWireVersion,
        *version));
  }
  if (head.method != "POST") {
    Response response = ErrorResponse(base::InvalidArgument("a call is a POST"));
    response.status = 405;
    response.headers.emplace_back("Allow", "POST");
    return response;
  }
  const size_t most = MaxRequestBytes(peer.certificate_name);
  if (head.content_length > most) {
    Response response = ErrorResponse(base::FailedPrecondition(
        "a request of {} bytes: no more than {} are expected from this member now",
        head.content_length, most));
    response.status = 413;
    return response;
  }
  return std::make_unique<CallExchange>(
      handler_, mailbox_, static_cast<size_t>(head.content_length), peer.certificate_name);
}

size_t CallService::MaxRequestBytes(const std::optional<std::string>& certificate_name) const {
  if (mailbox_ != nullptr && certificate_name == protocol::kCoordinatorName) {
    return protocol::kMaxRequestBytes;
  }
  return handler_.MaxRequestBytes(certificate_name);
}

}  // namespace tacet::transport::https
