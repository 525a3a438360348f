// Heads of HTTP requests and answers, the first bytes of a TLS client, and the status in an answer.
// The first byte picks the subject: 0 a status, 253 the head of an answer, 255 TLS, otherwise the
// head of a request in pieces of so many bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string_view>

#include "tacet/base/bytes.h"
#include "tacet/transport/http/hello_watch.h"
#include "tacet/transport/http/request_parser.h"
#include "tacet/transport/https/answer_head.h"
#include "tacet/transport/https/call_format.h"

namespace {

using tacet::transport::http::HelloWatch;
using tacet::transport::http::RequestHead;
using tacet::transport::http::RequestParser;

constexpr size_t kMaxHeadBytes = 2048;

void Require(bool good) {
  if (!good) std::abort();
}

// In pieces of `step` bytes: a head, nothing when it is not complete, or an error.
absl::StatusOr<std::optional<RequestHead>> InPieces(std::span<const uint8_t> bytes, size_t step) {
  RequestParser parser(kMaxHeadBytes);
  for (size_t size = std::min(step, bytes.size());; size = std::min(size + step, bytes.size())) {
    auto head = parser.Parse(bytes.first(size));
    if (!head.ok() || head->has_value() || size == bytes.size()) return head;
  }
}

void ParseHead(std::span<const uint8_t> bytes, size_t step) {
  const auto whole = InPieces(bytes, bytes.size());
  const auto pieces = InPieces(bytes, step);
  // The way it arrived does not change its meaning. A long line is too long, or wrong, whichever is
  // noticed first.
  if (whole.ok() && whole->has_value()) {
    Require(pieces.ok() && pieces->has_value());
    const RequestHead &one = **whole, &other = **pieces;
    Require(one.bytes == other.bytes && one.bytes <= bytes.size() && one.bytes <= kMaxHeadBytes);
    Require(one.method == other.method && one.target == other.target && one.host == other.host &&
            one.authorization == other.authorization && one.keep_alive == other.keep_alive &&
            one.content_length == other.content_length &&
            one.expects_continue == other.expects_continue);
    const auto version = tacet::transport::https::VersionIn(one.target);
    Require(!version.has_value() || one.target.starts_with("/tacet/"));
  } else {
    Require(!pieces.ok() || !pieces->has_value());
  }
}

// An answer that is believed has a length.
void ReadAnswer(std::string_view lines) {
  tacet::transport::https::AnswerHead head;
  while (!lines.empty()) {
    const size_t line = std::min(lines.find('\n'), lines.size() - 1) + 1;
    if (!head.Take(lines.substr(0, line)).ok()) return;
    lines.remove_prefix(line);
  }
  Require(head.wire().empty() || head.content_length().has_value());
}

// The verdict does not depend on the pieces in which the bytes come.
void WatchHello(std::span<const uint8_t> bytes) {
  HelloWatch whole, pieces;
  const bool admitted = whole.Admits(bytes);
  bool all = true;
  for (size_t i = 0; i < bytes.size(); ++i) all = pieces.Admits(bytes.subspan(i, 1));
  Require(all == admitted);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::span<const uint8_t> rest(data + 1, size - 1);
  if (data[0] == 255) {
    WatchHello(rest);
    return 0;
  }
  if (data[0] == 253) {
    ReadAnswer(tacet::base::AsText(rest));
    return 0;
  }
  if (data[0] != 0) {
    ParseHead(rest, data[0]);
    return 0;
  }
  const std::string_view text = tacet::base::AsText(rest);
  const size_t line = std::min(text.find('\n'), text.size());
  const absl::Status status =
      tacet::transport::https::StatusFrom(text.substr(0, line), text.substr(line));
  Require(!status.ok() && status.code() != absl::StatusCode::kUnauthenticated);
  Require(std::ranges::none_of(status.message(), [](char c) { return c >= 0 && c < ' '; }));
  return 0;
}
