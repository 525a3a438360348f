// All that a member's state machine knows, and the states that it can be in
// (docs/design/member.md).
#ifndef TACET_MEMBER_MEMBER_SITUATION_H_
#define TACET_MEMBER_MEMBER_SITUATION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "tacet/member/epoch_entry.h"
#include "tacet/member/member_action.h"
#include "tacet/member/member_event.h"
#include "tacet/member/member_memory.h"
#include "tacet/member/node_event.h"
#include "tacet/member/past.h"
#include "tacet/protocol/announcement.h"
#include "tacet/protocol/epoch_opening.h"
#include "tacet/secagg/attempt.h"

namespace tacet::member {

// One announcement, while this member acts on it.
struct Step {
  std::shared_ptr<const protocol::Announcement> told;
  bool news = false;  // its revision is another one than before
};

// The step that follows when a memory is durable.
enum class Then : uint8_t {
  kEnd,
  kForgetOthers,
  kCatchUp,
  kSeekState,
  kActOrEnd,
  kChargeAll,
  kDecided
};

// Rounds that this member undoes to enter an epoch.
struct Undo {
  uint32_t first_undone = 0;
  uint32_t opened = 0;  // the round with which the epoch begins
};

// Each state waits for one result of one action, and names the event that brings it.
namespace state {

struct Resting {
  using Awaits = event::Begin;
};
struct Awaiting {
  using Awaits = event::Announced;  // or event::NotAnnounced
};
struct Saving {
  using Awaits = event::Done;
  Step step;
  MemberMemory next;
  Then then = Then::kEnd;
  std::optional<NodeEvent> note = std::nullopt;  // of what is remembered now
};
struct ForgettingOthers {
  using Awaits = event::Done;
  Step step;
};

// A seat without an anchor heard its first announcement.
struct MakingAnchor {
  using Awaits = event::AnchorMade;
  Step step;
  std::optional<secagg::AttemptNumber> silent = std::nullopt;  // in this attempt
};

// The opening of an epoch.
struct HearingOpening {
  using Awaits = event::OpeningHeard;
  Step step;
};
struct ReadingEarlier {
  using Awaits = event::EarlierRead;
  Step step;
  event::OpeningHeard heard;
};
struct Speaking {
  using Awaits = event::Done;
  Step step;
  OwnStates own;
  std::optional<protocol::OpeningState> opened = std::nullopt;
  std::vector<OpeningAction> turn = {};
  size_t next = 0;  // in `turn`
};
struct GoingBack {
  using Awaits = event::StateReached;
  Step step;
  Undo undo;
};

// The server has lost objects.
struct GivingBack {
  using Awaits = event::Done;
  Step step;
};

// Catching up.
struct FetchingSum {
  using Awaits = event::SumFetched;
  Step step;
  secagg::Attempt attempt;
};
struct ApplyingSum {
  using Awaits = event::StateReached;
  Step step;
  secagg::AttemptNumber number;
  uint32_t participants = 0;
};
// A state of the federation is looked for; `undo`: in the place of this member's own.
struct HearingVotes {
  using Awaits = event::OpeningHeard;
  Step step;
  std::optional<Undo> undo = std::nullopt;
};
struct HearingAttestations {
  using Awaits = event::AttestationsHeard;
  Step step;
  std::optional<Undo> undo = std::nullopt;
};
struct FetchingCheckpoint {
  using Awaits = event::CheckpointFetched;
  Step step;
  std::optional<Undo> undo = std::nullopt;
};
struct Installing {
  using Awaits = event::StateReached;
  Step step;
  std::optional<Undo> undo = std::nullopt;
};

// The beginning of the next round, for others. `acts`: on the attempt that is announced,
// afterwards.
struct SendingAttestation {
  using Awaits = event::Attested;
  Step step;
  bool acts = false;
};
struct SendingCheckpoint {
  using Awaits = event::Done;
  Step step;
  bool acts = false;
};
// At the end of a step.
struct SendingObjection {
  using Awaits = event::Done;
  Step step;
};

// The current attempt.
struct ChargingEnded {  // nothing is sealed in this step
  using Awaits = event::Done;
  Step step;
};
struct ChargingClosed {  // no upload is taken any more
  using Awaits = event::Done;
  Step step;
};
struct TossingCoin {
  using Awaits = event::CoinTossed;
  Step step;
  MemberMemory next;
};
struct AskingForUpload {
  using Awaits = event::UploadKept;
  Step step;
};
struct FindingUpload {
  using Awaits = event::UploadFound;
  Step step;
};
struct ChargingForSealing {
  using Awaits = event::SealingCharged;
  Step step;
};
struct ChargingForZeros {
  using Awaits = event::Done;
  Step step;
};
struct SendingAbstention {
  using Awaits = event::Done;
  Step step;
};
struct Training {
  using Awaits = event::Trained;
  Step step;
  bool gives_data = false;
};
struct Sealing {
  using Awaits = event::Sealed;
  Step step;
};
struct SavingUpload {
  using Awaits = event::Done;
  Step step;
};
struct SendingUpload {
  using Awaits = event::UploadSent;
  Step step;
};

// A seat at the end of an attempt.
struct FindingOwnUpload {
  using Awaits = event::UploadFound;
  Step step;
};
struct FetchingClosedRound {
  using Awaits = event::ClosedRoundFetched;
  Step step;
  bool acknowledged = false;  // this member's upload is there, and the server acknowledged it
};
struct RecordingVote {
  using Awaits = event::VoteRecorded;
  Step step;
};
struct SendingVote {
  using Awaits = event::Done;
  Step step;
};
struct FetchingVotes {
  using Awaits = event::VotesFetched;
  Step step;
};
struct ForgettingEarlier {
  using Awaits = event::Done;
  Step step;
};
struct RecordingShare {
  using Awaits = event::Done;
  Step step;
};
struct SendingShare {
  using Awaits = event::Done;
  Step step;
};
struct Decrypting {
  using Awaits = event::SumJudged;
  Step step;
};
struct SendingCheckRow {
  using Awaits = event::Done;
  Step step;
  event::SumJudged judged;
};
struct SendingVerdict {
  using Awaits = event::Done;
  Step step;
  bool distrusts = false;  // the attempt, because this member's upload was dropped
};

}  // namespace state

using State = std::variant<
    state::Resting, state::Awaiting, state::Saving, state::ForgettingOthers, state::HearingOpening,
    state::ReadingEarlier, state::Speaking, state::GoingBack, state::FetchingSum,
    state::ApplyingSum, state::HearingVotes, state::HearingAttestations, state::FetchingCheckpoint,
    state::Installing, state::SendingAttestation, state::SendingCheckpoint, state::SendingObjection,
    state::ChargingEnded, state::ChargingClosed, state::TossingCoin, state::AskingForUpload,
    state::FindingUpload, state::ChargingForSealing, state::ChargingForZeros,
    state::SendingAbstention, state::Training, state::Sealing, state::SavingUpload,
    state::SendingUpload, state::FindingOwnUpload, state::FetchingClosedRound, state::RecordingVote,
    state::SendingVote, state::FetchingVotes, state::ForgettingEarlier, state::RecordingShare,
    state::SendingShare, state::Decrypting, state::SendingCheckRow, state::SendingVerdict,
    state::GivingBack, state::MakingAnchor>;

// The progress of this seat with an attempt.
namespace seat {
struct Begun {};  // it has not voted, or not in this process
struct Voted {};
struct Unmasked {
  bool row_sent = false;
};
struct Silent {};  // all is said, or refused
}  // namespace seat
struct SeatWork {
  secagg::Attempt attempt;
  uint64_t deadline = 0;  // the earliest that the server announced while it is unmasking
  std::variant<seat::Begun, seat::Voted, seat::Unmasked, seat::Silent> progress = {};
  bool confirmed = false;  // this process decrypted the sum and found it sound
};

// The part of a round's beginning that this member has stated.
namespace stated {
struct Nothing {};
struct Attested {
  uint32_t round = 0;
};
struct All {  // with a checkpoint, where one is due
  uint32_t round = 0;
};
}  // namespace stated
using Stated = std::variant<stated::Nothing, stated::Attested, stated::All>;

struct RefusedUpload {
  secagg::Attempt attempt;
  int times = 0;
};

// The number of times that this seat gave again what the server has lost.
struct GivenBack {
  secagg::Attempt attempt;  // the current one
  int times = 0;
};

struct MemberSituation {
  Holding holding;
  std::optional<MemberMemory> memory;  // the durable one
  Past past = {};
  uint64_t reached = 0;  // when the next round could have begun, Unix seconds

  std::optional<uint64_t> known_revision = std::nullopt;  // acted on as a whole
  std::optional<uint32_t> finished = std::nullopt;        // rounds, as announced last
  // Announced in this epoch, as far as this process was told.
  std::vector<secagg::AttemptNumber> listed = {};
  bool entered = false;  // Machine::has_entered, before an attempt was announced
  bool waits = false;    // for votes or attestations: small changes count, too
  std::optional<OwnStates> own_states = std::nullopt;  // with the earlier one, once it was read
  Stated stated = stated::Nothing{};
  std::optional<RefusedUpload> refused = std::nullopt;
  std::optional<protocol::Objection> objection = std::nullopt;  // to be said in this step
  std::optional<SeatWork> seat = std::nullopt;
  std::optional<GivenBack> given_back = std::nullopt;

  State state = state::Resting{};
};

}  // namespace tacet::member

#endif  // TACET_MEMBER_MEMBER_SITUATION_H_
