// Protocol violations, by name.
#ifndef TACET_MEMBER_SUSPICION_H_
#define TACET_MEMBER_SUSPICION_H_

#include <string>
#include <string_view>

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
inline constexpr std::string_view kReplacedPacket = "replaced-packet";
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
inline constexpr std::string_view kWithheldAbstention = "withheld-abstention";
}  // namespace violations

// A protocol violation with its reason.
struct Suspicion {
  std::string_view violation;
  std::string text;
};

}  // namespace tacet::member

#endif  // TACET_MEMBER_SUSPICION_H_
