// Transitions of MemberMachine: functions of one state and one event, by subject.
#ifndef TACET_MEMBER_TURN_H_
#define TACET_MEMBER_TURN_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "tacet/agreement/signed_manifest.h"
#include "tacet/member/member_machine.h"
#include "tacet/member/member_situation.h"
#include "tacet/member/suspicion.h"

namespace tacet::member {

// One event at work.
struct Turn {
  const agreement::SignedManifest& manifest;
  uint64_t member = 0;
  uint64_t now = 0;
  MemberSituation& here;
  std::vector<Reaction::Note> notes;

  const agreement::ManifestSpec& spec() const { return manifest.manifest().spec(); }
};

// Facts.

// Whether an attempt of this epoch was announced to this member, or none has to be: a training
// begins with round 0.
bool HasBegun(const agreement::SignedManifest& manifest, const MemberSituation& here);
bool Distrusts(const MemberSituation& here, const secagg::AttemptNumber& number);
// Whether this member's seat says nothing in the attempt: it may have voted for what it does not
// know.
bool IsSilent(const MemberSituation& here, const secagg::AttemptNumber& number);
// Where the last announced attempt stands, for what is not about another one.
secagg::AttemptNumber Here(const Turn& turn);
protocol::OpeningState OwnState(const MemberSituation& here);
// The number of the first announced attempt's round, for the ledger of a later manifest.
std::optional<uint32_t> FirstRound(const Turn& turn);

// Lines of the log.

void Note(Turn& turn, NodeEventKind kind, std::string_view what, const secagg::AttemptNumber& at,
          std::string_view text = {});
void Violate(Turn& turn, const Suspicion& suspicion, const secagg::AttemptNumber& at);

// Has the server told at the end of this step why this member does not act on its announcement.
void Object(Turn& turn, protocol::ObjectionReason reason, const secagg::AttemptNumber& at);

// The parts of a step, in this order. Each continues with the next one.

// For a seat without an anchor: makes it. Then the opening, or the memory.
Action MakeAnchor(Turn& turn, Step step);
Action BeginOpening(Turn& turn, Step step);
Action RememberCurrent(Turn& turn, Step step);
// Gives again what the server has lost, if it says so, and then catches up.
Action GiveBack(Turn& turn, Step step);
Action CatchUp(Turn& turn, Step step);
// Looks for the federation's state where this member cannot decrypt what leads there.
Action SeekState(Turn& turn, Step step, std::optional<Undo> undo);
// The announced attempt, if it is of this member's round, else what ended.
Action ActOrEnd(Turn& turn, Step step);
Action ActOnCurrent(Turn& turn, Step step);
Action ChargeEnded(Turn& turn, Step step);
// Tells the server which state the next round begins with, when it is this member's turn.
Action StateModel(Turn& turn, Step step, bool acts);
// States the model, and ends.
Action Finish(Turn& turn, Step step);
Action EndStep(Turn& turn, Step step);

// Parts of them.

// Makes `next` durable where it is another memory.
Action Save(Turn& turn, Step step, MemberMemory next, Then then,
            std::optional<NodeEvent> note = std::nullopt);
// Nothing of the attempt is sealed, signed or applied.
Action Distrust(Turn& turn, Step step, const secagg::AttemptNumber& number, Then then);
Action Charge(const Turn& turn, std::vector<secagg::AttemptNumber> announced);
// All that was announced, with the current attempt, which a server that lies may not list.
Action ChargeAll(const Turn& turn, const secagg::AttemptNumber& current);
// `waits`: for what other seats say.
Action StayOutside(Turn& turn, Step step, bool waits);
Action EnterEpoch(Turn& turn, Step step);
Action EnterEpochUndoing(Turn& turn, Step step, const Undo& undo);
Action Participate(Turn& turn, Step step);
Action Unmask(Turn& turn, Step step);

template <typename S>
void Become(Turn& turn, S state) {
  turn.here.state = std::move(state);
}

// The transitions.

Action On(Turn& turn, state::Resting at, const event::Begin& event);
Action On(Turn& turn, state::Awaiting at, const event::Announced& event);
Action On(Turn& turn, state::Awaiting at, const event::NotAnnounced& event);
Action On(Turn& turn, state::Saving at, const event::Done& event);
Action On(Turn& turn, state::ForgettingOthers at, const event::Done& event);

Action On(Turn& turn, state::HearingOpening at, const event::OpeningHeard& event);
Action On(Turn& turn, state::ReadingEarlier at, const event::EarlierRead& event);
Action On(Turn& turn, state::Speaking at, const event::Done& event);
Action On(Turn& turn, state::GoingBack at, const event::StateReached& event);

Action On(Turn& turn, state::FetchingSum at, const event::SumFetched& event);
Action On(Turn& turn, state::ApplyingSum at, const event::StateReached& event);
Action On(Turn& turn, state::HearingVotes at, const event::OpeningHeard& event);
Action On(Turn& turn, state::HearingAttestations at, const event::AttestationsHeard& event);
Action On(Turn& turn, state::FetchingCheckpoint at, const event::CheckpointFetched& event);
Action On(Turn& turn, state::Installing at, const event::StateReached& event);

Action On(Turn& turn, state::SendingAttestation at, const event::Attested& event);
Action On(Turn& turn, state::SendingCheckpoint at, const event::Done& event);
Action On(Turn& turn, state::SendingObjection at, const event::Done& event);

Action On(Turn& turn, state::ChargingEnded at, const event::Done& event);
Action On(Turn& turn, state::ChargingClosed at, const event::Done& event);
Action On(Turn& turn, state::TossingCoin at, const event::CoinTossed& event);
Action On(Turn& turn, state::AskingForUpload at, const event::UploadKept& event);
Action On(Turn& turn, state::FindingUpload at, const event::UploadFound& event);
Action On(Turn& turn, state::ChargingForSealing at, const event::SealingCharged& event);
Action On(Turn& turn, state::ChargingForZeros at, const event::Done& event);
Action On(Turn& turn, state::SendingAbstention at, const event::Done& event);
Action On(Turn& turn, state::Training at, const event::Trained& event);
Action On(Turn& turn, state::Sealing at, const event::Sealed& event);
Action On(Turn& turn, state::SavingUpload at, const event::Done& event);
Action On(Turn& turn, state::SendingUpload at, const event::UploadSent& event);

Action On(Turn& turn, state::FindingOwnUpload at, const event::UploadFound& event);
Action On(Turn& turn, state::FetchingClosedRound at, const event::ClosedRoundFetched& event);
Action On(Turn& turn, state::RecordingVote at, const event::VoteRecorded& event);
Action On(Turn& turn, state::SendingVote at, const event::Done& event);
Action On(Turn& turn, state::FetchingVotes at, const event::VotesFetched& event);
Action On(Turn& turn, state::ForgettingEarlier at, const event::Done& event);
Action On(Turn& turn, state::RecordingShare at, const event::Done& event);
Action On(Turn& turn, state::SendingShare at, const event::Done& event);
Action On(Turn& turn, state::Decrypting at, const event::SumJudged& event);
Action On(Turn& turn, state::SendingCheckRow at, const event::Done& event);
Action On(Turn& turn, state::SendingVerdict at, const event::Done& event);
Action On(Turn& turn, state::GivingBack at, const event::Done& event);
Action On(Turn& turn, state::MakingAnchor at, const event::AnchorMade& event);

}  // namespace tacet::member

#endif  // TACET_MEMBER_TURN_H_
