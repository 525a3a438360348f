// A federation of a few members with all their keys, for tests of its two sides.
#ifndef TACET_PROTOCOL_SMALL_FEDERATION_FOR_TEST_H_
#define TACET_PROTOCOL_SMALL_FEDERATION_FOR_TEST_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/agreement/initial_model.h"
#include "tacet/agreement/member_keys.h"
#include "tacet/agreement/pair_keys.h"
#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/status_for_test.h"
#include "tacet/crypto/authority_for_test.h"
#include "tacet/crypto/random.h"
#include "tacet/protocol/attestation.h"
#include "tacet/secagg/aggregator.h"
#include "tacet/secagg/attempt_keys.h"
#include "tacet/secagg/committee_member.h"
#include "tacet/secagg/key_packet.h"
#include "tacet/secagg/memory_journal.h"
#include "tacet/secagg/pair_masks.h"
#include "tacet/secagg/sealer.h"

namespace tacet::protocol::testing {

using base::ValueOf;

inline constexpr uint64_t kSmallDimension = 20;

// A common start of zeros.
inline agreement::InitialModel ZerosOf(uint64_t dimension) {
  return {.salt = {5}, .parameters = std::vector<float>(dimension)};
}

// Five members, three in a cohort, three rounds of at most three attempts. All are on the
// committee, where one may be corrupt: four votes are a quorum, and four unmask shares decrypt.
// Seats are not in the order of the members.
inline agreement::ManifestSpec SmallAgreement() {
  agreement::ManifestSpec spec;
  spec.model = "logistic";
  spec.dimension = kSmallDimension;
  spec.initial_model = ZerosOf(kSmallDimension).Digest();
  spec.sampling.cohort = 3;
  spec.sampling.min_participants = 2;
  spec.rounds = 3;
  spec.spare_attempts = 4;
  spec.committee = {.seats = 5, .corrupt = 1};
  spec.committee_members = {3, 0, 4, 1, 2};
  spec.mechanism.scale = 1e-2;
  spec.mechanism.noise_stddev = 3;
  return spec;
}

// The same with another committee, by seat.
inline agreement::ManifestSpec AgreementWith(uint32_t corrupt, std::vector<uint64_t> committee,
                                             agreement::ManifestSpec spec = SmallAgreement()) {
  spec.committee = {.seats = static_cast<uint32_t>(committee.size()), .corrupt = corrupt};
  spec.committee_members = std::move(committee);
  return spec;
}

class SmallFederation {
 public:
  explicit SmallFederation(agreement::ManifestSpec agreement = SmallAgreement(), int members = 5,
                           uint32_t epoch = 0, const crypto::Digest& predecessor = {1})
      : entropy_(1, "small federation"),
        kem_entropy_(1, "small federation's KEM keys"),
        coordinator_(crypto::SigningKey::Generate(entropy_)),
        epoch_key_(entropy_.Draw(32)) {
    agreement::SignedManifestSpec spec;
    spec.federation = "hospitals";
    spec.epoch = epoch;
    if (epoch > 0) spec.predecessor = predecessor;
    spec.agreement = std::move(agreement);
    if (spec.agreement.federation == crypto::Digest{}) spec.agreement.federation = {7};
    for (int i = 0; i < members; ++i) {
      sites_.push_back(agreement::MemberKeys::Generate(entropy_));
      exchange_keys_.push_back({.exchange = crypto::ExchangeKey::Generate(entropy_),
                                .kem = crypto::KemKey::Generate(kem_entropy_)});
      spec.members.push_back(agreement::SignMember(fmt::format("site-{}", i), sites_.back().signing,
                                                   sites_.back().sealing.public_key(),
                                                   exchange_keys_.back().public_keys()));
    }
    spec.authority = crypto::AuthorityOf(authority_);
    manifest_ = std::make_unique<agreement::SignedManifest>(
        ValueOf(agreement::SignedManifest::Sign(std::move(spec), coordinator_)));
  }

  const agreement::SignedManifest& manifest() const { return *manifest_; }
  const secagg::Terms& terms() const { return manifest().manifest().terms(); }
  const secagg::Committee& committee() const { return manifest().manifest().committee(); }
  const agreement::MemberKeys& site(uint64_t member) const { return sites_[member]; }
  const agreement::ExchangeKeys& exchange_keys(uint64_t member) const {
    return exchange_keys_[member];
  }
  const crypto::SecretBytes& epoch_key() const { return epoch_key_; }
  const crypto::SigningKey& coordinator() const { return coordinator_; }
  crypto::Entropy& entropy() { return entropy_; }

