// A round server's answer to a refused sum: it checks each upload's shares with the rows that seats
// give, and leaves participants with wrong shares out for the rest of the round.
#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "tacet/base/status.h"
#include "tacet/secagg/check_row.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/upload.h"
#include "tacet/server/round_server.h"
#include "tacet/server/server_store_rules.h"

namespace tacet::server {
namespace {

// Participants are named: their shares are wrong unless more than f seats lie.
constexpr std::string_view kWrongShares = "wrong-shares";
// A participant or a seat is wrong.
constexpr std::string_view kDisputedShares = "disputed-shares";
// Shares of more uploads are not checked: they are read at once.
constexpr uint64_t kMaxCheckedShares = uint64_t{64} << 20;  // bytes

}  // namespace

absl::StatusOr<base::Bytes> RoundServer::CollectShares(std::span<const uint8_t> roster) const {
  const he::AggregationParams& params = manifest_.manifest().terms().aggregation();
  const secagg::Attempt& attempt = state_->Open()->attempt;
  TACET_ASSIGN_OR_RETURN(const secagg::Roster members,
                         secagg::ReadRoster(roster, attempt, params.max_participants()));
  const size_t size = params.share_bytes();
  if (size * members.members.size() > kMaxCheckedShares) return base::Bytes();
  base::Bytes shares(size * members.members.size());
  for (size_t i = 0; i < members.members.size(); ++i) {
    TACET_ASSIGN_OR_RETURN(
        const std::unique_ptr<BlobReader> upload,
        blobs_.Open(BlobKeyOf({protocol::BulkKind::kUpload, attempt}, members.members[i])));
    TACET_RETURN_IF_ERROR(
        upload->Read(secagg::SharesOffset(params), std::span(shares).subspan(i * size, size)));
  }
  return shares;
}

bool RoundServer::IsLeftOut(uint64_t member) const {
  return state_->Find(ItemKind::kLeftOut, member) != nullptr;
}

bool RoundServer::AllChecked() const {
  const Submissions& unmasked = state_->SubmissionsOf(ItemKind::kUnmaskShare);
  if (state_->SubmissionsOf(ItemKind::kShares).empty() ||
      !manifest_.manifest().terms().aggregation().sharing().ShowsWrongShares(unmasked.size())) {
    return true;  // nothing to check, or nothing to check with
  }
  for (const Submission& share : unmasked) {
    if (state_->Find(ItemKind::kCheckRow, share.member) == nullptr &&
        state_->Find(ItemKind::kConfirmation, share.member) == nullptr) {
      return false;
    }
  }
  return true;
}

uint64_t RoundServer::MostLeftOut() const {
  const accounting::SamplingParams& sampling = spec().sampling;
  const uint64_t drawn =
      sampling.method == accounting::Sampling::kFixedSize ? sampling.cohort : sampling.clients;
  return drawn - std::min<uint64_t>(drawn, manifest_.manifest().terms().min_participants());
}

absl::StatusOr<RoundServer::Accused> RoundServer::FindWrongShares() const {
  const agreement::Manifest& manifest = manifest_.manifest();
  const he::AggregationParams& params = manifest.terms().aggregation();
  const secagg::Attempt& attempt = state_->Open()->attempt;
  const auto read = [&](protocol::BulkKind kind,
                        const Submission& kept) -> absl::StatusOr<base::Bytes> {
    TACET_ASSIGN_OR_RETURN(const crypto::Digest digest, DigestFrom(kept.bytes));
    return blobs_.Read(BlobKeyOf({kind, attempt}, kept.member), digest);
  };
  const Submissions& shares = state_->SubmissionsOf(ItemKind::kShares);
  if (shares.empty()) return Accused();
  std::vector<base::Bytes> rows;
  for (const Submission& row : state_->SubmissionsOf(ItemKind::kCheckRow)) {
    TACET_ASSIGN_OR_RETURN(rows.emplace_back(), read(protocol::BulkKind::kCheckRow, row));
  }
  if (rows.size() <= params.sharing().threshold()) return Accused();
  TACET_ASSIGN_OR_RETURN(
      const base::Bytes closed,
      read(protocol::BulkKind::kClosedRound, state_->SubmissionsOf(ItemKind::kClosedRound)[0]));
  TACET_ASSIGN_OR_RETURN(
      const secagg::ClosedRound round,
      secagg::ReadClosedRound(closed, attempt, params, manifest.terms().min_participants()));
  TACET_ASSIGN_OR_RETURN(
      const base::Bytes roster_bytes,
      read(protocol::BulkKind::kRoster, state_->SubmissionsOf(ItemKind::kRoster)[0]));
  TACET_ASSIGN_OR_RETURN(const secagg::Roster roster,
                         secagg::ReadRoster(roster_bytes, attempt, params.max_participants()));
  TACET_ASSIGN_OR_RETURN(const base::Bytes all, read(protocol::BulkKind::kShares, shares[0]));
  const size_t size = params.share_bytes();
  if (all.size() != size * roster.members.size()) {
    return base::DataLoss("the store holds {} bytes of shares of {} participants", all.size(),
                          roster.members.size());
  }
  std::vector<std::span<const uint8_t>> of_participants;
  for (size_t i = 0; i < roster.members.size(); ++i) {
    of_participants.push_back(std::span(all).subspan(i * size, size));
  }
  const he::WrongShares wrong = secagg::FindWrongParticipants(
      params, manifest.committee(), attempt, secagg::ClosedRoundHash(round), rows, of_participants);
  Accused accused{.members = {}, .failure = wrong.named.empty() ? kDisputedShares : kWrongShares};
  for (const size_t place : wrong.named.empty() ? wrong.disputed : wrong.named) {
    accused.members.push_back(roster.members[place]);
  }
  return accused;
}

absl::StatusOr<bool> RoundServer::FailForWrongShares() {
  const absl::StatusOr<Accused> found = FindWrongShares();
  if (found.status().code() == absl::StatusCode::kUnavailable) return found.status();
  if (!found.ok()) return false;  // a damaged object: the attempt ends as if there were no check
  const size_t before = state_->SubmissionsOf(ItemKind::kLeftOut).size();
  if (found->members.empty() || before + found->members.size() > MostLeftOut()) return false;
  for (const uint64_t member : found->members) {
    TACET_RETURN_IF_ERROR(state_->Put(ItemKind::kLeftOut, member, {}));
  }
  TACET_RETURN_IF_ERROR(Finish(protocol::AttemptPhase::kFailed, found->failure));
  return true;
}

absl::Status RoundServer::FinishRefused() {
  TACET_ASSIGN_OR_RETURN(const bool failed, FailForWrongShares());
  return failed ? absl::OkStatus() : Finish(protocol::AttemptPhase::kFailed, kRefusedFailure);
}

}  // namespace tacet::server
