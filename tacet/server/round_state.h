// State of a federation's rounds at its server, as a value. Each phase is a type.
//
// Most of it is what the store holds. A durable change is applied to the state by Apply and to the
// store by RoundStore: afterwards a state that is made from the store is the same. The rest is lost
// with the process: what seats said in an opening without voting, since when they are asked to
// unmask, since when objects are lost, pauses, revisions, objections, extensions.
#ifndef TACET_SERVER_ROUND_STATE_H_
#define TACET_SERVER_ROUND_STATE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"
#include "tacet/protocol/attestation.h"
#include "tacet/protocol/epoch_opening.h"
#include "tacet/protocol/member_request.h"
#include "tacet/protocol/objection.h"
#include "tacet/secagg/attempt.h"
#include "tacet/server/blob_store.h"
#include "tacet/server/exclusions.h"
#include "tacet/server/failures.h"
#include "tacet/server/round_rules.h"
#include "tacet/server/server_store.h"
#include "tacet/server/submissions.h"

namespace tacet::server {

// A published attempt whose closed round, votes and unmask shares can still be fetched.
struct KeptRound {
  secagg::Attempt attempt;
  Submissions closed_round = {};  // its digest
  Submissions votes = {};
  Submissions unmask_shares = {};
  Submissions abstentions = {};  // of participants

  friend bool operator==(const KeptRound&, const KeptRound&) = default;
};

// Phases of an opened epoch.

// No attempt is open, and one may follow.
struct BetweenAttempts {
  uint64_t pause_ends = 0;     // Unix seconds
  uint64_t pause_seconds = 0;  // of that pause
  // Since when enough members are here, in Unix seconds; nothing: they are not.
  std::optional<uint64_t> enough_since = std::nullopt;
};
// An attempt is open and takes the uploads of its cohort.
struct Collecting {
  std::vector<uint64_t> cohort = {};  // increasing; empty when members decide by coins
  Submissions accepted = {};          // uploads in the sum: digests
  Submissions lost = {};  // accepted before, but their bytes are gone: taken again, no others
  Submissions abstentions = {};
};
// The attempt is closed. The committee votes, gives unmask shares and verdicts.
struct Unmasking {
  std::vector<uint64_t> cohort = {};
  Submissions accepted = {};
  // Digests of the server's own objects; no shares where they are not to be checked.
  Submissions closed_round = {}, roster = {}, shares = {};
  Submissions votes = {}, unmask_shares = {}, check_rows = {};
  Submissions refusals = {}, confirmations = {};
  Submissions named = {};      // participants whose shares are wrong: the attempt fails
  uint64_t since = 0;          // since when seats are asked, as this process knows, Unix seconds
  bool answered = false;       // a quorum answered at the last deadline that this process saw
  Submissions abstained = {};  // abstentions of participants
};
// No attempt will follow.
struct Stopped {
  std::string why;
};
using Stage = std::variant<BetweenAttempts, Collecting, Unmasking, Stopped>;

struct AttestedModel {
  uint64_t member = 0;
  crypto::Digest model{};

  friend bool operator==(const AttestedModel&, const AttestedModel&) = default;
};

// The round that is continuing, or comes next, and its stage.
struct OpenedEpoch {
  uint32_t round = 0;
  Submissions attestations = {};
  std::vector<AttestedModel> attested = {};  // that they name, as far as they can be read
  Submissions checkpoints = {};
  Submissions abstentions = {};  // to the last attempt, where it failed with kTooFewGivers
  Stage stage = BetweenAttempts();
};

// Steps of an opening: too few seats were heard; a quorum was; votes are asked for.
struct Listening {};
struct Heard {
  uint64_t since = 0;  // Unix seconds
};
struct AskingForVotes {
  uint64_t since = 0;  // when a quorum was heard
  protocol::OpeningState candidate;
};

// The signed kHas of a seat. It is in no store: members say it again to a server
// that was restarted.
struct HeldState {
  protocol::OpeningStatement statement;
  base::Bytes bytes;
};

// No attempt of a later epoch than the training's first has begun, and the votes have not said with
// which round it begins: a round that was published last may be known to few of the members, and a
// server may have lost its store.
struct OpeningEpoch {
  protocol::OpeningTally tally;
  std::vector<HeldState> held = {};
  std::variant<Listening, Heard, AskingForVotes> step = Listening();
};

// An object that is needed and not there any more (lost_objects.h).
struct LostObject {
  StoredObject object;
  uint64_t since = 0;  // Unix seconds

