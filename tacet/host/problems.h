// Problems of a server and of its members now: cause, members and remedy.
#ifndef TACET_HOST_PROBLEMS_H_
#define TACET_HOST_PROBLEMS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/json.h"
#include "tacet/host/problem_kinds.h"
#include "tacet/server/mailbox.h"
#include "tacet/server/round_server.h"

namespace tacet::host {

// Members that one line or list names.
inline constexpr size_t kMostNamed = 20;

struct ConcernedMember {
  uint64_t member = 0;
  std::string note = {};  // such as "for 2 h"; may be empty

  friend bool operator==(const ConcernedMember&, const ConcernedMember&) = default;
};

struct Problem {
  ProblemCode code = ProblemCode::kNotListening;
  std::vector<ConcernedMember> members = {};  // increasing
  std::string detail = {};                    // may be empty

  bool stops() const { return KindOf(code).stops; }

  friend bool operator==(const Problem&, const Problem&) = default;
};

struct ProblemInputs {
  const agreement::SignedManifest& manifest;
  const tacet::server::ServerStatus& status;
  const tacet::server::MailStatus& mail;
  std::vector<Problem> own;      // of the process and its store
  uint64_t certificate_end = 0;  // Unix seconds; 0: not known
  uint64_t now = 0;              // Unix seconds
  // The clock was set, or the process stood still: when members were seen says nothing.
  bool unsettled = false;
};

// In the order of their codes. A member is named once, for the most specific cause; and not at all
// for what a fault of the server explains. No participant is named unless every member uploads.
std::vector<Problem> FindProblems(const ProblemInputs& inputs);
bool AnyStops(std::span<const Problem> problems);

// "member-away: a member does not call: north (for 2 h). Start ...": cause, members, remedy. At
// most 20 members are named.
std::string ProblemText(const Problem& problem, const agreement::SignedManifest& manifest);
// {"code", "stops", "members", "text"}
base::JsonValue ProblemJson(const Problem& problem, const agreement::SignedManifest& manifest);

// "90 s", "10 min", "3 h", "4 days"
std::string DurationText(uint64_t seconds);

}  // namespace tacet::host

#endif  // TACET_HOST_PROBLEMS_H_
