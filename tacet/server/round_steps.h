// Steps of the rounds' protocol by phase. Only the files of this protocol include it.
#ifndef TACET_SERVER_ROUND_STEPS_H_
#define TACET_SERVER_ROUND_STEPS_H_

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "tacet/server/round_protocol.h"

namespace tacet::server {

// A step on its way.
struct Transition {
  RoundState state;
  const Moment& moment;
  std::vector<Action> actions = {};

  const RoundRules& rules() const { return *state.rules; }
  // The open attempt, which there must be.
  const AttemptRecord& open() const { return *OpenAttempt(state); }

  // Another action. Made in its place: g++ 12 warns where a variant of it would be moved.
  template <typename One>
  void Ask(One action) {
    actions.emplace_back(std::in_place_type<One>, std::move(action));
  }
  // Durable changes, made in the state and asked of the store.
  void Do(Change change);
  void Put(ItemKind kind, uint64_t member, std::span<const uint8_t> bytes);
  void SetDeadline(uint64_t deadline);
  // The same, because members have not answered in time.
  void Extend(uint64_t seconds);
  void End(protocol::AttemptPhase phase, std::string_view failure);
  // Members that wait for this, or all of them, are to be told.
  void CountRevision(bool phase);
};

// Between attempts.
absl::Status MayBegin(Transition& step);
absl::Status On(Transition& step, const CohortDrawn& drawn);
// As after the last attempts, which had too few uploads one after the other; `ended` in Unix
// seconds.
void PauseAfterTooFew(Transition& step, uint64_t ended);
absl::Status On(Transition& step, const AttestationGiven& given);
// For a member that does not act on the announcement: it is shown as long as that is the last one.
absl::Status On(Transition& step, const ObjectionGiven& given);

// While an attempt collects.

// After the store was read the attempt has the time that it had left when the server last ran, and
// enough for its members to return. Whether the deadline was moved. An attempt that is older than
// abandon_seconds has no further time, so that no attempt collects for ever.
bool ResumeCollecting(Transition& step);
absl::Status MayClose(Transition& step);
absl::Status On(Transition& step, const UploadsLost& lost);
absl::Status On(Transition& step, const SumClosed& closed);
absl::Status On(Transition& step, const AbstentionGiven& given);
// Ends an attempt to which too few members can give data.
void MayEndWithoutGivers(Transition& step);
// Fails an open attempt in which the seats that are not silenced are too few for a quorum.
void MayEndWithoutVotes(Transition& step);

// While an attempt is unmasking, and of the last one that was published.
absl::Status On(Transition& step, const VoteGiven& given);
absl::Status On(Transition& step, const VerdictGiven& given);
absl::Status On(Transition& step, const SharesChecked& checked);
// Seats are asked from now on, if an attempt is unmasking.
void BeginAsking(Transition& step);
// The deadline has passed.
absl::Status ExtendOrFail(Transition& step);
// Ends an attempt about which enough seats have said enough.
absl::Status MayEnd(Transition& step);

// In the opening of an epoch.
absl::Status On(Transition& step, const OpeningStatementGiven& given);
absl::Status On(Transition& step, const BeginningRead& read);
// Opens the epoch once enough seats have voted.
absl::Status MayOpen(Transition& step);
// Until then: asks for votes.
void MayAskForVotes(Transition& step);

// Large objects that members give.
absl::Status On(Transition& step, const ObjectArrived& arrived);

// Objects to which the state refers, and the rounds whose items are kept.
Sweep SweepOf(const RoundState& state);

// FailedPrecondition unless `attempt` is open and in this phase.
absl::Status CheckOpen(const RoundState& state, const secagg::Attempt& attempt,
                       protocol::AttemptPhase phase);
// The same for one that is unmasking, or was published last and may not be final.
absl::Status CheckUnmaskable(const RoundState& state, const secagg::Attempt& attempt);

}  // namespace tacet::server

#endif  // TACET_SERVER_ROUND_STEPS_H_
