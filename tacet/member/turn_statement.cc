// Statements of a member about the beginning of a round, for members that have missed what led
// there.
#include <algorithm>
#include <utility>

#include "tacet/member/attestors.h"
#include "tacet/member/turn.h"

namespace tacet::member {
namespace {

bool HasAttested(const Stated& stated, uint32_t round) {
  const auto* attested = std::get_if<stated::Attested>(&stated);
  return attested != nullptr && attested->round == round;
}

bool HasStatedAll(const Stated& stated, uint32_t round) {
  const auto* all = std::get_if<stated::All>(&stated);
  return all != nullptr && all->round == round;
}

Action GoOn(Turn& turn, Step step, bool acts) {
  return acts ? ActOnCurrent(turn, std::move(step)) : EndStep(turn, std::move(step));
}

Action Attest(Turn& turn, Step step, bool acts, bool with_checkpoint) {
  Become(turn, state::SendingAttestation{std::move(step), acts});
  return StatementAction(action::SendAttestation{with_checkpoint});
}

}  // namespace

Action StateModel(Turn& turn, Step step, bool acts) {
  MemberSituation& here = turn.here;
  const uint32_t round = here.holding.next_round;
  const bool has_entered = here.entered || HasBegun(turn.manifest, here);
  if (!has_entered || HasStatedAll(here.stated, round) || here.finished != round) {
    return GoOn(turn, std::move(step), acts);
  }
  const std::vector<uint64_t> attestors = AttestorsOf(turn.manifest);
  const bool attests = std::ranges::find(attestors, turn.member) != attestors.end();
  if (!attests) {
    const std::optional<MemberMemory>& memory = here.memory;
    const bool has_begun = memory.has_value() && memory->attempt.number.round == round &&
                           memory->attempt.number.epoch == turn.manifest.epoch();
    if (has_begun) {
      here.stated = stated::All{round};
      return GoOn(turn, std::move(step), acts);
    }
    const bool uploaded =
        memory.has_value() && memory->accepted && memory->attempt.number.round + 1 == round;
    if (uploaded && !HasAttested(here.stated, round)) {
      return Attest(turn, std::move(step), acts, false);
    }
    // Behind the last round no attempt follows, and the server may wait for this statement.
    const bool is_last = round == turn.spec().rounds;
    if (!is_last && turn.now < here.reached + MemberMachine::kAttestorSeconds) {
      return GoOn(turn, std::move(step), acts);
    }
  }
  if (!HasAttested(here.stated, round)) {
    return Attest(turn, std::move(step), acts, attests && round > 0);
  }
  if (round == 0) {
    here.stated = stated::All{round};
    return GoOn(turn, std::move(step), acts);
  }
  Become(turn, state::SendingCheckpoint{std::move(step), acts});
  return StatementAction(action::SendCheckpoint{});
}

Action Finish(Turn& turn, Step step) { return StateModel(turn, std::move(step), false); }

Action On(Turn& turn, state::SendingAttestation at, const event::Attested& event) {
  const uint32_t round = turn.here.holding.next_round;
  turn.here.stated =
      event.with_checkpoint ? Stated(stated::All{round}) : Stated(stated::Attested{round});
  return StateModel(turn, std::move(at.step), at.acts);
}

Action On(Turn& turn, state::SendingCheckpoint at, const event::Done&) {
  turn.here.stated = stated::All{turn.here.holding.next_round};
  return GoOn(turn, std::move(at.step), at.acts);
}

Action On(Turn& turn, state::SendingObjection at, const event::Done&) {
  return EndStep(turn, std::move(at.step));
}

}  // namespace tacet::member
