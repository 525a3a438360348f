// Events: what a member's driver tells its state machine (docs/design/member.md).
#ifndef TACET_MEMBER_MEMBER_EVENT_H_
#define TACET_MEMBER_MEMBER_EVENT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"

#include "tacet/crypto/hash.h"
#include "tacet/protocol/announcement.h"
#include "tacet/protocol/attestation.h"
#include "tacet/protocol/checkpoint.h"
#include "tacet/protocol/epoch_opening.h"

namespace tacet::member {

// The state that a member has: with which round it begins.
struct Holding {
  uint32_t next_round = 0;
  protocol::StateDigests digests;  // under the epoch's key
};

namespace event {

struct Begin {};  // a step
struct Done {};   // the action, which has no other result
struct Failed {   // the action, or a note: the step ends, and the next one acts on the same news
  absl::Status why;
};

struct Announced {
  std::shared_ptr<const protocol::Announcement> told;
};
struct NotAnnounced {  // this member is not admitted, or the answer is
  bool unreadable = false;
  std::string why;
};

struct OpeningHeard {
  std::vector<protocol::OpeningStatement> statements = {};        // signed by their seats
  std::optional<protocol::OpeningState> own_vote = std::nullopt;  // kept here
};
struct EarlierRead {
  std::optional<protocol::OpeningState> earlier = std::nullopt;
};
struct SumFetched {
  std::optional<uint32_t> participants = std::nullopt;  // none: it cannot be decrypted (yet)
};
struct AttestationsHeard {
  std::vector<protocol::Attestation> attestations = {};  // signed by their members
};
struct CheckpointFetched {
  bool found = false;
};
struct StateReached {
  Holding holding;
};

struct Attested {
  bool with_checkpoint = false;  // that was sent, too, taken or not
};

struct CoinTossed {
  bool heads = false;
};
struct UploadFound {
  bool found = false;
};
struct UploadKept {
  bool lost = false;  // the server says that it lacks it
};
struct SealingCharged {
  std::optional<std::string> refused =
      std::nullopt;         // why this member's data must not be in the attempt
  bool was_sealed = false;  // an update may have been sealed for the attempt before
  bool abstains = false;    // the refusal is of a budget, and may be said
};
struct Trained {
  std::optional<std::string> failed = std::nullopt;  // why zeros are sealed instead
};
struct Sealed {
  bool finite = true;  // else the update was sealed as zeros
};
struct UploadSent {
  enum class Answer : uint8_t { kTaken, kHasAnother, kHasAnotherPacket, kNotTaken };
  Answer answer = Answer::kTaken;
  std::string why = {};
  uint64_t bytes = 0;
  crypto::Digest digest{};
};

struct ClosedRoundFetched {
  enum class Kind : uint8_t { kNotThere, kUnreadable, kRead };
  Kind kind = Kind::kRead;
  std::string why = {};
  uint32_t participants = 0;
  bool has_own = false;  // this member's upload is in it
};
struct VoteRecorded {
  std::optional<std::string> refused = std::nullopt;  // why nothing was signed
};
struct VotesFetched {
  bool over = false;              // the server has none any more
  std::set<uint32_t> seats = {};  // that voted for the round that this member voted for, itself too
  bool all_voted = false;         // for whatever
};
struct SumJudged {
  // kDoubtful: unsound with the shares that are there, and more of them may help.
  enum class Kind : uint8_t { kSound, kTooFewShares, kDoubtful, kUnsound };
  Kind kind = Kind::kSound;
  std::string why = {};
  bool shows_wrong_shares = false;  // so many shares are there
};

struct AnchorMade {
  std::optional<std::string> failed = std::nullopt;  // why it cannot be written now
};

}  // namespace event

using Event =
    std::variant<event::Begin, event::Done, event::Failed, event::Announced, event::NotAnnounced,
                 event::OpeningHeard, event::EarlierRead, event::SumFetched,
                 event::AttestationsHeard, event::CheckpointFetched, event::StateReached,
                 event::Attested, event::CoinTossed, event::UploadFound, event::UploadKept,
                 event::SealingCharged, event::Trained, event::Sealed, event::UploadSent,
                 event::ClosedRoundFetched, event::VoteRecorded, event::VotesFetched,
                 event::SumJudged, event::AnchorMade>;

}  // namespace tacet::member

#endif  // TACET_MEMBER_MEMBER_EVENT_H_
