#include "tacet/server/wrong_shares.h"

#include <span>

#include "tacet/base/status.h"
#include "tacet/secagg/check_row.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/server/server_store_rules.h"

namespace tacet::server {
namespace {

absl::StatusOr<SharesChecked> FindAll(const agreement::Manifest& manifest, BlobStore& blobs,
                                      const CheckShares& check) {
  const he::AggregationParams& params = manifest.terms().aggregation();
  const auto read = [&](protocol::BulkKind kind,
                        const Submission& kept) -> absl::StatusOr<base::Bytes> {
    TACET_ASSIGN_OR_RETURN(const crypto::Digest digest, DigestFrom(kept.bytes()));
    return blobs.Read(BlobKeyOf({kind, check.attempt}, kept.member), digest);
  };
  std::vector<base::Bytes> rows;
  for (const Submission& row : check.rows) {
    TACET_ASSIGN_OR_RETURN(rows.emplace_back(), read(protocol::BulkKind::kCheckRow, row));
  }
  if (rows.size() <= params.sharing().threshold()) return SharesChecked();
  TACET_ASSIGN_OR_RETURN(const base::Bytes closed,
                         read(protocol::BulkKind::kClosedRound, check.closed_round[0]));
  TACET_ASSIGN_OR_RETURN(
      const secagg::ClosedRound round,
      secagg::ReadClosedRound(closed, check.attempt, params, manifest.terms().min_participants()));
  TACET_ASSIGN_OR_RETURN(const base::Bytes roster_bytes,
                         read(protocol::BulkKind::kRoster, check.roster[0]));
  TACET_ASSIGN_OR_RETURN(
      const secagg::Roster roster,
      secagg::ReadRoster(roster_bytes, check.attempt, params.max_participants()));
  TACET_ASSIGN_OR_RETURN(const base::Bytes all, read(protocol::BulkKind::kShares, check.shares[0]));
  const size_t size = params.share_bytes();
  if (all.size() != size * roster.members.size()) {
    return base::DataLoss("the store holds {} bytes of shares of {} participants", all.size(),
                          roster.members.size());
  }
  std::vector<std::span<const uint8_t>> of_participants;
  for (size_t i = 0; i < roster.members.size(); ++i) {
    of_participants.push_back(std::span(all).subspan(i * size, size));
  }
  const he::WrongShares wrong =
      secagg::FindWrongParticipants(params, manifest.committee(), check.attempt,
                                    secagg::ClosedRoundHash(round), rows, of_participants);
  SharesChecked checked{.accused = {}, .disputed = wrong.named.empty()};
  checked.of_one_seat = checked.disputed && rows.size() < params.sharing().threshold() + 2;
  for (const size_t place : checked.disputed ? wrong.disputed : wrong.named) {
    checked.accused.push_back(roster.members[place]);
  }
  return checked;
}

}  // namespace

absl::StatusOr<SharesChecked> FindWrongShares(const agreement::Manifest& manifest, BlobStore& blobs,
                                              const CheckShares& check) {
  absl::StatusOr<SharesChecked> found = FindAll(manifest, blobs, check);
  if (found.ok() || found.status().code() == absl::StatusCode::kUnavailable) return found;
  return SharesChecked{.accused = {}, .objects_lost = true};
}

}  // namespace tacet::server
