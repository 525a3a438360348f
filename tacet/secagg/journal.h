// Journal interface in which a committee member records each answer before it gives it, the lists
// of key packets that it takes, and the closed rounds that it confirms.
#ifndef TACET_SECAGG_JOURNAL_H_
#define TACET_SECAGG_JOURNAL_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/secagg/attempt.h"

namespace tacet::secagg {

// Answers of a committee member in an attempt, each given once; the lists that it took, which are
// entries of the epoch (taken_lists.h); and the closed round whose sum it confirms, so that a
// server that loses it can have it back.
enum class JournalStep : uint8_t { kVote, kUnmaskShare, kLists, kClosedRound };
inline constexpr std::string_view JournalStepName(JournalStep step) {
  switch (step) {
    case JournalStep::kVote:
      return "vote";
    case JournalStep::kUnmaskShare:
      return "share";
    case JournalStep::kClosedRound:
      return "closed";
    case JournalStep::kLists:
      break;
  }
  return "lists";
}

// The round of entries that belong to a whole epoch. No attempt has it.
inline constexpr uint32_t kRoundOfEpoch = 0xffffffff;

// After a crash a member repeats itself instead of answering a second question about one attempt.
class Journal {
 public:
  virtual ~Journal() = default;
  // Durable when it returns OK.
  virtual absl::Status Record(const Attempt& attempt, JournalStep step,
                              std::span<const uint8_t> message) = 0;
  // The recorded message; NotFound when there is none.
  virtual absl::StatusOr<base::Bytes> Find(const Attempt& attempt, JournalStep step) const = 0;
};

}  // namespace tacet::secagg

#endif  // TACET_SECAGG_JOURNAL_H_
