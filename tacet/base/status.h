// Errors: absl::Status with messages that a user can act on, and macros that propagate them.
#ifndef TACET_BASE_STATUS_H_
#define TACET_BASE_STATUS_H_

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fmt/core.h"

namespace tacet::base {

// Each builds a status from a fmt format string:
//   return InvalidArgument("upload has dimension {}, the manifest says {}", got, want);
// A message says what was wrong, what was expected and which input; it never holds key material,
// an unprotected update or a cohort.
template <typename... Args>
absl::Status InvalidArgument(fmt::format_string<Args...> format, Args&&... args) {
  return absl::InvalidArgumentError(fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
absl::Status FailedPrecondition(fmt::format_string<Args...> format, Args&&... args) {
  return absl::FailedPreconditionError(fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
absl::Status NotFound(fmt::format_string<Args...> format, Args&&... args) {
  return absl::NotFoundError(fmt::format(format, std::forward<Args>(args)...));
}
// Bytes that are truncated, altered or contradict themselves.
template <typename... Args>
absl::Status DataLoss(fmt::format_string<Args...> format, Args&&... args) {
  return absl::DataLossError(fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
absl::Status PermissionDenied(fmt::format_string<Args...> format, Args&&... args) {
  return absl::PermissionDeniedError(fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
absl::Status AlreadyExists(fmt::format_string<Args...> format, Args&&... args) {
  return absl::AlreadyExistsError(fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
absl::Status OutOfRange(fmt::format_string<Args...> format, Args&&... args) {
  return absl::OutOfRangeError(fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
absl::Status ResourceExhausted(fmt::format_string<Args...> format, Args&&... args) {
  return absl::ResourceExhaustedError(fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
absl::Status Unavailable(fmt::format_string<Args...> format, Args&&... args) {
  return absl::UnavailableError(fmt::format(format, std::forward<Args>(args)...));
}

// The same code with `context` and ": " before the message; OK stays OK.
absl::Status Annotate(const absl::Status& status, std::string_view context);

// The message as a standard string (absl::string_view is a type of its own in Debian 12).
inline std::string Message(const absl::Status& status) { return std::string(status.message()); }

}  // namespace tacet::base

#define TACET_STATUS_CONCAT_INNER(a, b) a##b
#define TACET_STATUS_CONCAT(a, b) TACET_STATUS_CONCAT_INNER(a, b)

// Returns from the enclosing function when `expr` (an absl::Status) is an error.
#define TACET_RETURN_IF_ERROR(expr)                               \
  do {                                                            \
    if (absl::Status tacet_status = (expr); !tacet_status.ok()) { \
      return tacet_status;                                        \
    }                                                             \
  } while (false)

// Evaluates `expr` (an absl::StatusOr<T>); returns its error or moves its value into `lhs`.
#define TACET_ASSIGN_OR_RETURN(lhs, expr) \
  TACET_ASSIGN_OR_RETURN_IMPL(TACET_STATUS_CONCAT(tacet_status_or_, __LINE__), lhs, expr)
#define TACET_ASSIGN_OR_RETURN_IMPL(result, lhs, expr) \
  auto result = (expr);                                \
  if (!result.ok()) {                                  \
    return result.status();                            \
  }                                                    \
  lhs = *std::move(result)

#endif  // TACET_BASE_STATUS_H_
