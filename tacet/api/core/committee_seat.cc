#include "tacet/committee_seat.h"

#include <utility>

#include "tacet/agreement/pair_keys.h"
#include "tacet/api/core/parts.h"
#include "tacet/api/core/seat_parts.h"
#include "tacet/base/status.h"
#include "tacet/crypto/hash.h"
#include "tacet/secagg/key_packet.h"

namespace tacet {
namespace api {

std::string AnswerKey(const secagg::Attempt& attempt, secagg::JournalStep step) {
  base::ByteWriter bytes;
  secagg::WriteAttempt(attempt, bytes);
  return base::ToHex(crypto::Sha256(bytes.bytes())) + "-" +
         std::string(secagg::JournalStepName(step));
}

absl::Status CallersJournal::Record(const secagg::Attempt& attempt, secagg::JournalStep step,
                                    std::span<const uint8_t> message) {
  return journal_.record(AnswerKey(attempt, step), message);
}

absl::StatusOr<base::Bytes> CallersJournal::Find(const secagg::Attempt& attempt,
                                                 secagg::JournalStep step) const {
  TACET_ASSIGN_OR_RETURN(std::optional<Bytes> message, journal_.find(AnswerKey(attempt, step)));
  if (!message) return base::NotFound("nothing was recorded");
  return *std::move(message);
}

absl::StatusOr<PairKeys> PairKeysOf(const ClientParts& parts, uint32_t seat,
                                    std::span<const Bytes> key_packets) {
  const agreement::Manifest& manifest = ManifestOf(parts.agreement);
  const size_t seats = manifest.committee().size();
  PairKeys keys;
  for (const Bytes& packet : key_packets) {
    absl::StatusOr<secagg::KeyPacket> read = secagg::ReadKeyPacket(packet, seats);
    if (!read.ok() || keys.contains(read->owner.client)) continue;
    read->ciphertexts = {read->ciphertexts[seat]};
    absl::StatusOr<agreement::ClientPairKey> pair =
        agreement::PairKeyByPacket(manifest, parts.pair_secrets(), seat, *read);
    if (pair.status().code() == absl::StatusCode::kPermissionDenied) continue;
    TACET_RETURN_IF_ERROR(pair.status());
    keys.try_emplace(pair->client, secagg::ListedPairKey{pair->list, std::move(pair->key)});
  }
  return keys;
}

SeatParts::SeatParts(const Client& of, const secagg::Attempt& attempt, uint32_t seat,
                     PairKeys known, const OwnUpload& own, AnswerJournal answers)
    : client(of),
      keys(secagg::DeriveAttemptKeys(Access::Of(Access::Of(client).epoch_key).key,
                                     ManifestOf(Access::Of(client).agreement).spec().scheme,
                                     attempt)),
      pair_keys(std::move(known)),
      pair_key_of([this](uint64_t participant) -> absl::StatusOr<secagg::ListedPairKey> {
        const auto found = pair_keys.find(participant);
        if (found != pair_keys.end()) return found->second.Copy();
        return base::NotFound(
            "Seat was given no usable key packet of member {}: it is missing, damaged or of "
            "another agreement",
            participant);
      }),
      journal(std::move(answers)),
      member({.terms = ManifestOf(Access::Of(client).agreement).terms(),
              .committee = ManifestOf(Access::Of(client).agreement).committee(),
              .signing_key = Access::Of(Access::Of(client).key).signing,
              .result_key = keys.result_key,
              .pair_key_of = pair_key_of,
              .journal = journal,
              .entropy = entropy},
             attempt, seat, ManifestOf(Access::Of(client).agreement).spec().sampling.clients,
             {.nonce = own.nonce, .acknowledged = own.acknowledged}) {}

}  // namespace api

CommitteeSeat::CommitteeSeat(std::unique_ptr<api::SeatParts> parts) : parts_(std::move(parts)) {}
CommitteeSeat::~CommitteeSeat() = default;
CommitteeSeat::CommitteeSeat(CommitteeSeat&&) noexcept = default;
CommitteeSeat& CommitteeSeat::operator=(CommitteeSeat&&) noexcept = default;

absl::StatusOr<Bytes> CommitteeSeat::Vote(std::span<const uint8_t> closed_round,
                                          std::span<const uint8_t> roster) {
  return parts_->member.Vote(closed_round, roster);
}

absl::StatusOr<Bytes> CommitteeSeat::Unmask(std::span<const Bytes> votes) {
  return parts_->member.Unmask(votes);
}

}  // namespace tacet
