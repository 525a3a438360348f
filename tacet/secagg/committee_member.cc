#include "tacet/secagg/committee_member.h"

#include <set>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/secagg/check_row.h"
#include "tacet/secagg/pair_masks.h"
#include "tacet/secagg/taken_lists.h"
#include "tacet/secagg/unmask_share.h"
#include "tacet/secagg/vote.h"

namespace tacet::secagg {
absl::Status RefusedForServer() { return base::PermissionDenied("refused"); }

CommitteeMember::CommitteeMember(const CommitteeMemberParts& parts, const Attempt& attempt,
                                 uint32_t seat, uint64_t clients, const OwnUpload& own)
    : parts_(parts), attempt_(attempt), seat_(seat), clients_(clients), own_(own) {}

absl::Status CommitteeMember::CheckRoster(const Roster& roster, const ClosedRound& round) const {
  if (roster.members.size() != round.nonces.size()) {
    return base::DataLoss("roster has {} members, the closed round has {} uploads",
                          roster.members.size(), round.nonces.size());
  }
  if (RosterDigest(roster) != round.roster_digest) {
    return base::DataLoss("the roster is not the one that the closed round names");
  }
  std::set<uint64_t> seen;
  const uint64_t self = parts_.committee[seat_].member;
  bool own = false;
  for (size_t i = 0; i < roster.members.size(); ++i) {
    const uint64_t member = roster.members[i];
    if (member >= clients_) {
      return base::DataLoss("the roster of round {} attempt {} names a member that is none",
                            attempt_.number.round, attempt_.number.attempt);
    }
    if (!seen.insert(member).second) {
      return base::DataLoss("the roster of round {} attempt {} names a member twice",
                            attempt_.number.round, attempt_.number.attempt);
    }
    if (member != self) continue;
    own = true;
    if (own_.nonce != round.nonces[i]) {
      return base::DataLoss(
          "the roster of round {} attempt {} has an upload in this member's name that this member "
          "did not send: look first for a second copy of this site's folder; else the server lies",
          attempt_.number.round, attempt_.number.attempt);
    }
  }
  if (own_.acknowledged && !own) {
    return base::DataLoss(
        "this member's upload was acknowledged, but is not in the roster of round {} attempt {}",
        attempt_.number.round, attempt_.number.attempt);
  }
  return absl::OkStatus();
}

absl::StatusOr<crypto::SecretBytes> CommitteeMember::PairKeyWith(const Roster& roster,
                                                                 size_t i) const {
  TACET_ASSIGN_OR_RETURN(ListedPairKey pair, parts_.pair_key_of(roster.members[i]));
  if (pair.list == roster.lists[i]) return std::move(pair.key);
  return base::FailedPrecondition(
      "the roster has another key packet of member {} than this seat was given: the member signed "
      "two, or the server lies",
      roster.members[i]);
}

absl::StatusOr<base::Bytes> CommitteeMember::Vote(std::span<const uint8_t> closed_round,
                                                  std::span<const uint8_t> roster_bytes) {
  TACET_ASSIGN_OR_RETURN(ClosedRound round,
                         ReadClosedRound(closed_round, attempt_, parts_.terms.aggregation(),
                                         parts_.terms.min_participants()));
  const crypto::Digest hash = ClosedRoundHash(round);
  if (voted_.has_value()) {
    if (voted_->hash == hash) return voted_->vote;
    return base::FailedPrecondition(
        "a second, different sum for round {} attempt {}: this member has voted for another one",
        attempt_.number.round, attempt_.number.attempt);
  }
  TACET_ASSIGN_OR_RETURN(Roster roster,
                         ReadRoster(roster_bytes, attempt_, parts_.terms.max_participants()));
  TACET_RETURN_IF_ERROR(CheckRoster(roster, round));
  TACET_ASSIGN_OR_RETURN(TakenLists taken, TakenLists::Read(parts_.journal, attempt_));
  TACET_RETURN_IF_ERROR(taken.Check(roster));
  // Without one of them no unmask share could follow.
  for (size_t i = 0; i < roster.members.size(); ++i) {
    TACET_RETURN_IF_ERROR(PairKeyWith(roster, i).status());
  }
  base::Bytes vote = WriteVote(attempt_, seat_, hash, parts_.signing_key);
  const absl::StatusOr<base::Bytes> recorded = parts_.journal.Find(attempt_, JournalStep::kVote);
  if (recorded.ok() && *recorded != vote) {  // Ed25519 is deterministic: another hash was signed
    return base::FailedPrecondition(
        "a second, different sum for round {} attempt {}: before a restart, this member voted for "
        "another one",
        attempt_.number.round, attempt_.number.attempt);
  }
  if (!recorded.ok()) {
    if (recorded.status().code() != absl::StatusCode::kNotFound) return recorded.status();
    TACET_RETURN_IF_ERROR(taken.Take(roster, parts_.journal));
    TACET_RETURN_IF_ERROR(parts_.journal.Record(attempt_, JournalStep::kVote, vote));
  }
  voted_ = Voted{
      .hash = hash, .nonces = std::move(round.nonces), .roster = std::move(roster), .vote = vote};
  return vote;
}

absl::StatusOr<base::Bytes> CommitteeMember::Unmask(std::span<const base::Bytes> votes) {
  if (!voted_.has_value()) {
    return base::FailedPrecondition("this member has not voted in round {} attempt {}",
                                    attempt_.number.round, attempt_.number.attempt);
  }
  absl::StatusOr<base::Bytes> recorded = parts_.journal.Find(attempt_, JournalStep::kUnmaskShare);
  if (recorded.ok() || recorded.status().code() != absl::StatusCode::kNotFound) return recorded;
  const he::KeySharing& sharing = parts_.terms.aggregation().sharing();
  std::vector<base::Bytes> all(votes.begin(), votes.end());
  all.push_back(voted_->vote);
  TACET_RETURN_IF_ERROR(CheckVotes(all, voted_->hash, attempt_, parts_.committee, sharing.votes()));
  MaskAccumulator masks(attempt_, sharing.mask_words());
  for (size_t i = 0; i < voted_->nonces.size(); ++i) {
    TACET_ASSIGN_OR_RETURN(const crypto::SecretBytes key, PairKeyWith(voted_->roster, i));
    masks.Add(key.Expose(), voted_->nonces[i]);
  }
  base::Bytes share = WriteUnmaskShare(masks.Finish().Expose(), attempt_, voted_->hash, seat_,
                                       parts_.result_key, parts_.signing_key, parts_.entropy);
  TACET_RETURN_IF_ERROR(parts_.journal.Record(attempt_, JournalStep::kUnmaskShare, share));
  return share;
}

absl::StatusOr<base::Bytes> CommitteeMember::CheckShares() const {
  const absl::Status given = parts_.journal.Find(attempt_, JournalStep::kUnmaskShare).status();
  if (!given.ok() && given.code() != absl::StatusCode::kNotFound) return given;
  if (!voted_.has_value() || !given.ok()) {
    return base::FailedPrecondition(
        "this member has given no unmask share in round {} attempt {}: it checks no shares before",
        attempt_.number.round, attempt_.number.attempt);
  }
  const he::KeySharing& sharing = parts_.terms.aggregation().sharing();
  const he::ShareCheck check = ShareCheckOf(sharing, voted_->hash);
  std::vector<he::ShareCombination> combinations;
  crypto::SecretVector<uint16_t> mask(sharing.mask_words());
  for (size_t i = 0; i < voted_->nonces.size(); ++i) {
    TACET_ASSIGN_OR_RETURN(const crypto::SecretBytes key, PairKeyWith(voted_->roster, i));
    ExpandMask(key.Expose(), attempt_, voted_->nonces[i], mask.Expose());
    combinations.push_back(check.Combine(mask.Expose()));
  }
  return WriteCheckRow(attempt_, voted_->hash, seat_, combinations, parts_.signing_key);
}

}  // namespace tacet::secagg
