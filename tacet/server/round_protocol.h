// Protocol of a federation's rounds at its server, without input or output: an event and a state go
// in, the next state and actions come out (docs/design/round-states.md has the tables).
//
// An attempt: collecting (uploads of the cohort, each once) -> unmasking (the closed round is given
// to members; the committee votes, gives unmask shares and confirms that the aggregate decrypts) ->
// published, once f + 1 seats confirmed, or failed at any step: too few uploads at the deadline,
// too many refusals, no confirmation although every seat answered, or a committee that stays away.
// It begins when enough members are here for it to succeed, because every attempt is charged; and
// it closes before its deadline when only members are missing that were not here.
// A failed attempt is followed by another with a new cohort, within the agreed number of attempts,
// after a pause when uploads were too few. After a refused sum the seats' check rows may name
// participants whose shares are wrong: these are left out of the round, or of more (exclusions.h),
// in which they neither count as here nor are invited, whatever is drawn. Where none is named, the
// next cohort has half the size, down to K_min, so that one bad participant does not stop the
// round. Where every member uploads, parts of the members are left out in turn. There another
// attempt with too few uploads would need the same members: the attempt is extended until enough
// have uploaded, and no other begins. There members whose budget has ended say so, and upload
// zeros: an attempt for which too few others remain ends, and no other begins. A published round is
// final once RoundRules::FinalQuorum members attest the same model. Then the next round begins.
// Until then votes and unmask shares are taken, so that members that cannot decrypt it yet will. A
// later epoch begins with the state for which protocol::OpeningQuorum seats vote under it, be it
// before or behind the last round published (docs/design/rounds.md).
#ifndef TACET_SERVER_ROUND_PROTOCOL_H_
#define TACET_SERVER_ROUND_PROTOCOL_H_

#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/protocol/abstention.h"
#include "tacet/server/attendance.h"
#include "tacet/server/round_state.h"

namespace tacet::server {

// Events. Signatures in them were checked, and so were the lengths of large objects' parts.

// The store was read, after a start or a call that failed.
struct StoreRead {
  StoredRounds stored;
  SignedStatements signed_ones;
};
struct TimePassed {};
struct DrainAsked {};
// By an operator: whether further attempts may begin. It survives StoreRead.
struct PauseAsked {
  bool paused = false;
};
using OperatorEvent = std::variant<DrainAsked, PauseAsked>;
struct VoteGiven {
  uint64_t member = 0;
  secagg::Attempt attempt;
  base::Bytes vote;
};
struct VerdictGiven {
  uint64_t member = 0;
  secagg::Attempt attempt;
  bool confirmed = false;
};
struct AttestationGiven {
  protocol::Attestation attestation;
  base::Bytes bytes;
};
struct OpeningStatementGiven {
  protocol::OpeningStatement statement;
  base::Bytes bytes;
};
struct AbstentionGiven {
  protocol::Abstention abstention;
  base::Bytes bytes;
};
struct ObjectionGiven {
  protocol::Objection objection;
};
// A large object, the last bytes of which are in the blob store. `whole` must outlive the actions.
struct ObjectArrived {
  uint64_t member = 0;
  protocol::BulkName name;
  uint64_t total = 0;  // bytes
  crypto::Digest digest{};
  std::span<const uint8_t> whole = {};
};
// Answers to the actions of the same names.
struct CohortDrawn {
  secagg::Attempt attempt;
  std::vector<uint64_t> cohort;  // increasing
};
struct UploadsLost {
  std::vector<uint64_t> members;
};
struct SumClosed {
  uint32_t participants = 0;
  crypto::Digest closed_round{};
  crypto::Digest roster{};
  std::optional<crypto::Digest> shares;  // nothing where they are not to be checked
};
struct SharesChecked {
  std::vector<uint64_t> accused;  // participants whose shares are wrong, or are in dispute
  bool disputed = false;          // they or seats are wrong
  bool of_one_seat = false;       // disputed, and one lying seat can have anybody there
  bool objects_lost = false;      // nothing was checked, since what it takes is not there any more
};
struct ObjectsChecked {
  std::vector<StoredObject> lost;
};
struct BeginningRead {
  uint32_t round = 0;
  std::vector<Item> items;
  SignedStatements signed_ones;
};
// Nothing happened: what the state by itself leads to.
struct Continue {};
using Event = std::variant<StoreRead, TimePassed, DrainAsked, VoteGiven, VerdictGiven,
                           AttestationGiven, OpeningStatementGiven, ObjectArrived, CohortDrawn,
                           UploadsLost, SumClosed, SharesChecked, BeginningRead, Continue,
                           AbstentionGiven, ObjectionGiven, ObjectsChecked, PauseAsked>;

// Actions besides durable changes (round_state.h).

// Draws a cohort from all clients: CohortDrawn.
struct DrawCohort {
  secagg::Attempt attempt;
  uint64_t size = 0;
};
// Makes the sum of the open attempt of what was accepted; UploadsLost where bytes are gone.
struct MakeSum {
  secagg::Attempt attempt;
  Submissions accepted;
};
struct AddUpload {
  uint64_t member = 0;
  std::span<const uint8_t> upload;
};
// Closes the sum and stores its objects: SumClosed.
struct CloseSum {
  secagg::Attempt attempt;
  Submissions key_packets;  // PacketDigests
};
// Looks for participants whose shares are wrong: SharesChecked.
struct CheckShares {
  secagg::Attempt attempt;
  Submissions shares, closed_round, roster;  // one each
  Submissions rows;
};
// Looks whether these are still there: ObjectsChecked. If `read`, with their digests, and damaged
// ones among `earlier` are forgotten, too.
struct CheckObjects {
  std::vector<StoredObject> objects;
  bool read = false;
  std::vector<StoredObject> earlier = {};  // of rounds that members may have missed
};
// Stores an object of the server itself that a member gave back. `whole` outlives it.
struct RestoreObject {
  protocol::BulkName name;
  std::span<const uint8_t> whole;
};
// Reads what was given to the beginning of a round: BeginningRead.
struct ReadBeginning {
  secagg::AttemptNumber at;
};
// Removes what nothing refers to any more: items of rounds before `forgotten_before`, and all
// objects but these and those on their way in.
struct Sweep {
  uint32_t forgotten_before = 0;
  std::vector<BlobKey> kept;
};
using Action =
    std::variant<BeginAttempt, PutItem, UpdateAttempt, EndAttempt, DrawCohort, MakeSum, AddUpload,
                 CloseSum, CheckShares, ReadBeginning, Sweep, CheckObjects, RestoreObject>;

// The server's clock and connections when an event happens.
struct Moment {
  uint64_t now = 0;  // Unix seconds
  const Attendance& attendance;
};

// At most one of the actions is a durable change, and it is the last but for MakeSum.
struct Step {
  RoundState next;
  std::vector<Action> actions;
};

// `next` is true once all actions succeeded, in their order; if one fails, `state` stays true as
// far as the store says so. The events to which actions lead follow, then Continue until it brings
// no action. A refused event has an error and changes nothing: its codes are RoundServer's.
absl::StatusOr<Step> Next(const RoundState& state, const Moment& moment, const Event& event);

}  // namespace tacet::server

#endif  // TACET_SERVER_ROUND_PROTOCOL_H_
