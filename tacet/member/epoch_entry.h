// A member's entry into an epoch that goes on with a training (docs/design/rounds.md).
#ifndef TACET_MEMBER_EPOCH_ENTRY_H_
#define TACET_MEMBER_EPOCH_ENTRY_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/member/member_model.h"
#include "tacet/member/member_notes.h"
#include "tacet/member/member_parts.h"
#include "tacet/protocol/announcement.h"
#include "tacet/protocol/epoch_opening.h"

namespace tacet::member {

// A seat says what it has, and votes once, for a state that enough seats have and that it can go on
// with. It goes back only where its own state cannot be that of the epoch. Every member takes the
// state that a quorum voted for, and nothing without a quorum or behind it: two quorums share an
// honest seat, so all members of an epoch begin with one state, whatever the server says to whom.
class EpochEntry {
 public:
  // All must outlive it.
  EpochEntry(const MemberParts& parts, MemberNotes& notes, MemberModel& model)
      : parts_(parts), notes_(notes), model_(model) {}

  struct Outcome {
    // A quorum has voted, and this member has that state, or an earlier one and can catch up.
    bool entered = false;
    bool waits = false;  // for what other seats say
    // Of the rounds that this member has taken back.
    std::optional<uint32_t> first_undone = std::nullopt;
  };
  // Does this member's part as far as the others' statements allow; to be called at each
  // announcement until an attempt of the epoch was taken note of. The same call again changes
  // nothing. Errors that IsRetryable; the log's and the state's.
  absl::StatusOr<Outcome> Enter(const protocol::Announcement& announcement);

 private:
  using Statements = std::vector<base::Bytes>;

  // Votes are asked for a state of this round.
  absl::Status Speak(const Statements& statements, const protocol::OpeningTally& said,
                     uint32_t asked);
  // What the vote relied on, where the server hands out too little of it.
  absl::Status PutReasons(const Statements& vote, const protocol::OpeningTally& said);
  protocol::OpeningStatement Own(protocol::OpeningWord word,
                                 const protocol::OpeningState& state) const;
  base::Bytes Signed(const protocol::OpeningStatement& statement) const;
  absl::Status Put(std::string_view what, const base::Bytes& statement);
  // The vote that this seat has given in this epoch, and the statements that it relied on; empty
  // when it gave none. A vote that only the server has is kept again.
  absl::StatusOr<Statements> OwnVote(const Statements& statements,
                                     const protocol::OpeningTally& said);

  // What this member has, and had before its last round.
  absl::StatusOr<protocol::OpeningStatement> OwnStates();
  protocol::OpeningState OwnState() const;
  // Whether this member has the state, or is behind it.
  bool IsAtOrBehind(const protocol::OpeningState& state) const;
  // Whether this member can go on with the state. It goes back only after a quorum was heard that
  // does not have its own state, or if enough votes are for others; and not behind a state for
  // which it gave its unmask share: it has no earlier one then.
  absl::StatusOr<bool> CanBeginWith(const protocol::OpeningState& state,
                                    const protocol::OpeningTally& said) const;
  absl::StatusOr<Outcome> BeginWith(const protocol::OpeningState& state,
                                    const protocol::Announcement& announcement);

  const MemberParts& parts_;
  MemberNotes& notes_;
  MemberModel& model_;
  std::optional<protocol::OpeningStatement> own_states_;
};

}  // namespace tacet::member

#endif  // TACET_MEMBER_EPOCH_ENTRY_H_
