#include "tacet/host/request_watch.h"

#include <utility>

#include "tacet/base/json.h"
#include "tacet/base/status.h"
#include "tacet/protocol/member_request.h"

namespace tacet::host {
namespace {

constexpr std::chrono::minutes kWindow(1);

// Members find the end of what there is, and a new round, in this way: nothing to look into.
bool IsOrdinary(absl::StatusCode code) {
  return code == absl::StatusCode::kOk || code == absl::StatusCode::kNotFound ||
         code == absl::StatusCode::kOutOfRange;
}

// A failure of the store, of which the member is told nothing but that. A request that could not be
// shown to be a member's: its text says what was wrong with it, and under which name a certificate
// came whose owner did not sign. Texts about a member's own requests stay out: they would tell who
// was invited.
bool MayBeQuoted(std::string_view kind, absl::StatusCode code) {
  if (code == absl::StatusCode::kUnavailable) return true;
  return kind == "unreadable" && code != absl::StatusCode::kResourceExhausted;
}

base::JsonValue Naming(std::string_view kind, absl::StatusCode code) {
  return base::JsonValue::MakeObject().Set("kind", kind).Set("reason", StatusWord(code));
}

}  // namespace

void RequestWatch::OnRequest(std::string_view kind, const absl::Status& status,
                             size_t request_bytes, size_t answer_bytes) {
  metrics_.CountRequest(kind, status, request_bytes, answer_bytes);
  health_.NoteRequest(status);
  if (IsOrdinary(status.code()) || !Admit(kind, status.code())) return;
  if (protocol::IsCheckRefusal(status)) {
    log_.Write(LogLevel::kInfo, "site-checked", base::JsonValue::MakeObject());
    return;
  }
  base::JsonValue fields = Naming(kind, status.code());
  if (MayBeQuoted(kind, status.code())) fields.Set("message", base::Message(status));
  log_.Write(LogLevel::kWarning, "request-refused", std::move(fields));
}

bool RequestWatch::Admit(std::string_view kind, absl::StatusCode code) {
  const base::MutexLock lock(mutex_);
  Refusals& refusals =
      refusals_.try_emplace({std::string(kind), code}, Refusals{.since = clock_()}).first->second;
  return ++refusals.count <= kLoggedAMinute;
}

void RequestWatch::Flush() {
  const base::MutexLock lock(mutex_);
  const auto now = clock_();
  std::erase_if(refusals_, [&](const auto& entry) {
    const auto& [what, refusals] = entry;
    if (now - refusals.since < kWindow) return false;
    if (refusals.count > kLoggedAMinute) {
      log_.Write(LogLevel::kWarning, "requests-refused",
                 Naming(what.first, what.second).Set("more", refusals.count - kLoggedAMinute));
    }
    return true;
  });
}

}  // namespace tacet::host
