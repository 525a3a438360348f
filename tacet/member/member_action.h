// Actions: what a member's state machine asks of its driver (docs/design/member.md).
#ifndef TACET_MEMBER_MEMBER_ACTION_H_
#define TACET_MEMBER_MEMBER_ACTION_H_

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/crypto/hash.h"
#include "tacet/member/member_memory.h"
#include "tacet/protocol/epoch_opening.h"
#include "tacet/protocol/objection.h"
#include "tacet/secagg/attempt.h"

namespace tacet::member {

enum class Progress {
  kUnchanged,  // no notification
  kActed,
  kDone,  // no attempt will follow, and all that was published is applied
};

// Each names the event that its success brings; event::Failed ends the step.
namespace action {

// The step is over: with an error that the loop judges, as if a call had failed.
struct EndStep {
  absl::StatusOr<Progress> result;
};
// event::Announced, event::NotAnnounced.
struct AwaitAnnouncement {
  uint64_t known_revision = 0;
  uint64_t listed_from = 0;  // attempts that were listed before
  bool unmasking = false;    // small changes count, too
};
// event::Done: it is durable.
struct SaveMemory {
  MemberMemory memory;
  bool anchored = false;  // a seat's anchor, if there is one, hears of the attempt first
};
// Forgets uploads and journal entries of other attempts. event::Done.
struct KeepOnly {
  secagg::AttemptNumber number;
};
// Charges what was announced and is not this member's to seal. event::Done.
struct Charge {
  std::vector<secagg::AttemptNumber> announced;
  std::optional<uint32_t> first_round =
      std::nullopt;  // of the announced ones, where it is not 0 anyway
};

// The opening of an epoch.

// event::OpeningHeard, with this seat's own vote if asked for.
struct FetchOpening {
  bool with_own_vote = false;
};
// event::EarlierRead.
struct ReadEarlier {};
// Makes durable, with the statements heard, that this seat votes for the state. event::Done.
struct KeepVote {
  protocol::OpeningState state;
  bool with_own = false;  // among them this seat's own SendStates
};
// event::Done for all three, whether the server takes it or not.
struct SendVote {};
struct SendReasons {};  // on which the vote relied
struct SendStates {
  protocol::OpeningStatement statement;
};

// Published rounds and states of others.

// The closed round, votes and unmask shares of a published attempt, decrypted. event::SumFetched.
struct FetchSum {
  secagg::Attempt attempt;
};
struct ApplySum {};  // that was fetched last. event::StateReached: it is durable.
// event::AttestationsHeard.
struct FetchAttestations {
  uint32_t round = 0;
};
// A checkpoint that holds exactly this state. event::CheckpointFetched.
struct FetchCheckpoint {
  protocol::OpeningState state;
};
// Takes the state that was fetched last. event::StateReached: it is durable.
struct InstallCheckpoint {
  std::optional<uint32_t> first_undone = std::nullopt;
};
// Takes the earlier state. event::StateReached: it is durable.
struct StepBack {
  uint32_t first_undone = 0;
};

// The beginning of the next round, for others.

struct SendAttestation {         // event::Attested, taken or not
  bool with_checkpoint = false;  // where it is small enough to travel with it
};
struct SendCheckpoint {};  // event::Done, taken or not
// Tells the server that this member's upload will hold none of its data. event::Done, taken or not.
struct SendAbstention {
  secagg::Attempt attempt;
};
// Tells the server why this member does not act on what it announces. event::Done, taken or not.
struct SendObjection {
  protocol::Objection objection;
};

// An upload.

// A secret coin that is heads with probability cohort / clients. event::CoinTossed.
struct TossCoin {};
// event::UploadFound.
struct FindUpload {
  secagg::Attempt attempt;
};
// Whether the server still has the upload that it accepted. event::UploadKept.
struct AskForUpload {
  secagg::Attempt attempt;
};
// event::SealingCharged.
struct ChargeForSealing {
  secagg::AttemptNumber number;
  std::vector<secagg::AttemptNumber> announced;
  std::optional<uint32_t> first_round = std::nullopt;
};
// event::Trained.
struct Train {
  secagg::Attempt attempt;
};
// Seals what was trained, or zeros. event::Sealed.
struct Seal {
  secagg::Attempt attempt;
  bool zeros = false;
};
// Keeps the sealed upload. event::Done: it is durable.
struct SaveUpload {
  secagg::Attempt attempt;
};
// The upload that was found or saved. event::UploadSent.
struct SendUpload {
  secagg::Attempt attempt;
};

// A seat at the end of an attempt.

// event::ClosedRoundFetched.
struct FetchClosedRound {
  secagg::Attempt attempt;
  bool has_upload = false;  // of this member, which was found
};
// Signs a vote for the closed round that was fetched, and makes it durable. event::VoteRecorded.
struct RecordVote {
  bool acknowledged = false;  // this member's upload was, so it must be in the roster
};
struct SendRoundVote {};  // event::Done, taken or not
struct FetchVotes {};     // event::VotesFetched
// No later epoch may begin behind this member's state. event::Done.
struct ForgetEarlier {};
struct RecordShare {};   // makes this seat's unmask share, durable. event::Done
struct SendShare {};     // event::Done, taken or not
struct DecryptSum {};    // with all unmask shares that there are. event::SumJudged
struct SendCheckRow {};  // event::Done, taken or not
struct SendVerdict {     // event::Done, taken or not
  bool confirmed = false;
};
// Makes the anchor of a seat that has none: with what its state has of the attempt, or without
// words in it, ever. event::AnchorMade.
struct MakeAnchor {
  std::optional<secagg::Attempt> open = std::nullopt;
  bool silent = false;
};
// Gives a server that has lost them what this seat has of the attempt: the closed round and its
// roster, as they were fetched, and its own unmask share. event::Done, taken or not.
struct GiveBack {
  secagg::Attempt attempt;
};

}  // namespace action

using OpeningAction = std::variant<action::FetchOpening, action::ReadEarlier, action::KeepVote,
                                   action::SendVote, action::SendReasons, action::SendStates>;
using StateAction =
    std::variant<action::FetchSum, action::ApplySum, action::FetchAttestations,
                 action::FetchCheckpoint, action::InstallCheckpoint, action::StepBack>;
using StatementAction = std::variant<action::SendAttestation, action::SendCheckpoint,
                                     action::SendAbstention, action::SendObjection>;
using UploadAction =
    std::variant<action::Charge, action::FindUpload, action::AskForUpload, action::ChargeForSealing,
                 action::Train, action::Seal, action::SaveUpload, action::SendUpload>;
using SeatAction = std::variant<action::FetchClosedRound, action::RecordVote, action::SendRoundVote,
                                action::FetchVotes, action::ForgetEarlier, action::RecordShare,
                                action::SendShare, action::DecryptSum, action::SendCheckRow,
                                action::SendVerdict, action::MakeAnchor, action::GiveBack>;
using Action = std::variant<action::EndStep, action::AwaitAnnouncement, action::SaveMemory,
                            action::KeepOnly, action::TossCoin, OpeningAction, StateAction,
                            StatementAction, UploadAction, SeatAction>;

}  // namespace tacet::member

#endif  // TACET_MEMBER_MEMBER_ACTION_H_
