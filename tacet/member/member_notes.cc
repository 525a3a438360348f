#include "tacet/member/member_notes.h"

#include <utility>

#include "tacet/base/plain_text.h"
#include "tacet/base/status.h"
#include "tacet/crypto/hash.h"

namespace tacet::member {
namespace {

// Words that the server chose are in some texts.
constexpr size_t kMaxText = 400;

NodeEvent EventOf(NodeEventKind kind, std::string_view what, const secagg::AttemptNumber& at,
                  std::string_view text = {}) {
  return {.kind = kind,
          .what = std::string(what),
          .attempt = at,
          .bytes = std::nullopt,
          .digest = std::nullopt,
          .text = base::PlainText(text, kMaxText)};
}

}  // namespace

absl::Status MemberNotes::Once(NodeEvent event, uint32_t index) {
  const auto key = std::make_tuple(event.kind, event.what, *event.attempt, index);
  if (written_.contains(key)) return absl::OkStatus();
  TACET_RETURN_IF_ERROR(log_.Write(event));
  written_.insert(key);
  if (event.kind == NodeEventKind::kViolation) violations_.push_back(std::move(event));
  if (event.kind == NodeEventKind::kRefused) refusals_.push_back(std::move(event));
  return absl::OkStatus();
}

absl::Status MemberNotes::Violation(const Suspicion& suspicion, const secagg::AttemptNumber& at,
                                    uint32_t index) {
  return Once(EventOf(NodeEventKind::kViolation, suspicion.violation, at, suspicion.text), index);
}

absl::Status MemberNotes::Refused(std::string_view what, const secagg::AttemptNumber& at,
                                  std::string_view why) {
  return Once(EventOf(NodeEventKind::kRefused, what, at, why), 0);
}

absl::Status MemberNotes::Asked(std::string_view what, const secagg::AttemptNumber& at) {
  return Once(EventOf(NodeEventKind::kAsked, what, at), 0);
}

absl::Status MemberNotes::Note(std::string_view what, const secagg::AttemptNumber& at,
                               std::string_view text) {
  return Once(EventOf(NodeEventKind::kNote, what, at, text), 0);
}

absl::Status MemberNotes::Sent(std::string_view what, const secagg::AttemptNumber& at,
                               std::span<const uint8_t> bytes) {
  return Sent(what, at, bytes, crypto::Sha256(bytes));
}

absl::Status MemberNotes::Sent(std::string_view what, const secagg::AttemptNumber& at,
                               std::span<const uint8_t> bytes, const crypto::Digest& digest) {
  NodeEvent event = EventOf(NodeEventKind::kSent, what, at);
  event.bytes = bytes.size();
  event.digest = digest;
  return log_.Write(event);
}

absl::Status MemberNotes::Applied(std::string_view what, const secagg::AttemptNumber& at,
                                  std::string_view text) {
  return log_.Write(EventOf(NodeEventKind::kApplied, what, at, text));
}

}  // namespace tacet::member