  secagg::AttemptKeys KeysOf(const secagg::Attempt& attempt) const {
    return secagg::DeriveAttemptKeys(epoch_key_, manifest().manifest().spec().scheme, attempt);
  }
  // With the seats, and the packet for them.
  const agreement::ClientKeys& KeysWithSeats(uint64_t client) {
    auto known = client_keys_.find(client);
    if (known == client_keys_.end()) {
      const std::vector<crypto::KemPublicKey> seat_keys = manifest().seat_keys();
      known = client_keys_
                  .emplace(client, ValueOf(agreement::KeysWithSeats(
                                       manifest().manifest(),
                                       {.exchange_key = exchange_keys_[client].exchange,
                                        .kem_key = exchange_keys_[client].kem,
                                        .epoch_key = epoch_key_,
                                        .epoch = manifest().epoch()},
                                       client, seat_keys, sites_[client].signing)))
                  .first;
    }
    return known->second;
  }
  crypto::Digest ListOf(uint64_t client) {
    return secagg::ListDigest(KeysWithSeats(client).packet, committee().size());
  }
  // Closes what members of this federation uploaded.
  secagg::Aggregator::Closed Close(secagg::Aggregator& aggregator) {
    return ValueOf(aggregator.Close(entropy_, [this](uint64_t member) { return ListOf(member); }));
  }
  crypto::SecretBytes PairKey(uint64_t client, uint32_t seat) {
    return crypto::SecretBytes::CopyOf(KeysWithSeats(client).pair_keys.Expose().subspan(
        secagg::kPairKeyBytes * seat, secagg::kPairKeyBytes));
  }

  // The upload of `member`: the same update of 0.01 in every coordinate, another seal each time.
  base::Bytes Upload(uint64_t member, const secagg::Attempt& attempt) {
    const auto sealer = ValueOf(secagg::Sealer::Create(terms(), attempt, KeysOf(attempt)));
    const std::vector<float> update(manifest().manifest().spec().dimension, 0.01F);
    secagg::SealedUpload sealed =
        ValueOf(sealer->Seal(update, KeysWithSeats(member).pair_keys, entropy_));
    last_sealed_[member] = sealed.nonce;
    return std::move(sealed.bytes);
  }

  // A seat in one attempt, without a journal. It vouches for the last upload that was sealed for
  // its member.
  class Seat {
   public:
    Seat(SmallFederation& all, uint32_t seat, const secagg::Attempt& attempt)
        : result_key_(all.KeysOf(attempt).result_key),
          pair_key_of_([&all, seat](uint64_t client) -> absl::StatusOr<secagg::ListedPairKey> {
            return secagg::ListedPairKey{all.ListOf(client), all.PairKey(client, seat)};
          }),
          member_({.terms = all.terms(),
                   .committee = all.committee(),
                   .signing_key = all.site(all.committee()[seat].member).signing,
                   .result_key = result_key_,
                   .pair_key_of = pair_key_of_,
                   .journal = journal_,
                   .entropy = all.entropy_},
                  attempt, seat, all.sites_.size(),
                  {.nonce = all.LastSealed(all.committee()[seat].member), .acknowledged = false}) {}
    Seat(const Seat&) = delete;
    Seat& operator=(const Seat&) = delete;

    base::Bytes Vote(const base::Bytes& closed_round, const base::Bytes& roster) {
      return ValueOf(member_.Vote(closed_round, roster));
    }
    base::Bytes Unmask(std::span<const base::Bytes> votes) {
      return ValueOf(member_.Unmask(votes));
    }
    base::Bytes CheckShares() { return ValueOf(member_.CheckShares()); }

   private:
    crypto::SecretBytes result_key_;
    secagg::PairKeyOf pair_key_of_;
    secagg::MemoryJournal journal_;
    secagg::CommitteeMember member_;
  };
  std::unique_ptr<Seat> NewSeat(uint32_t seat, const secagg::Attempt& attempt) {
    return std::make_unique<Seat>(*this, seat, attempt);
  }

  // That `round` begins with a model of digest `digest` and the velocity of digest 0.
  base::Bytes Attestation(uint64_t member, uint32_t round, const crypto::Digest& digest) const {
    return WriteAttestation(
        {.member = member, .round = round, .model_digest = digest, .state_digest = {}}, manifest(),
        sites_[member].signing);
  }

 private:
  std::optional<secagg::SealNonce> LastSealed(uint64_t member) const {
    const auto found = last_sealed_.find(member);
    return found == last_sealed_.end() ? std::nullopt : std::optional(found->second);
  }

  crypto::InsecureSeededEntropy entropy_, kem_entropy_;
  crypto::SigningKey coordinator_;
  crypto::TlsKey authority_ = crypto::TlsKey::Generate();
  crypto::SecretBytes epoch_key_;
  std::vector<agreement::MemberKeys> sites_;
  std::vector<agreement::ExchangeKeys> exchange_keys_;
  std::map<uint64_t, agreement::ClientKeys> client_keys_;  // by client
  std::unique_ptr<agreement::SignedManifest> manifest_;
  std::map<uint64_t, secagg::SealNonce> last_sealed_;
};

}  // namespace tacet::protocol::testing

#endif  // TACET_PROTOCOL_SMALL_FEDERATION_FOR_TEST_H_
