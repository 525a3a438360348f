#include "tacet/member/member_opening.h"

#include <algorithm>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/member/attestors.h"
#include "tacet/secagg/attempt.h"
#include "tacet/secagg/attempt_keys.h"
#include "tacet/secagg/closed_round.h"

namespace tacet::member {
namespace {

uint64_t MostClosedRoundBytes(const secagg::Terms& terms) {
  constexpr uint64_t kFixed = 256;
  return kFixed + sizeof(secagg::SealNonce) * uint64_t{terms.max_participants()} +
         terms.aggregation().closed_sum_bytes();
}

// What is wrong with a closed round before anybody looks at its sum.
std::optional<Suspicion> CheckCount(const secagg::ClosedRound& round,
                                    const protocol::AnnouncedAttempt& current) {
  if (round.nonces.size() == current.participants) return std::nullopt;
  return Suspicion{violations::kParticipants,
                   fmt::format("{} participants were announced, the closed round has {}",
                               current.participants, round.nonces.size())};
}

}  // namespace

void MemberOpening::Begin(const secagg::Attempt& attempt) {
  attempt_ = attempt;
  openers_ = OpenersOf(parts_.manifest, parts_.epoch_key, attempt);
  opener_.reset();
  done_ =
      std::ranges::find(openers_, parts_.member, &secagg::OpenerIdentity::member) == openers_.end();
}

absl::StatusOr<MemberOpening::Outcome> MemberOpening::Act(
    const protocol::AnnouncedAttempt& current, const std::optional<secagg::SealNonce>& own) {
  if (attempt_ != current.attempt) Begin(current.attempt);
  if (done_) return Outcome::kNothing;
  if (opener_ == nullptr) {
    TACET_ASSIGN_OR_RETURN(const Outcome reviewed, Review(current, own));
    if (reviewed != Outcome::kWaiting) return reviewed;
  }
  return Open();
}

absl::Status MemberOpening::Settle(std::string_view what, const absl::Status& sent) {
  if (sent.ok() || protocol::IsRetryable(sent)) return sent;
  return notes_.Note(fmt::format("{}-not-taken", what), attempt_->number, base::Message(sent));
}

absl::StatusOr<MemberOpening::Outcome> MemberOpening::Refuse(const Suspicion& suspicion) {
  TACET_RETURN_IF_ERROR(notes_.Violation(suspicion, attempt_->number));
  TACET_RETURN_IF_ERROR(Settle("refusal", parts_.server.PutRefusal(*attempt_)));
  TACET_RETURN_IF_ERROR(notes_.Sent("refusal", attempt_->number, {}));
  done_ = true;
  return Outcome::kNothing;
}

absl::StatusOr<MemberOpening::Outcome> MemberOpening::Review(
    const protocol::AnnouncedAttempt& current, const std::optional<secagg::SealNonce>& own) {
  const secagg::Terms& terms = parts_.manifest.manifest().terms();
  const secagg::AttemptNumber number = attempt_->number;
  TACET_RETURN_IF_ERROR(notes_.Asked("opening", number));
  const absl::StatusOr<base::Bytes> closed =
      parts_.server.Fetch({.kind = protocol::BulkKind::kClosedRound, .attempt = *attempt_}, 0,
                          MostClosedRoundBytes(terms));
  if (!closed.ok()) {
    if (protocol::IsRetryable(closed.status())) return closed.status();
    // Over, as far as the server says; what it would have had to give cannot be judged.
    TACET_RETURN_IF_ERROR(notes_.Note("no-closed-round", number, base::Message(closed.status())));
    return Outcome::kNothing;
  }
  const absl::StatusOr<secagg::ClosedRound> round =
      secagg::ReadClosedRound(*closed, *attempt_, terms.aggregation(), terms.min_participants());
  if (!round.ok()) return Refuse({violations::kClosedRound, base::Message(round.status())});
  if (const auto count = CheckCount(*round, current)) return Refuse(*count);
  if (own.has_value() && !std::ranges::binary_search(round->nonces, *own)) {
    TACET_ASSIGN_OR_RETURN(
        const Outcome refused,
        Refuse({violations::kDroppedUpload,
                "this member's upload was acknowledged and is not in the closed round"}));
    (void)refused;
    return Outcome::kDropped;
  }
  TACET_ASSIGN_OR_RETURN(
      std::unique_ptr<secagg::Opener> opener,
      secagg::Opener::Create(
          terms, *attempt_,
          secagg::DeriveAttemptKeys(parts_.epoch_key, terms.aggregation().scheme(), *attempt_),
          openers_, parts_.member, parts_.signing_key, parts_.state, parts_.entropy));
  const absl::StatusOr<base::Bytes> vote = opener->Review(*closed);
  if (!vote.ok()) {
    if (protocol::IsRetryable(vote.status())) return vote.status();  // the journal's disk
    return Refuse({violations::kClosedRound, base::Message(vote.status())});
  }
  const absl::Status sent = parts_.server.PutVote(*attempt_, *vote);
  TACET_RETURN_IF_ERROR(Settle("vote", sent));
  if (sent.ok()) TACET_RETURN_IF_ERROR(notes_.Sent("vote", number, *vote));
  opener_ = std::move(opener);
  return Outcome::kWaiting;
}

absl::StatusOr<MemberOpening::Outcome> MemberOpening::Open() {
  const secagg::AttemptNumber number = attempt_->number;
  const absl::StatusOr<std::vector<base::Bytes>> votes = parts_.server.FetchVotes(*attempt_);
  if (!votes.ok()) {
    if (protocol::IsRetryable(votes.status())) return votes.status();
    return Outcome::kNothing;  // over, as far as the server says
  }
  const absl::StatusOr<base::Bytes> opened = opener_->Open(*votes);
  if (!opened.ok()) {
    if (protocol::IsRetryable(opened.status())) return opened.status();
    if (opened.status().code() != absl::StatusCode::kFailedPrecondition) {
      return Refuse({violations::kUnsoundSum, base::Message(opened.status())});
    }
    // No majority signed the same: fine as long as votes are missing.
    if (votes->size() >= openers_.size()) {
      TACET_RETURN_IF_ERROR(
          notes_.Violation({violations::kVotesDisagree, base::Message(opened.status())}, number));
    }
    return Outcome::kWaiting;
  }
  const absl::Status sent =
      parts_.server.Put({.kind = protocol::BulkKind::kOpenedSum, .attempt = *attempt_}, *opened);
  TACET_RETURN_IF_ERROR(Settle("opened-sum", sent));
  if (sent.ok()) TACET_RETURN_IF_ERROR(notes_.Sent("opened-sum", number, *opened));
  done_ = true;
  return Outcome::kNothing;
}

}  // namespace tacet::member
