// Interface that carries a member's requests to the server.
#ifndef TACET_PROTOCOL_WIRE_H_
#define TACET_PROTOCOL_WIRE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"

#include "tacet/base/bytes.h"

namespace tacet::protocol {

class Wire {
 public:
  virtual ~Wire() = default;

  // One request and its answer. Unavailable or DeadlineExceeded when the server could not be
  // reached within `most_seconds`: the same request may then be sent again, whether it arrived or
  // not. Unauthenticated when it will not be reached until somebody changes something
  // (IsPermanent). Cancelled after Stop. Other errors are the server's own. Thread-safe.
  virtual absl::StatusOr<base::Bytes> Call(std::span<const uint8_t> request,
                                           uint32_t most_seconds) = 0;
  // The same for a request in two pieces. A wire that sends pieces one after the other overrides it
  // and saves the copy.
  virtual absl::StatusOr<base::Bytes> CallWithContent(std::span<const uint8_t> head,
                                                      std::span<const uint8_t> content,
                                                      uint32_t most_seconds) {
    base::Bytes request;
    request.reserve(head.size() + content.size());
    request.insert(request.end(), head.begin(), head.end());
    request.insert(request.end(), content.begin(), content.end());
    return Call(request, most_seconds);
  }
  struct Request {
    base::Bytes head;
    std::span<const uint8_t> content = {};
  };
  // Independent requests, of which none needs another's answer; their answers. A wire whose
  // messages hold several requests overrides it and sends them in one.
  virtual std::vector<absl::StatusOr<base::Bytes>> CallTogether(std::span<const Request> requests,
                                                                uint32_t most_seconds) {
    std::vector<absl::StatusOr<base::Bytes>> answers;
    answers.reserve(requests.size());
    for (const Request& request : requests) {
      answers.push_back(CallWithContent(request.head, request.content, most_seconds));
    }
    return answers;
  }
  // Ends the calls in progress and refuses further ones.
  virtual void Stop() = 0;
};

// True when the same call may succeed later: the server or the disk could not be reached, or has
// too much to do. Everything else that a server answers is its last word on a request.
inline bool IsRetryable(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kCancelled:
      return true;
    default:
      return false;
  }
}

// True when no call succeeds before somebody changes something: another address, certificate,
// proxy or program version. The message says what. Only wires make this code; a server's answer
// never has it.
inline bool IsPermanent(const absl::Status& status) {
  return status.code() == absl::StatusCode::kUnauthenticated;
}

inline constexpr absl::string_view kLastingPayload = "tacet.lasting";

// Unavailable until somebody changes something somewhere else, such as the server's clock: calls
// are repeated, but after the longest pause.
inline absl::Status Lasting(const std::string& text) {
  absl::Status status = absl::UnavailableError(text);
  status.SetPayload(kLastingPayload, absl::Cord());
  return status;
}
inline bool IsLasting(const absl::Status& status) {
  return status.GetPayload(kLastingPayload).has_value();
}

}  // namespace tacet::protocol

#endif  // TACET_PROTOCOL_WIRE_H_
