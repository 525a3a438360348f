#include "tacet/base/failure_cause.h"

#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/cord.h"

namespace tacet::base {
namespace {

constexpr char kCauseUrl[] = "tacet/cause";

}  // namespace

absl::Status WithCause(absl::Status error, FailureCause cause) {
  if (cause == FailureCause::kUnknown) return error;
  error.SetPayload(kCauseUrl, absl::Cord(std::string(1, static_cast<char>(cause))));
  return error;
}

absl::Status WithCauseOf(absl::Status error, int code) {
  const bool no_room = code == ENOSPC || code == EDQUOT;
  return WithCause(std::move(error), no_room ? FailureCause::kNoRoom : FailureCause::kUnknown);
}

FailureCause CauseOf(const absl::Status& error) {
  const auto cause = error.GetPayload(kCauseUrl);
  if (!cause.has_value() || cause->empty()) return FailureCause::kUnknown;
  return static_cast<FailureCause>((*cause)[0]);
}

}  // namespace tacet::base
