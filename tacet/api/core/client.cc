#include "tacet/client.h"

#include <utility>
#include <vector>

#include "tacet/agreement/aggregate_average.h"
#include "tacet/agreement/pair_keys.h"
#include "tacet/api/core/parts.h"
#include "tacet/api/core/seat_parts.h"
#include "tacet/base/status.h"
#include "tacet/crypto/random.h"
#include "tacet/dp/mechanism_plan.h"
#include "tacet/secagg/attempt_keys.h"
#include "tacet/secagg/committee.h"
#include "tacet/secagg/digest_key.h"
#include "tacet/secagg/round_decryption.h"
#include "tacet/secagg/sealer.h"

namespace tacet {
namespace {

secagg::AttemptKeys KeysOf(const api::ClientParts& parts, const secagg::Attempt& attempt) {
  return secagg::DeriveAttemptKeys(api::Access::Of(parts.epoch_key).key,
                                   api::ManifestOf(parts.agreement).spec().scheme, attempt);
}

Aggregate PublicAggregate(const agreement::Manifest& manifest, secagg::DecryptedRound decrypted) {
  Aggregate result;
  result.participants = decrypted.aggregate.participants;
  result.average.resize(decrypted.aggregate.sums.size());
  dp::Mechanism(manifest.terms().mechanism())
      .DecodeMean(decrypted.aggregate.sums, result.participants, result.average);
  result.sum = result.average;
  for (double& value : result.sum) value *= result.participants;
  agreement::DivideByExpected(manifest.spec(), result.participants, result.average);
  result.wrong_seats = std::move(decrypted.wrong_seats);
  return result;
}

}  // namespace

Client::Client(std::shared_ptr<const api::ClientParts> parts) : parts_(std::move(parts)) {}

absl::StatusOr<Client> Client::Create(const Agreement& agreement, uint64_t member,
                                      const MemberKey& key, const EpochKey& epoch_key) {
  const std::vector<MemberPublicKey>& members = agreement.options().members;
  if (member >= members.size()) {
    return base::InvalidArgument("member is {}, the agreement has members 0 to {}", member,
                                 members.size() - 1);
  }
  if (members[member] != key.public_key()) {
    return base::InvalidArgument(
        "the key is not the one that the agreement names for member {}: use the key whose public "
        "half was agreed, or agree again",
        member);
  }
  api::ClientParts parts{
      .agreement = agreement, .member = member, .key = key, .epoch_key = epoch_key, .keys = {}};
  TACET_ASSIGN_OR_RETURN(
      parts.keys, agreement::KeysWithSeats(api::ManifestOf(agreement), parts.pair_secrets(), member,
                                           api::Access::Of(agreement).seat_keys(),
                                           api::Access::Of(key).signing));
  return Client(std::make_shared<const api::ClientParts>(std::move(parts)));
}

const Bytes& Client::key_packet() const { return parts_->keys.packet; }

Digest Client::ModelDigest(std::span<const float> model) const {
  const agreement::Manifest& manifest = api::ManifestOf(parts_->agreement);
  return secagg::DigestKey::OfEpoch(api::Access::Of(parts_->epoch_key).key, manifest.spec().scheme,
                                    manifest.hash(), parts_->agreement.options().epoch)
      .OfModel(model);
}

absl::StatusOr<SealedUpdate> Client::Seal(const AttemptId& attempt,
                                          std::span<const float> update) const {
  TACET_ASSIGN_OR_RETURN(const secagg::Attempt identity,
                         api::AttemptOf(parts_->agreement, attempt));
  const secagg::Terms& terms = api::ManifestOf(parts_->agreement).terms();
  TACET_ASSIGN_OR_RETURN(const auto sealer,
                         secagg::Sealer::Create(terms, identity, KeysOf(*parts_, identity)));
  crypto::SystemEntropy entropy;
  TACET_ASSIGN_OR_RETURN(secagg::SealedUpload sealed,
                         sealer->Seal(update, parts_->keys.pair_keys, entropy));
  return SealedUpdate{
      .upload = std::move(sealed.bytes),
      .nonce = sealed.nonce,
      .clip = {
          .norm = sealed.clip.norm, .finite = sealed.clip.finite, .clipped = sealed.clip.clipped}};
}

absl::StatusOr<CommitteeSeat> Client::Seat(const AttemptId& attempt,
                                           std::span<const Bytes> key_packets, const OwnUpload& own,
                                           const AnswerJournal& journal) const {
  TACET_ASSIGN_OR_RETURN(const secagg::Attempt identity,
                         api::AttemptOf(parts_->agreement, attempt));
  const std::optional<uint32_t> seat =
      secagg::SeatOf(api::ManifestOf(parts_->agreement).committee(), parts_->member);
  if (!seat) return base::NotFound("member {} is not on the committee", parts_->member);
  if (!journal.record || !journal.find) {
    return base::InvalidArgument("the journal lacks a function: give both `record` and `find`");
  }
  if (own.acknowledged && !own.nonce) {
    return base::InvalidArgument("an acknowledged upload has a nonce: give that of the seal");
  }
  TACET_ASSIGN_OR_RETURN(api::PairKeys pair_keys, api::PairKeysOf(*parts_, *seat, key_packets));
  return api::Access::Make<CommitteeSeat>(
      std::make_unique<api::SeatParts>(*this, identity, *seat, std::move(pair_keys), own, journal));
}

absl::StatusOr<Aggregate> Client::Decrypt(const AttemptId& attempt,
                                          const DecryptionMessages& messages) const {
  TACET_ASSIGN_OR_RETURN(const secagg::Attempt identity,
                         api::AttemptOf(parts_->agreement, attempt));
  const agreement::Manifest& manifest = api::ManifestOf(parts_->agreement);
  TACET_ASSIGN_OR_RETURN(secagg::DecryptedRound decrypted,
                         secagg::DecryptRound(manifest.terms(), manifest.committee(), identity,
                                              KeysOf(*parts_, identity),
                                              {.closed_round = messages.closed_round,
                                               .votes = messages.votes,
                                               .unmask_shares = messages.unmask_shares}));
  return PublicAggregate(manifest, std::move(decrypted));
}

}  // namespace tacet
