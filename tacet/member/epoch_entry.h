// Decisions of a member in the opening of an epoch (docs/design/opening.md): pure functions of what
// it has and what it heard.
#ifndef TACET_MEMBER_EPOCH_ENTRY_H_
#define TACET_MEMBER_EPOCH_ENTRY_H_

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "tacet/member/member_action.h"
#include "tacet/member/suspicion.h"
#include "tacet/protocol/announcement.h"
#include "tacet/protocol/epoch_opening.h"
#include "tacet/secagg/attempt.h"

namespace tacet::member {

// States that a member can begin an epoch with by itself.
struct OwnStates {
  protocol::OpeningState last;
  // The one before, as long as this member may go back to it.
  std::optional<protocol::OpeningState> earlier = std::nullopt;
};

// Whether a member that has `last` has the state, or is behind it.
bool IsAtOrBehind(const protocol::OpeningState& last, const protocol::OpeningState& state);

// Whether a seat can continue with the state. It goes back only after a quorum was heard that does
// not have its own state, or if enough votes are for others; and not behind a state for which it
// gave its unmask share: it has no earlier one then.
bool CanBeginWith(const protocol::OpeningState& state, const OwnStates& own,
                  const protocol::OpeningTally& said, const protocol::OpeningRules& rules);

// The next steps of a seat, in order, where `said` is the server's answer and votes are asked
// for a state of round `asked`. A seat says what it has, and votes once, for a state that enough
// seats have and that it can continue with. `kept` is the vote that it gave in this epoch. A vote
// goes first: a server that has lost it must not ask for votes before it knows it again.
std::vector<OpeningAction> SeatTurn(uint64_t member, const OwnStates& own,
                                    const std::optional<protocol::OpeningState>& kept,
                                    const protocol::OpeningTally& said,
                                    const protocol::OpeningRules& rules, uint32_t asked);

// The ways in which a member begins an epoch for whose state a quorum voted.
namespace beginning {
struct Waits {};   // for what the server says, to agree with the vote
struct Enters {};  // has that state, or an earlier one and can catch up
struct GoesBack {  // to its earlier state, which is the epoch's
  uint32_t first_undone = 0;
};
struct TakesState {  // of the federation: its earlier state is behind the epoch's
  uint32_t first_undone = 0;
};
struct Refuses {
  Suspicion suspicion;
  secagg::AttemptNumber at;
  bool waits = false;
};
}  // namespace beginning
using Beginning = std::variant<beginning::Waits, beginning::Enters, beginning::GoesBack,
                               beginning::TakesState, beginning::Refuses>;

// `opened` is the state that v seats voted for. Every member takes it, and nothing without a quorum
// or behind it: two quorums share an honest seat, so all members of an epoch begin with one state,
// whatever the server says to whom.
Beginning BeginningOf(const protocol::OpeningState& opened, const OwnStates& own,
                      const protocol::Announcement& told);

}  // namespace tacet::member

#endif  // TACET_MEMBER_EPOCH_ENTRY_H_