  friend bool operator==(const LostObject&, const LostObject&) = default;
};

// The state's part of a key packet, which is whole in the store: its SHA-256, then that of its
// list. `packet` has the length of one for so many seats.
base::Bytes PacketDigests(std::span<const uint8_t> packet, size_t seats);
std::span<const uint8_t> PacketDigestIn(const Submission& digests);
crypto::Digest ListDigestIn(const Submission& digests);

using AttemptRecords = std::vector<AttemptRecord>;

struct RoundState {
  std::shared_ptr<const RoundRules> rules;
  // All attempts that the training has begun, in order; copies share them.
  std::shared_ptr<const AttemptRecords> attempts = std::make_shared<const AttemptRecords>();
  std::vector<KeptRound> kept = {};  // by round
  Submissions opening_votes = {};    // of this epoch, also once it is opened
  Submissions key_packets = {};      // of this epoch: PacketDigests
  Exclusions exclusions = {};        // by the ended attempts of this epoch
  std::variant<OpenedEpoch, OpeningEpoch> epoch = OpenedEpoch();
  bool draining = false;  // no further attempt begins
  bool paused = false;    // none begins until an operator resumes
  // When the store was read, in Unix seconds, if an attempt collects and no time has passed for it
  // since.
  std::optional<uint64_t> read_at = std::nullopt;
  // The members that the last check of shares named and that cannot be left out.
  std::vector<uint64_t> suspects = {};
  // To what is announced now, at most one of a member.
  std::vector<protocol::Objection> objections = {};
  // Times that the open attempt's deadline was moved since its members did not answer in time.
  uint32_t extensions = 0;
  // Files remain that nothing refers to any more.
  bool sweep_is_due = false;
  std::vector<LostObject> lost = {};
  uint64_t next_check = 0;      // of the objects, Unix seconds
  bool unchecked = true;        // they were not read since this process started
  uint64_t revision = 0;        // of everything that a seat waits for
  uint64_t phase_revision = 0;  // its last value that changed a phase
};

// For the state.

// The attempt that has not ended; null when there is none.
const AttemptRecord* OpenAttempt(const RoundState& state);
const OpenedEpoch* Opened(const RoundState& state);  // null in an opening
template <typename Phase>
const Phase* StageOf(const RoundState& state) {
  const OpenedEpoch* const opened = Opened(state);
  return opened == nullptr ? nullptr : std::get_if<Phase>(&opened->stage);
}
// Rounds published, in all epochs of the training. In an opening it is with which the epoch begins,
// 0 as long as that is not known.
uint32_t FinishedRounds(const RoundState& state);
// The last of them in the store, which in an opening the members may not have applied.
uint32_t LastPublished(const RoundState& state);
// Where attestations and checkpoints are kept.
secagg::AttemptNumber Beginning(const RoundState& state);
// Where votes of an epoch's opening, and key packets, are kept.
secagg::AttemptNumber OpeningNumber(uint32_t epoch);
// Whether `attempt` was published and nothing was begun since.
bool IsPublishedLast(const RoundState& state, const secagg::Attempt& attempt);
const KeptRound* FindKept(const RoundState& state, const secagg::Attempt& attempt);
// Submissions of this kind to the open attempt or to the round that comes next.
const Submissions& SubmissionsOf(const RoundState& state, ItemKind kind);
const Submission* Find(const RoundState& state, ItemKind kind, uint64_t member);
// Named, or on trial.
bool IsLeftOut(const RoundState& state, uint64_t member);
// For the open attempt, increasing; empty when members decide by coins.
const std::vector<uint64_t>& CohortOf(const RoundState& state);
// Members that may upload in this round.
uint64_t MayUpload(const RoundState& state);
// Among them, those that have not abstained from the attempt that collects.
uint64_t MayGive(const RoundState& state);
// Abstentions that can be fetched for this attempt; null where there are none.
const Submissions* AbstentionsOf(const RoundState& state, const secagg::Attempt& attempt);
// Whether the open attempt takes an upload of `member`.
bool IsInvited(const RoundState& state, uint64_t member);
// The model with which the next round begins, once enough members state the same one. Every member
// has the initial one and cannot lose it, so the seats that round 0 needs anyway name it: two
// quorums of them share an honest seat.
std::optional<crypto::Digest> StatedModel(const RoundState& state);

// Key of a member's object in the blob store. A checkpoint is found by its round: which model it is
// of is for its readers to see.
BlobKey BlobKeyOf(const protocol::BulkName& name, uint64_t member);

// Durable changes. The store makes each wholly or not at all.

// An attempt that collects; none is open.
struct BeginAttempt {
  AttemptRecord record;
  std::vector<uint64_t> cohort;
};
// A submission of a member.
struct PutItem {
  secagg::AttemptNumber at;
  Item item;
};
// Another phase or deadline of the open attempt, with items of it.
struct UpdateAttempt {
  AttemptRecord record;
  std::vector<Item> items;
};
// The end of the open attempt, published or, with a word why, failed.
struct EndAttempt {
  AttemptRecord record;
};
using Change = std::variant<BeginAttempt, PutItem, UpdateAttempt, EndAttempt>;

// Kinds of items that are forgotten when an attempt ends.
std::span<const ItemKind> ForgottenAt(protocol::AttemptPhase end);

// `change` must fit to the state.
void Apply(RoundState& state, const Change& change);

// A participant that an attempt named.
struct NamedIn {
  secagg::AttemptNumber at;
  Submission participant;
};

// The training as a store holds it.
struct StoredRounds {
  AttemptRecords attempts = {};
  std::vector<KeptRound> kept = {};
  Submissions opening_votes = {};
  Submissions key_packets = {};  // PacketDigests
  // Whether the epoch begins a training, or an attempt of it has begun; the rest is empty if not.
  bool is_opened = true;
  std::vector<uint64_t> cohort = {};    // of the open attempt
  std::vector<Item> of_attempt = {};    // of the open attempt
  std::vector<Item> of_beginning = {};  // attestations and checkpoints of the round
  std::vector<NamedIn> named = {};      // of all attempts of the epoch that have ended
  std::vector<Item> abstentions = {};   // OpenedEpoch::abstentions
};
// The statements in it that can be read: their signatures are checked once.
struct SignedStatements {
  std::vector<protocol::Attestation> attestations = {};
  std::vector<protocol::OpeningStatement> votes = {};
};

// The parts of `state` that the store does not hold stay.
void Replace(RoundState& state, const StoredRounds& stored, const SignedStatements& signed_ones);
// The epoch begins with `round`.
void OpenAt(RoundState& state, uint32_t round, std::span<const Item> of_beginning,
            const SignedStatements& signed_ones);

}  // namespace tacet::server

#endif  // TACET_SERVER_ROUND_STATE_H_
