// A small attempt with all its parties, for tests.
#ifndef TACET_SECAGG_SMALL_ROUND_FOR_TEST_H_
#define TACET_SECAGG_SMALL_ROUND_FOR_TEST_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"
#include "tacet/crypto/key_exchange.h"
#include "tacet/crypto/random.h"
#include "tacet/crypto/signing.h"
#include "tacet/secagg/aggregator.h"
#include "tacet/secagg/attempt_keys.h"
#include "tacet/secagg/checksum.h"
#include "tacet/secagg/committee_member.h"
#include "tacet/secagg/key_packet.h"
#include "tacet/secagg/memory_journal.h"
#include "tacet/secagg/pair_masks.h"
#include "tacet/secagg/round_decryption.h"
#include "tacet/secagg/sealer.h"
#include "tacet/secagg/terms.h"
#include "tacet/secagg/upload.h"
#include "tacet/secagg/whole_messages_for_test.h"

namespace tacet::secagg::testing {

using base::ValueOf;

inline TermsSpec SmallTerms(uint64_t dimension, uint32_t cohort,
                            he::Scheme scheme = he::Scheme::kCompact) {
  TermsSpec spec;
  spec.scheme = scheme;
  spec.mechanism.dimension = dimension;
  spec.mechanism.params.clip_norm = 1;
  spec.mechanism.params.coordinate_bound = 0.1;
  spec.mechanism.params.noise_stddev = 0.5;
  spec.mechanism.params.scale = 1e-3;
  spec.mechanism.cohort = cohort;
  spec.mechanism.min_participants = cohort;
  spec.mechanism.attempts = 10;
  spec.mechanism.without_guarantee = true;
  return spec;
}

// Where the fields of an upload begin (docs/formats/messages.md).
inline constexpr size_t kUploadManifestHash = 6;
inline constexpr size_t kUploadRound = 42;
inline constexpr size_t kUploadAttempt = 46;
inline constexpr size_t kUploadModelDigest = 50;
inline constexpr size_t kUploadScheme = 82;
inline constexpr size_t kUploadDimension = 84;
inline constexpr size_t kUploadNonce = 92;
inline constexpr size_t kUploadCiphertext = 112;

// A byte of an upload of scheme compact whose change shifts the first word of its MAC: bits 68 to
// 75 of a coefficient, above the prime that words are scaled by.
inline size_t UploadTagByte(const he::AggregationParams& params) {
  return SharesOffset(params) - 4 * he::kTagWords;
}

// Word by word mod p0.
inline he::Tag Minus(const he::Tag& a, const he::Tag& b) {
  he::Tag difference;
  for (size_t i = 0; i < he::kTagWords; ++i) {
    difference.words[i] = (a.words[i] + he::kTagPrime - b.words[i]) % he::kTagPrime;
  }
  return difference;
}

// Nonce in the bytes of an upload.
inline SealNonce NonceOf(const base::Bytes& upload) {
  SealNonce nonce;
  std::copy_n(upload.begin() + kUploadNonce, nonce.size(), nonce.begin());
  return nonce;
}

// Eight members, the first five on the committee; `cohort` participants.
class SmallRound {
 public:
  explicit SmallRound(TermsSpec spec)
      : entropy_(7, "small round"),
        terms_(ValueOf(Terms::Create(spec))),
        scheme_(spec.scheme),
        epoch_key_(entropy_.Draw(32)) {
    attempt_.manifest_hash.fill(1);
    attempt_.number.round = 12;
    attempt_.number.attempt = 1;
    attempt_.model_digest.fill(2);
    for (uint64_t member = 0; member < kMembers; ++member) {
      signing_keys_.push_back(crypto::SigningKey::Generate(entropy_));
      exchange_keys_.push_back(crypto::ExchangeKey::Generate(entropy_));
      if (member >= kSeats) continue;
      committee_.push_back({.member = member,
                            .signing_key = signing_keys_.back().public_key(),
                            .exchange_key = exchange_keys_.back().public_key()});
    }
    crypto::InsecureSeededEntropy kem_entropy(1, "KEM keys of a small round");
    std::vector<crypto::KemPublicKey> seat_keys;
    for (uint32_t seat = 0; seat < kSeats; ++seat) {
      kem_keys_.push_back(crypto::KemKey::Generate(kem_entropy));
      seat_keys.push_back(kem_keys_.back().public_key());
    }
    for (uint64_t member = 0; member < kMembers; ++member) {
      packets_.push_back(ValueOf(MakeKeyPacket({.manifest_hash = attempt_.manifest_hash,
                                                .epoch = attempt_.number.epoch,
                                                .client = member},
                                               seat_keys, kem_entropy.Draw(32))));
    }
    result_key_ = KeysOf(attempt_).result_key;
    pair_key_of_.resize(kSeats);
    for (uint32_t seat = 0; seat < kSeats; ++seat) {
      pair_key_of_[seat] = [this, seat](uint64_t client) -> absl::StatusOr<ListedPairKey> {
        return ListedPairKey{ListOf(client), PairKey(client, seat)};
      };
    }
  }
  SmallRound(const SmallRound&) = delete;
  SmallRound& operator=(const SmallRound&) = delete;

