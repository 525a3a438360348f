// A mailbox without a network, for tests of what passes through it.
#ifndef TACET_SERVER_MAILBOX_WIRE_FOR_TEST_H_
#define TACET_SERVER_MAILBOX_WIRE_FOR_TEST_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/protocol/wire.h"
#include "tacet/server/mailbox.h"

namespace tacet::server::testing {

// The mailbox's answer to a whole request.
inline absl::StatusOr<base::Bytes> AnswerOf(Mailbox& mailbox, std::span<const uint8_t> request,
                                            std::optional<std::string_view> certificate_name) {
  const auto first = request.first(std::min(request.size(), protocol::kMaxMailHeadBytes));
  TACET_ASSIGN_OR_RETURN(BegunMail begun, mailbox.Begin(first, request.size(), certificate_name));
  RequestAnswer answer;
  if (auto* incoming = std::get_if<std::unique_ptr<IncomingMail>>(&begun.next)) {
    TACET_RETURN_IF_ERROR((*incoming)->Write(request.subspan(begun.head_bytes)));
    TACET_ASSIGN_OR_RETURN(answer, (*incoming)->Finish());
  } else {
    answer = std::get<RequestAnswer>(std::move(begun.next));
  }
  base::Bytes bytes = std::move(answer.head);
  if (answer.part.bytes > 0) {
    const size_t head = bytes.size();
    bytes.resize(head + answer.part.bytes);
    TACET_RETURN_IF_ERROR(
        answer.part.object->Read(answer.part.offset, std::span(bytes).subspan(head)));
  }
  return bytes;
}

// For one sender, under its certificate.
class MailboxWire final : public protocol::Wire {
 public:
  MailboxWire(Mailbox& mailbox, std::string name) : mailbox_(mailbox), name_(std::move(name)) {}
  absl::StatusOr<base::Bytes> Call(std::span<const uint8_t> request, uint32_t) override {
    return AnswerOf(mailbox_, request, name_);
  }
  void Stop() override {}

 private:
  Mailbox& mailbox_;
  std::string name_;
};

class IgnoringObserver final : public RequestObserver {
 public:
  void OnRequest(std::string_view, const absl::Status&, size_t, size_t) override {}
};

}  // namespace tacet::server::testing

#endif  // TACET_SERVER_MAILBOX_WIRE_FOR_TEST_H_
