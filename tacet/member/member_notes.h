// Writer of a member's log: each event once, protocol violations by name.
#ifndef TACET_MEMBER_MEMBER_NOTES_H_
#define TACET_MEMBER_MEMBER_NOTES_H_

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/status/status.h"

#include "tacet/member/node_log.h"
#include "tacet/secagg/attempt.h"

namespace tacet::member {

// Protocol violations: acts that an honest server, or an honest member, does not do
// (docs/formats/node-log.md).
namespace violations {
inline constexpr std::string_view kOtherFederation = "other-federation";
inline constexpr std::string_view kUnreadable = "unreadable";
inline constexpr std::string_view kImpossible = "impossible";
inline constexpr std::string_view kRollback = "rollback";
inline constexpr std::string_view kEquivocation = "equivocation";
inline constexpr std::string_view kFork = "fork";
inline constexpr std::string_view kNotOpened = "not-opened";
inline constexpr std::string_view kReplacedUpload = "replaced-upload";
inline constexpr std::string_view kDroppedUpload = "dropped-upload";
inline constexpr std::string_view kClosedRound = "closed-round";
inline constexpr std::string_view kVotesDisagree = "votes-disagree";
inline constexpr std::string_view kUnsoundSum = "unsound-sum";
inline constexpr std::string_view kBadSum = "bad-sum";
inline constexpr std::string_view kBadShare = "bad-share";
inline constexpr std::string_view kWrongShare = "wrong-share";
inline constexpr std::string_view kParticipants = "participants";
inline constexpr std::string_view kAbortedRound = "aborted-round";
inline constexpr std::string_view kCohortBias = "cohort-bias";
inline constexpr std::string_view kBadCheckpoint = "bad-checkpoint";
}  // namespace violations

// A protocol violation with its reason.
struct Suspicion {
  std::string_view violation;
  std::string text;
};

class MemberNotes {
 public:
  // `log` must outlive it.
  explicit MemberNotes(NodeLog& log) : log_(log) {}

  // Each once for the same attempt (and, where there are several of a thing, its index).
  absl::Status Violation(const Suspicion& suspicion, const secagg::AttemptNumber& at,
                         uint32_t index = 0);
  absl::Status Refused(std::string_view what, const secagg::AttemptNumber& at,
                       std::string_view why);
  absl::Status Asked(std::string_view what, const secagg::AttemptNumber& at);
  absl::Status Note(std::string_view what, const secagg::AttemptNumber& at, std::string_view text);

  // Every time. `digest` is the SHA-256 of `bytes`: large ones are not hashed again.
  absl::Status Sent(std::string_view what, const secagg::AttemptNumber& at,
                    std::span<const uint8_t> bytes);
  absl::Status Sent(std::string_view what, const secagg::AttemptNumber& at,
                    std::span<const uint8_t> bytes, const crypto::Digest& digest);
  absl::Status Applied(std::string_view what, const secagg::AttemptNumber& at,
                       std::string_view text);

  // Violations so far, in this process.
  const std::vector<NodeEvent>& violations() const { return violations_; }
  const std::vector<NodeEvent>& refusals() const { return refusals_; }

 private:
  absl::Status Once(NodeEvent event, uint32_t index);

  NodeLog& log_;
  std::set<std::tuple<NodeEventKind, std::string, secagg::AttemptNumber, uint32_t>> written_;
  std::vector<NodeEvent> violations_;
  std::vector<NodeEvent> refusals_;
};

}  // namespace tacet::member

#endif  // TACET_MEMBER_MEMBER_NOTES_H_