  static constexpr uint64_t kMembers = 8;
  static constexpr uint32_t kSeats = 5;

  const Terms& terms() const { return terms_; }
  const he::AggregationParams& params() const { return terms_.aggregation(); }
  const Attempt& attempt() const { return attempt_; }
  const Committee& committee() const { return committee_; }
  const crypto::SigningKey& signing_key(uint64_t member) const { return signing_keys_[member]; }
  const crypto::SecretBytes& epoch_key() const { return epoch_key_; }
  crypto::Entropy& entropy() { return entropy_; }
  AttemptKeys KeysOf(const Attempt& attempt) const {
    return DeriveAttemptKeys(epoch_key_, scheme_, attempt);
  }

  crypto::SecretBytes PairKey(uint64_t client, uint32_t seat) const {
    const crypto::SecretBytes agreed =
        ValueOf(exchange_keys_[client].Agree(committee_[seat].exchange_key));
    return PairKeyFrom(agreed, packets_[client].shared[seat], client, seat);
  }
  // The pair key that the seat, or somebody who has other secrets, computes.
  crypto::SecretBytes PairKeyFrom(const crypto::SecretBytes& agreed,
                                  const crypto::SecretBytes& shared, uint64_t client,
                                  uint32_t seat) const {
    return DerivePairKey({.agreed = agreed, .shared = shared, .epoch_key = epoch_key_},
                         {.manifest_hash = attempt_.manifest_hash,
                          .epoch = attempt_.number.epoch,
                          .client = client,
                          .seat = seat,
                          .list = ListOf(client)});
  }
  // Both ends of X25519, which an attacker that breaks it computes from the public keys.
  crypto::SecretBytes BrokenExchange(uint64_t client, uint32_t seat) const {
    return ValueOf(exchange_keys_[client].Agree(committee_[seat].exchange_key));
  }
  const KeyPacket& packet(uint64_t client) const { return packets_[client].packet; }
  crypto::Digest ListOf(uint64_t client) const { return ListDigest(packet(client)); }
  const crypto::KemKey& kem_key(uint32_t seat) const { return kem_keys_[seat]; }
  // For a client with all seats; none for the paper's schemes.
  crypto::SecretBytes PairKeys(uint64_t client) const {
    if (scheme_ != he::Scheme::kCompact) return {};
    crypto::SecretBytes keys(kPairKeyBytes * kSeats);
    for (uint32_t seat = 0; seat < kSeats; ++seat) {
      std::ranges::copy(PairKey(client, seat).Expose(), PairKeyIn(keys, seat).begin());
    }
    return keys;
  }
  static std::span<uint8_t> PairKeyIn(crypto::SecretBytes& keys, uint32_t seat) {
    return keys.Expose().subspan(kPairKeyBytes * seat, kPairKeyBytes);
  }

  // Counts near the offset, different for every (participant, coordinate).
  std::vector<uint32_t> Counts(uint64_t participant) const {
    std::vector<uint32_t> counts(terms_.dimension());
    for (size_t i = 0; i < counts.size(); ++i) {
      const uint64_t wiggle = (participant * 7919 + i * 104729) % 41;
      counts[i] = static_cast<uint32_t>(params().offset() + wiggle - 20);
    }
    return counts;
  }

  base::Bytes Upload(uint64_t participant) { return UploadFor(participant, attempt_); }
  base::Bytes UploadFor(uint64_t participant, const Attempt& attempt) {
    return UploadOf(Counts(participant), participant, attempt);
  }
  base::Bytes UploadOf(const std::vector<uint32_t>& counts, uint64_t participant,
                       const Attempt& attempt) {
    const auto sealer = ValueOf(Sealer::Create(terms_, attempt, KeysOf(attempt)));
    return ValueOf(secagg::SealCounts(*sealer, counts, PairKeys(participant), entropy_.Draw(32)));
  }

  std::vector<base::Bytes> Uploads() {
    std::vector<base::Bytes> uploads;
    for (uint32_t k = 0; k < terms_.max_participants(); ++k) uploads.push_back(Upload(k));
    return uploads;
  }

