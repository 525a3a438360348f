#include "tacet/member/member_unmasking.h"

#include <algorithm>
#include <utility>

#include "tacet/agreement/pair_keys.h"
#include "tacet/base/status.h"
#include "tacet/member/catching_up.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/round_decryption.h"
#include "tacet/secagg/vote.h"

namespace tacet::member {
namespace {

// What is wrong with a closed round before anybody looks at its sum.
std::optional<Suspicion> CheckCount(const secagg::ClosedRound& round,
                                    const protocol::AnnouncedAttempt& current) {
  if (round.nonces.size() == current.participants) return std::nullopt;
  return Suspicion{violations::kParticipants,
                   fmt::format("{} participants were announced, the closed round has {}",
                               current.participants, round.nonces.size())};
}

}  // namespace

void MemberUnmasking::Begin(const secagg::Attempt& attempt) {
  const agreement::Manifest& manifest = parts_.manifest.manifest();
  attempt_ = attempt;
  seat_ = secagg::SeatOf(manifest.committee(), parts_.member);
  keys_ = secagg::DeriveAttemptKeys(parts_.epoch_key, manifest.spec().scheme, attempt);
  pair_key_of_ = [this](uint64_t client) { return PairKeyOf(client); };
  closed_round_.clear();
  votes_.clear();
  committee_member_.reset();
  unmasked_ = checked_ = confirmed_ = false;
  done_ = !seat_.has_value();
}

absl::StatusOr<crypto::SecretBytes> MemberUnmasking::PairKeyOf(uint64_t client) {
  auto known = pair_keys_.find(client);
  if (known == pair_keys_.end()) {
    TACET_ASSIGN_OR_RETURN(crypto::SecretBytes key,
                           agreement::PairKeyOfClient(parts_.manifest.manifest(),
                                                      parts_.pair_secrets(), client, *seat_));
    known = pair_keys_.emplace(client, std::move(key)).first;
  }
  return crypto::SecretBytes::CopyOf(known->second.Expose());
}

absl::StatusOr<MemberUnmasking::Outcome> MemberUnmasking::Act(
    const protocol::AnnouncedAttempt& current, const secagg::OwnUpload& own) {
  if (attempt_ != current.attempt) Begin(current.attempt);
  if (done_) return Outcome::kNothing;
  if (committee_member_ == nullptr) {
    TACET_ASSIGN_OR_RETURN(const Outcome voted, Vote(current, own));
    if (voted != Outcome::kWaiting) return voted;
  }
  if (!unmasked_) {
    TACET_ASSIGN_OR_RETURN(const Outcome outcome, Unmask());
    if (!unmasked_) return outcome;
  }
  return Confirm();
}

absl::Status MemberUnmasking::Settle(std::string_view what, const absl::Status& sent) {
  if (sent.ok() || protocol::IsRetryable(sent)) return sent;
  return notes_.Note(fmt::format("{}-not-taken", what), attempt_->number, base::Message(sent));
}

absl::StatusOr<MemberUnmasking::Outcome> MemberUnmasking::Refuse(const Suspicion& suspicion) {
  TACET_RETURN_IF_ERROR(notes_.Violation(suspicion, attempt_->number));
  TACET_RETURN_IF_ERROR(Settle("refusal", parts_.server.PutVerdict(*attempt_, false)));
  TACET_RETURN_IF_ERROR(notes_.Sent("refusal", attempt_->number, {}));
  done_ = true;
  return Outcome::kNothing;
}

absl::StatusOr<MemberUnmasking::Outcome> MemberUnmasking::Vote(
    const protocol::AnnouncedAttempt& current, const secagg::OwnUpload& own) {
  const agreement::Manifest& manifest = parts_.manifest.manifest();
  const secagg::Terms& terms = manifest.terms();
  const secagg::AttemptNumber number = attempt_->number;
  TACET_RETURN_IF_ERROR(notes_.Asked("vote", number));
  absl::StatusOr<base::Bytes> closed = FetchClosedRound(parts_, *attempt_);
  absl::StatusOr<base::Bytes> roster =
      parts_.server.Fetch({.kind = protocol::BulkKind::kRoster, .attempt = *attempt_}, 0,
                          secagg::RosterBytes(terms.max_participants()));
  for (const absl::Status& status : {closed.status(), roster.status()}) {
    if (status.ok()) continue;
    if (protocol::IsRetryable(status)) return status;
    // Over, as far as the server says; what it would have had to give cannot be judged.
    TACET_RETURN_IF_ERROR(notes_.Note("no-closed-round", number, base::Message(status)));
    return Outcome::kNothing;
  }
  const absl::StatusOr<secagg::ClosedRound> round =
      secagg::ReadClosedRound(*closed, *attempt_, terms.aggregation(), terms.min_participants());
  if (!round.ok()) return Refuse({violations::kClosedRound, base::Message(round.status())});
  if (const auto count = CheckCount(*round, current)) return Refuse(*count);
  if (own.acknowledged && !std::ranges::binary_search(round->nonces, *own.nonce)) {
    TACET_RETURN_IF_ERROR(
        Refuse({violations::kDroppedUpload,
                "this member's upload was acknowledged and is not in the closed round"})
            .status());
    return Outcome::kDropped;
  }
  auto member = std::make_unique<secagg::CommitteeMember>(
      secagg::CommitteeMemberParts{.terms = terms,
                                   .committee = manifest.committee(),
                                   .signing_key = parts_.signing_key,
                                   .result_key = keys_.result_key,
                                   .pair_key_of = pair_key_of_,
                                   .journal = parts_.state,
                                   .entropy = parts_.entropy},
      *attempt_, *seat_, manifest.spec().sampling.clients, own);
  absl::StatusOr<base::Bytes> vote = member->Vote(*closed, *roster);
  if (!vote.ok()) {
    if (protocol::IsRetryable(vote.status())) return vote.status();  // the journal's disk
    return Refuse({violations::kClosedRound, base::Message(vote.status())});
  }
  const absl::Status sent = parts_.server.PutVote(*attempt_, *vote);
  TACET_RETURN_IF_ERROR(Settle("vote", sent));
  if (sent.ok()) TACET_RETURN_IF_ERROR(notes_.Sent("vote", number, *vote));
  closed_round_ = *std::move(closed);
  round_hash_ = secagg::ClosedRoundHash(*round);
  vote_ = *std::move(vote);
  committee_member_ = std::move(member);
  return Outcome::kWaiting;
}

absl::StatusOr<MemberUnmasking::Outcome> MemberUnmasking::Unmask() {
  const secagg::Committee& committee = parts_.manifest.manifest().committee();
  const secagg::AttemptNumber number = attempt_->number;
  absl::StatusOr<std::vector<base::Bytes>> votes = parts_.server.FetchVotes(*attempt_);
  if (!votes.ok()) {
    if (protocol::IsRetryable(votes.status())) return votes.status();
    return Outcome::kNothing;  // over, as far as the server says
  }
  const bool all_voted = votes->size() >= committee.size();
  votes->push_back(vote_);
  const absl::Status quorum =
      secagg::CheckVotes(*votes, round_hash_, *attempt_, committee,
                         parts_.manifest.manifest().terms().aggregation().sharing().votes());
  if (!quorum.ok()) {  // fine as long as votes are missing
    if (all_voted) {
      TACET_RETURN_IF_ERROR(
          notes_.Violation({violations::kVotesDisagree, base::Message(quorum)}, number));
    }
    return Outcome::kWaiting;
  }
  // What others apply with this share starts from this member's state: no later epoch goes back
  // behind it.
  TACET_RETURN_IF_ERROR(parts_.state.ForgetEarlierCheckpoint());
  TACET_ASSIGN_OR_RETURN(const base::Bytes share, committee_member_->Unmask(*votes));
  const absl::Status sent =
      parts_.server.Put({.kind = protocol::BulkKind::kUnmaskShare, .attempt = *attempt_}, share);
  TACET_RETURN_IF_ERROR(Settle("unmask-share", sent));
  if (sent.ok()) TACET_RETURN_IF_ERROR(notes_.Sent("unmask-share", number, share));
  votes_ = *std::move(votes);
  unmasked_ = true;
  return Outcome::kWaiting;
}

absl::StatusOr<MemberUnmasking::Outcome> MemberUnmasking::Confirm() {
  const agreement::Manifest& manifest = parts_.manifest.manifest();
  const secagg::AttemptNumber number = attempt_->number;
  TACET_ASSIGN_OR_RETURN(const std::vector<secagg::UnmaskShare> shares,
                         FetchUnmaskShares(parts_, notes_, *attempt_));
  const absl::StatusOr<secagg::DecryptedRound> decrypted = secagg::DecryptRound(
      manifest.terms(), manifest.committee(), *attempt_, keys_, closed_round_, votes_, shares);
  // More shares than recover a sum do not fit, or the sum is wrong: a participant's fault, or a
  // seat's. The server can find participants with wrong shares.
  const he::KeySharing& sharing = manifest.terms().aggregation().sharing();
  if (!decrypted.ok() && !checked_ && sharing.ShowsWrongShares(shares.size())) {
    TACET_ASSIGN_OR_RETURN(const base::Bytes row, committee_member_->CheckShares());
    const absl::Status sent =
        parts_.server.Put({.kind = protocol::BulkKind::kCheckRow, .attempt = *attempt_}, row);
    TACET_RETURN_IF_ERROR(Settle("check-row", sent));
    if (sent.ok()) TACET_RETURN_IF_ERROR(notes_.Sent("check-row", number, row));
    checked_ = true;
  }
  if (decrypted.status().code() == absl::StatusCode::kUnavailable) return Outcome::kWaiting;
  if (!decrypted.ok()) {
    return Refuse({violations::kUnsoundSum, base::Message(decrypted.status())});
  }
  confirmed_ = true;
  const absl::Status sent = parts_.server.PutVerdict(*attempt_, true);
  TACET_RETURN_IF_ERROR(Settle("confirmation", sent));
  if (sent.ok()) TACET_RETURN_IF_ERROR(notes_.Sent("confirmation", number, {}));
  done_ = true;
  return Outcome::kNothing;
}

}  // namespace tacet::member
