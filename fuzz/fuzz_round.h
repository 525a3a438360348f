// Fixed, tiny attempt. The message fuzzers decode against it, and their seeds are made from it.
#ifndef TACET_FUZZ_FUZZ_ROUND_H_
#define TACET_FUZZ_FUZZ_ROUND_H_

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/base/status.h"
#include "tacet/crypto/key_exchange.h"
#include "tacet/crypto/ml_kem.h"
#include "tacet/crypto/random.h"
#include "tacet/crypto/signing.h"
#include "tacet/secagg/aggregator.h"
#include "tacet/secagg/attempt_keys.h"
#include "tacet/secagg/committee_member.h"
#include "tacet/secagg/key_packet.h"
#include "tacet/secagg/memory_journal.h"
#include "tacet/secagg/pair_masks.h"
#include "tacet/secagg/sealer.h"
#include "tacet/secagg/terms.h"
#include "tacet/secagg/whole_messages_for_test.h"

namespace tacet::fuzz {

template <typename T>
T ValueOrDie(absl::StatusOr<T> value) {
  if (!value.ok()) std::abort();
  return *std::move(value);
}

// Four members, all on the committee (f = 1, v = 3, l = 2); two of them take part.
struct FuzzRound {
  static constexpr uint32_t kParticipants = 2;
  static constexpr uint32_t kSeats = 4;

  crypto::InsecureSeededEntropy entropy{1, "fuzz round"};
  secagg::Attempt attempt;
  secagg::Terms terms = MakeTerms();
  crypto::SecretBytes epoch_key = entropy.Draw(32);
  secagg::AttemptKeys keys = secagg::DeriveAttemptKeys(epoch_key, he::Scheme::kCompact, attempt);
  std::vector<crypto::SigningKey> signing_keys;
  std::vector<crypto::ExchangeKey> exchange_keys;
  secagg::Committee committee;
  std::vector<secagg::PairKeyOf> pair_key_of;  // by seat
  std::vector<crypto::KemKey> kem_keys;        // by seat
  std::vector<secagg::MadePacket> packets;     // by client

  FuzzRound() {
    for (uint32_t seat = 0; seat < kSeats; ++seat) {
      signing_keys.push_back(crypto::SigningKey::Generate(entropy));
      exchange_keys.push_back(crypto::ExchangeKey::Generate(entropy));
      committee.push_back({.member = seat,
                           .signing_key = signing_keys.back().public_key(),
                           .exchange_key = exchange_keys.back().public_key()});
      pair_key_of.push_back([this, seat](uint64_t client) -> absl::StatusOr<secagg::ListedPairKey> {
        if (client >= kSeats) return base::NotFound("there is no such client");
        return secagg::ListedPairKey{ListOf(client), PairKey(client, seat)};
      });
    }
    crypto::InsecureSeededEntropy kem_entropy(1, "fuzz round's KEM keys");
    std::vector<crypto::KemPublicKey> seat_keys;
    for (uint32_t seat = 0; seat < kSeats; ++seat) {
      kem_keys.push_back(crypto::KemKey::Generate(kem_entropy));
      seat_keys.push_back(kem_keys.back().public_key());
    }
    for (uint64_t client = 0; client < kSeats; ++client) {
      packets.push_back(
          ValueOrDie(secagg::MakeKeyPacket({.client = client}, seat_keys, kem_entropy.Draw(32))));
      secagg::SignKeyPacket(signing_keys[client], packets.back().packet);
    }
  }
  FuzzRound(const FuzzRound&) = delete;
  FuzzRound& operator=(const FuzzRound&) = delete;

  const he::AggregationParams& params() const { return terms.aggregation(); }