  // With the same salt every time.
  Aggregator::Closed CloseOf(Aggregator& aggregator) const {
    crypto::InsecureSeededEntropy salt(1, "salt");
    return ValueOf(aggregator.Close(salt, [this](uint64_t member) { return ListOf(member); }));
  }
  Aggregator::Closed Close(const std::vector<base::Bytes>& uploads) const {
    Aggregator aggregator(params(), attempt_, terms_.min_participants());
    for (size_t k = 0; k < uploads.size(); ++k) {
      const absl::Status submitted = aggregator.Submit(k, uploads[k]);
      EXPECT_TRUE(submitted.ok()) << submitted;
    }
    return CloseOf(aggregator);
  }

  std::vector<uint64_t> TrueSums() const {
    std::vector<uint64_t> sums(terms_.dimension());
    for (uint32_t k = 0; k < terms_.max_participants(); ++k) {
      const std::vector<uint32_t> counts = Counts(k);
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += counts[i];
    }
    return sums;
  }

  CommitteeMember NewMember(uint32_t seat, Journal& journal, std::optional<SealNonce> own) {
    return NewMember(seat, journal, own, pair_key_of_[seat], attempt_);
  }
  // `pair_key_of` must outlive the member.
  CommitteeMember NewMember(uint32_t seat, Journal& journal, std::optional<SealNonce> own,
                            const PairKeyOf& pair_key_of, const Attempt& attempt) {
    return CommitteeMember({.terms = terms_,
                            .committee = committee_,
                            .signing_key = signing_keys_[seat],
                            .result_key = result_key_,
                            .pair_key_of = pair_key_of,
                            .journal = journal,
                            .entropy = entropy_},
                           attempt, seat, kMembers,
                           {.nonce = own, .acknowledged = own.has_value()});
  }
  // The nonce of a member that sent `uploads[seat]`; none for a seat that sent nothing.
  static std::optional<SealNonce> OwnNonce(const std::vector<base::Bytes>& uploads, uint32_t seat) {
    if (seat >= uploads.size()) return std::nullopt;
    return NonceOf(uploads[seat]);
  }

  struct Answers {
    std::vector<base::Bytes> votes;
    std::vector<base::Bytes> shares;  // by seat
  };
  // For all seats, all honest. `uploads` are those that the members sent.
  Answers AnswersOf(const Aggregator::Closed& closed, const std::vector<base::Bytes>& uploads) {
    Answers answers;
    std::vector<MemoryJournal> journals(kSeats);
    std::vector<CommitteeMember> members;
    for (uint32_t seat = 0; seat < kSeats; ++seat) {
      members.push_back(NewMember(seat, journals[seat], OwnNonce(uploads, seat)));
      answers.votes.push_back(ValueOf(members.back().Vote(closed.closed_round, closed.roster)));
    }
    for (CommitteeMember& member : members) {
      answers.shares.push_back(ValueOf(member.Unmask(answers.votes)));
    }
    return answers;
  }

  absl::StatusOr<DecryptedRound> Decrypt(const base::Bytes& closed_round,
                                         const Answers& answers) const {
    return DecryptRound(
        terms_, committee_, attempt_, KeysOf(attempt_),
        {.closed_round = closed_round, .votes = answers.votes, .unmask_shares = answers.shares});
  }

 private:
  crypto::InsecureSeededEntropy entropy_;
  Terms terms_;
  he::Scheme scheme_;
  crypto::SecretBytes epoch_key_;
  Attempt attempt_;
  std::vector<crypto::SigningKey> signing_keys_;
  std::vector<crypto::ExchangeKey> exchange_keys_;
  std::vector<crypto::KemKey> kem_keys_;  // by seat
  std::vector<MadePacket> packets_;       // by member
  Committee committee_;
  std::vector<PairKeyOf> pair_key_of_;
  crypto::SecretBytes result_key_;
};

// Recomputes the checksum at the end of an upload after its bytes were changed on purpose: what a
// liar would do.
inline void FixChecksum(base::Bytes& upload) {
  const auto body = std::span(upload).first(upload.size() - 16);
  const auto checksum = Checksum(body);
  base::StoreU64(checksum[0], upload.data() + body.size());
  base::StoreU64(checksum[1], upload.data() + body.size() + 8);
}

// Makes another canonical word (u16) of the word of a share at `word`. Where each seat's word is
// altered, the words do not differ by one number, which would be as good as one lying seat.
inline void AlterShareWord(uint8_t* word) {
  word[0] = word[0] == 0 && word[1] == 0 ? 1 : 0;
  word[1] = 0;
}

}  // namespace tacet::secagg::testing

#endif  // TACET_SECAGG_SMALL_ROUND_FOR_TEST_H_
