// Opening of an epoch at a round server: with which round it begins, as its attestors say.
#include <algorithm>
#include <map>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/protocol/attestation.h"
#include "tacet/server/round_server.h"

namespace tacet::server {

// A member attests what it has, what it had before its last round, and what it gets in the opening.
absl::Status RoundServer::NoteForOpening(const protocol::Attestation& attestation,
                                         std::span<const uint8_t> bytes) {
  constexpr int kMaxRounds = 2;
  if (attestation.round > spec().rounds) {
    return base::FailedPrecondition("attestation for round {}: the agreement has {} rounds",
                                    attestation.round, spec().rounds);
  }
  const auto others = std::ranges::count_if(opening_, [&](const auto& round) {
    return round.first != attestation.round && round.second.contains(attestation.member);
  });
  const bool comes_next = state_->is_decided() && attestation.round == state_->finished();
  if (others >= kMaxRounds && !comes_next) {
    return base::FailedPrecondition(
        "attestation for round {}: this member has attested {} other rounds in this epoch",
        attestation.round, others);
  }
  const auto [known, is_new] = opening_[attestation.round].try_emplace(
      attestation.member, OpeningAttestation{attestation, {bytes.begin(), bytes.end()}});
  if (known->second.stated != attestation) {
    return base::AlreadyExists("another attestation of this member for round {} was accepted",
                               attestation.round);
  }
  if (is_new) CountRevision(false);
  return absl::OkStatus();
}

std::optional<uint32_t> RoundServer::AttestedRound() const {
  const size_t quorum = protocol::StateQuorum(manifest_.manifest());
  for (auto round = opening_.rbegin(); round != opening_.rend(); ++round) {
    std::map<std::pair<crypto::Digest, crypto::Digest>, size_t> supporters;
    for (const auto& [member, attestation] : round->second) {
      if (!CheckOnCommittee(member).ok()) continue;
      const protocol::Attestation& stated = attestation.stated;
      if (++supporters[{stated.model_digest, stated.state_digest}] >= quorum) return round->first;
    }
  }
  return std::nullopt;
}

bool RoundServer::HasHeardSeatsHere() const {
  const uint64_t now = clock_();
  for (const secagg::CommitteeSeat& seat : manifest_.manifest().committee()) {
    bool heard = !attendance_.IsHere(seat.member, now);
    for (const auto& [round, attestations] : opening_) {
      heard = heard || attestations.contains(seat.member);
    }
    if (!heard) return false;
  }
  return true;
}

// Attestations are never taken back: the round can only grow, until its first attempt begins.
absl::Status RoundServer::DecideOpening() {
  const std::optional<uint32_t> round = AttestedRound();
  if (!round.has_value() || (state_->is_decided() && *round == state_->finished())) {
    return absl::OkStatus();
  }
  const uint64_t now = clock_();
  if (!attested_since_.has_value() || *attested_since_ > now) attested_since_ = now;
  // A seat that says nothing is not waited for.
  if (!HasHeardSeatsHere() && now - *attested_since_ <= options_.grace_seconds) {
    return absl::OkStatus();
  }
  TACET_RETURN_IF_ERROR(state_->OpenAt(*round));
  attested_.clear();
  for (const auto& [member, attestation] : opening_[*round]) {
    TACET_RETURN_IF_ERROR(state_->Put(ItemKind::kAttestation, member, attestation.bytes));
    attested_.try_emplace(member, attestation.stated.model_digest);
  }
  CountRevision(true);
  return Sweep();  // before an attempt begins, whose uploads would be swept
}

}  // namespace tacet::server
