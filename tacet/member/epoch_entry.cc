#include "tacet/member/epoch_entry.h"

#include <algorithm>

#include "fmt/core.h"

namespace tacet::member {

bool IsAtOrBehind(const protocol::OpeningState& last, const protocol::OpeningState& state) {
  return last.round < state.round || last == state;
}

bool CanBeginWith(const protocol::OpeningState& state, const OwnStates& own,
                  const protocol::OpeningTally& said, const protocol::OpeningRules& rules) {
  if (IsAtOrBehind(own.last, state)) return true;
  const bool is_quorum = said.heard() >= rules.quorum;
  const bool may_be_own = said.CanBeOpened(own.last) && (said.IsHeld(own.last) || !is_quorum);
  if (may_be_own) return false;
  return own.earlier.has_value() && own.earlier->round <= state.round;
}

std::vector<OpeningAction> SeatTurn(uint64_t member, const OwnStates& own,
                                    const std::optional<protocol::OpeningState>& kept,
                                    const protocol::OpeningTally& said,
                                    const protocol::OpeningRules& rules, uint32_t asked) {
  std::vector<OpeningAction> turn;
  std::optional<protocol::OpeningState> vote = kept;
  const protocol::OpeningState* const given = said.VoteOf(member);
  if (!vote.has_value() && given != nullptr) {  // only the server has it still
    vote = *given;
    turn.push_back(action::KeepVote{.state = *given, .with_own = false});
  }
  if (vote.has_value() && given == nullptr) turn.push_back(action::SendVote{});
  if (said.Opened().has_value()) return turn;
  // Others have to rely on the same, and may not hear it from those who said it.
  if (vote.has_value() && !said.IsHeld(*vote)) turn.push_back(action::SendReasons{});

  protocol::OpeningStatement has{
      .word = protocol::OpeningWord::kHas, .member = member, .state = own.last};
  if (own.earlier.has_value() && own.earlier->round + 1 == own.last.round) {
    has.earlier = own.earlier;
  }
  turn.push_back(action::SendStates{has});
  if (vote.has_value()) return turn;

  protocol::OpeningTally all = said;
  all.Add(has);
  const std::optional<protocol::OpeningState> held = all.HeldAt(asked);
  if (!held.has_value() || !CanBeginWith(*held, own, all, rules)) return turn;
  turn.push_back(action::KeepVote{.state = *held, .with_own = true});
  turn.push_back(action::SendVote{});
  return turn;
}

Beginning BeginningOf(const protocol::OpeningState& opened, const OwnStates& own,
                      const protocol::Announcement& told) {
  // A member that begins behind it could be led along another history.
  const auto is_behind = [&](const secagg::Attempt& attempt) {
    return attempt.number.round < opened.round;
  };
  if (told.current.has_value() && is_behind(told.current->attempt)) {
    const secagg::AttemptNumber at = told.current->attempt.number;
    return beginning::Refuses{
        {violations::kNotOpened,
         fmt::format("an attempt at round {} is announced, but the committee has voted to begin "
                     "the epoch with round {}",
                     at.round, opened.round)},
        at,
        true};
  }
  if (told.finished < opened.round || std::ranges::any_of(told.kept, is_behind)) {
    return beginning::Waits{};
  }
  if (IsAtOrBehind(own.last, opened)) return beginning::Enters{};
  if (!own.earlier.has_value() || own.earlier->round > opened.round) {
    return beginning::Refuses{
        {own.last.round == opened.round ? violations::kFork : violations::kRollback,
         fmt::format("the epoch begins with another model of {} rounds; this member has applied "
                     "{} and cannot undo them",
                     opened.round, own.last.round)},
        {.epoch = told.epoch, .round = opened.round},
        false};
  }
  if (*own.earlier == opened) return beginning::GoesBack{own.earlier->round};
  return beginning::TakesState{own.earlier->round};
}

}  // namespace tacet::member
