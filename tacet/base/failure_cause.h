// Cause of a failed call of a disk or a database, for those that show what is to be repaired.
#ifndef TACET_BASE_FAILURE_CAUSE_H_
#define TACET_BASE_FAILURE_CAUSE_H_

#include <cstdint>

#include "absl/status/status.h"

namespace tacet::base {

enum class FailureCause : uint8_t {
  kUnknown,
  kNoRoom,        // a disk is full, or a quota is used up
  kNotConnected,  // a database cannot be reached
};

// The same error, with its cause. Annotate keeps it.
absl::Status WithCause(absl::Status error, FailureCause cause);
// kNoRoom where a call of the system failed for it (`code` as in errno).
absl::Status WithCauseOf(absl::Status error, int code);
FailureCause CauseOf(const absl::Status& error);

}  // namespace tacet::base

#endif  // TACET_BASE_FAILURE_CAUSE_H_
