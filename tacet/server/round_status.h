// Status of a round server, for people and gauges.
#ifndef TACET_SERVER_ROUND_STATUS_H_
#define TACET_SERVER_ROUND_STATUS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tacet/protocol/abstention.h"
#include "tacet/protocol/member_request.h"
#include "tacet/protocol/objection.h"
#include "tacet/server/gathering.h"
#include "tacet/server/server_store.h"

namespace tacet::server {

// A member that is waited for.
struct Absence {
  uint64_t member = 0;
  std::optional<uint64_t> last_seen;  // Unix seconds; nothing: not since this server started
  // vote, unmask share, or, where every member uploads, upload; empty between attempts.
  std::string_view owes = {};
  bool silent = false;  // a seat that is connected, was asked two deadlines ago and says nothing

  friend bool operator==(const Absence&, const Absence&) = default;
};

// A member that said in public that its upload holds none of its data.
struct Abstainer {
  uint64_t member = 0;
  protocol::AbstentionReason reason = protocol::AbstentionReason::kBudget;

  friend bool operator==(const Abstainer&, const Abstainer&) = default;
};

// Counts. It names members only while it waits for them, those who are on the committee, and
// participants whose shares were wrong: no others.
struct ServerStatus {
  std::optional<AttemptRecord> last;  // the last attempt begun
  uint32_t invited = 0;               // to it; 0 when members decide by coins
  uint32_t accepted = 0;              // uploads in its sum so far
  uint32_t votes = 0;                 // of the committee, while it is unmasking
  uint32_t unmask_shares = 0;         // of the committee, while it is unmasking
  uint32_t finished = 0;              // rounds published
  uint64_t attempts = 0;              // ever begun
  uint64_t failed = 0;                // of them
  bool draining = false;
  bool paused = false;
  // In the opening of an epoch: seats that said which states they have or voted, as long as they
  // have not agreed with which one it begins.
  std::optional<uint64_t> opening;
  std::string stopped;   // why no attempt follows any more; empty as long as one may
  uint64_t here = 0;     // members that are connected
  uint64_t taken = 0;    // of them, whose last call was not refused
  bool waiting = false;  // no attempt is open, and one is to follow
  // While the next attempt waits only for members.
  std::optional<Gathering> gathering;
  // Between attempts: all members that are absent. While one is unmasking: seats that owe an
  // answer. While one collects: members that were not here since it began, whom no cohort made
  // silent; and where every member uploads, once the deadline was moved, all that have not.
  std::vector<Absence> awaited;
  // A deadline of the open attempt has passed, and it waits for `awaited`.
  bool extended = false;
  uint32_t extensions = 0;     // times that it was moved, as far as this process knows
  uint64_t watched_since = 0;  // since when this process sees who is here, Unix seconds
  // Members that do not act on what is announced now, in the order in which they said so.
  std::vector<protocol::Objection> objections;
  // Members that call, and are refused.
  std::vector<RefusedCall> refused;
  // Those of the open attempt, or the last one.
  std::vector<Abstainer> abstainers;
  uint64_t pause_ends = 0;  // Unix seconds; 0 unless a pause follows a failed attempt
  // Objects that are needed and lost, by kind.
  std::map<protocol::BulkKind, uint64_t> lost;
  // Named participants without whom this round continues (exclusions.h).
  std::vector<uint64_t> left_out;
  // Members that are here, do not object, and have not attested the model that follows from the
  // last published round: they may still fetch it.
  std::vector<uint64_t> without_result;
};

ServerStatus StatusOf(const RoundState& state, const Moment& moment);

}  // namespace tacet::server

#endif  // TACET_SERVER_ROUND_STATUS_H_
