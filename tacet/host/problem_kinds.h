// Kinds of problems that a server shows its operators (docs/formats/problems.md).
#ifndef TACET_HOST_PROBLEM_KINDS_H_
#define TACET_HOST_PROBLEM_KINDS_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace tacet::host {

enum class ProblemCode : uint8_t {
  // For the server itself.
  kNotListening,
  kEnding,
  kNotStarted,
  kStandstill,
  kDiskFull,
  kDatabaseAway,
  kStoreFailed,
  kObjectLost,
  kServerCertificateEnded,
  kServerCertificateEnds,
  kServerClock,
  kRollback,
  kServerFork,
  kNoClosedRound,
  kStopped,
  kPaused,
  // For members.
  kMemberCertificate,
  kMemberClock,
  kMemberFork,
  kBudget,
  kPolicy,
  kMemberAway,
  kSeatAway,
  kMayHaveVoted,
  kSeatSilent,
  kUploadMissing,
  kLetterWaits,
  kPrekeyMissing,
};

struct ProblemKind {
  ProblemCode code;
  std::string_view name;
  bool stops = false;  // the server is not ready
  bool names_members = false;
  std::string_view says = {};    // the fault: a sentence without its full stop
  std::string_view remedy = {};  // whole sentences
};

// One for each code, in their order.
std::span<const ProblemKind> ProblemKinds();
const ProblemKind& KindOf(ProblemCode code);

}  // namespace tacet::host

#endif  // TACET_HOST_PROBLEM_KINDS_H_
