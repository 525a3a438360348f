#include "tacet/member/member_notes.h"

#include <utility>

#include "fmt/core.h"

#include "tacet/base/plain_text.h"
#include "tacet/base/status.h"
#include "tacet/crypto/hash.h"
#include "tacet/protocol/wire.h"

namespace tacet::member {
namespace {

// Words that the server chose are in some texts.
constexpr size_t kMaxText = 400;

}  // namespace

absl::Status MemberNotes::Write(NodeEvent event, uint32_t index) {
  event.text = base::PlainText(event.text, kMaxText);
  if (event.kind == NodeEventKind::kSent || event.kind == NodeEventKind::kApplied) {
    return log_.Write(event);
  }
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
  return Write({.kind = NodeEventKind::kViolation,
                .what = std::string(suspicion.violation),
                .attempt = at,
                .text = suspicion.text},
               index);
}

absl::Status MemberNotes::Note(std::string_view what, const secagg::AttemptNumber& at,
                               std::string_view text) {
  return Write({.kind = NodeEventKind::kNote,
                .what = std::string(what),
                .attempt = at,
                .text = std::string(text)});
}

absl::Status MemberNotes::Settle(std::string_view what, const secagg::AttemptNumber& at,
                                 const absl::Status& sent, std::span<const uint8_t> bytes) {
  return Settle(what, at, sent, bytes, crypto::Sha256(bytes));
}

absl::Status MemberNotes::Settle(std::string_view what, const secagg::AttemptNumber& at,
                                 const absl::Status& sent, std::span<const uint8_t> bytes,
                                 const crypto::Digest& digest) {
  if (sent.ok()) {
    return Write({.kind = NodeEventKind::kSent,
                  .what = std::string(what),
                  .attempt = at,
                  .bytes = bytes.size(),
                  .digest = digest});
  }
  if (protocol::IsRetryable(sent)) return sent;
  if (sent.code() == absl::StatusCode::kAlreadyExists) {
    // An honest server keeps only what this site's key signed.
    return Note(fmt::format("{}-not-taken", what), at,
                fmt::format("the server has another one that this site's key signed: a second copy "
                            "of this site's folder runs, or its state was put back or lost. Stop "
                            "the copy ({})",
                            base::Message(sent)));
  }
  return Note(fmt::format("{}-not-taken", what), at, base::Message(sent));
}

}  // namespace tacet::member