  crypto::SecretBytes PairKey(uint64_t client, uint32_t seat) const {
    const crypto::SecretBytes agreed =
        ValueOrDie(exchange_keys[client].Agree(committee[seat].exchange_key));
    const secagg::MadePacket& made = packets[client];
    return secagg::DerivePairKey(
        {.agreed = agreed, .shared = made.shared[seat], .epoch_key = epoch_key},
        {.client = client, .seat = seat, .list = ListOf(client)});
  }
  crypto::Digest ListOf(uint64_t client) const {
    return secagg::ListDigest(packets[client].packet);
  }
  crypto::SecretBytes PairKeys(uint64_t client) const {
    crypto::SecretBytes all(secagg::kPairKeyBytes * kSeats);
    for (uint32_t seat = 0; seat < kSeats; ++seat) {
      std::ranges::copy(PairKey(client, seat).Expose(),
                        all.Expose().subspan(secagg::kPairKeyBytes * seat).begin());
    }
    return all;
  }

  // Counts of zeros from every participant.
  std::vector<base::Bytes> Uploads() {
    const auto sealer = ValueOrDie(secagg::Sealer::Create(terms, attempt, keys));
    const std::vector<uint32_t> counts(terms.dimension(), static_cast<uint32_t>(params().offset()));
    std::vector<base::Bytes> uploads;
    for (uint32_t k = 0; k < kParticipants; ++k) {
      uploads.push_back(
          ValueOrDie(secagg::SealCounts(*sealer, counts, PairKeys(k), entropy.Draw(32))));
    }
    return uploads;
  }
  secagg::Aggregator::Closed Close(const std::vector<base::Bytes>& uploads) {
    secagg::Aggregator aggregator(params(), attempt, kParticipants);
    for (uint32_t k = 0; k < uploads.size(); ++k) {
      if (!aggregator.Submit(k, uploads[k]).ok()) std::abort();
    }
    return ValueOrDie(
        aggregator.Close(entropy, [this](uint64_t client) { return ListOf(client); }));
  }

  // The member on `seat`. Seats 2 and 3 sent no upload.
  secagg::CommitteeMember Member(uint32_t seat, secagg::Journal& journal,
                                 const secagg::OwnUpload& own = {}) {
    return secagg::CommitteeMember({.terms = terms,
                                    .committee = committee,
                                    .signing_key = signing_keys[seat],
                                    .result_key = keys.result_key,
                                    .pair_key_of = pair_key_of[seat],
                                    .journal = journal,
                                    .entropy = entropy},
                                   attempt, seat, kSeats, own);
  }

  static secagg::Terms MakeTerms() {
    secagg::TermsSpec spec;
    spec.mechanism.dimension = 9;
    spec.mechanism.params.coordinate_bound = 0.1;
    spec.mechanism.params.noise_stddev = 0.5;
    spec.mechanism.params.scale = 1e-3;
    spec.mechanism.cohort = kParticipants;
    spec.mechanism.min_participants = kParticipants;
    spec.mechanism.attempts = 1;
    spec.mechanism.without_guarantee = true;
    spec.committee = {.seats = kSeats, .corrupt = 1};
    return ValueOrDie(secagg::Terms::Create(spec));
  }
};

// A whole round that its committee has answered.
struct AnsweredRound {
  FuzzRound round;
  std::vector<base::Bytes> uploads = round.Uploads();
  secagg::Aggregator::Closed closed = round.Close(uploads);
  std::vector<base::Bytes> votes, shares, rows;  // by seat

  AnsweredRound() {
    std::vector<secagg::MemoryJournal> journals(FuzzRound::kSeats);
    std::vector<secagg::CommitteeMember> members;
    for (uint32_t seat = 0; seat < FuzzRound::kSeats; ++seat) {
      secagg::OwnUpload own;
      if (seat < uploads.size()) {
        const auto upload =
            ValueOrDie(secagg::ReadUpload(uploads[seat], round.attempt, round.params()));
        own = {.nonce = upload.nonce, .acknowledged = true};
      }
      members.push_back(round.Member(seat, journals[seat], own));
      votes.push_back(ValueOrDie(members.back().Vote(closed.closed_round, closed.roster)));
    }
    for (secagg::CommitteeMember& member : members) {
      shares.push_back(ValueOrDie(member.Unmask(votes)));
      rows.push_back(ValueOrDie(member.CheckShares()));
    }
  }
};

}  // namespace tacet::fuzz

#endif  // TACET_FUZZ_FUZZ_ROUND_H_
