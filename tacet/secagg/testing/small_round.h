// A small attempt with all its parties, for tests.
#ifndef TACET_SECAGG_TESTING_SMALL_ROUND_H_
#define TACET_SECAGG_TESTING_SMALL_ROUND_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/crypto/random.h"
#include "tacet/crypto/signing.h"
#include "tacet/secagg/aggregator.h"
#include "tacet/secagg/attempt_keys.h"
#include "tacet/secagg/checksum.h"
#include "tacet/secagg/memory_journal.h"
#include "tacet/secagg/opener.h"
#include "tacet/secagg/sealer.h"
#include "tacet/secagg/terms.h"

namespace tacet::secagg::testing {

template <typename T>
T ValueOf(absl::StatusOr<T> result) {
  EXPECT_TRUE(result.ok()) << result.status();
  return *std::move(result);
}

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

// Five members, the first three of them openers; `cohort` participants.
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
    for (uint64_t member = 0; member < 5; ++member) {
      signing_keys_.push_back(crypto::SigningKey::Generate(entropy_));
      if (member < 3) openers_.push_back({member, signing_keys_.back().public_key()});
    }
  }

  const Terms& terms() const { return terms_; }
  const he::AggregationParams& params() const { return terms_.aggregation(); }
  const Attempt& attempt() const { return attempt_; }
  const std::vector<OpenerIdentity>& openers() const { return openers_; }
  const crypto::SigningKey& signing_key(uint64_t member) const { return signing_keys_[member]; }
  crypto::Entropy& entropy() { return entropy_; }
  AttemptKeys KeysOf(const Attempt& attempt) const {
    return DeriveAttemptKeys(epoch_key_, scheme_, attempt);
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
    const auto sealer = ValueOf(Sealer::Create(terms_, attempt, KeysOf(attempt)));
    return ValueOf(sealer->SealCounts(Counts(participant), entropy_.Draw(32)));
  }

  std::vector<base::Bytes> Uploads() {
    std::vector<base::Bytes> uploads;
    for (uint32_t k = 0; k < terms_.max_participants(); ++k) uploads.push_back(Upload(k));
    return uploads;
  }

  base::Bytes Close(const std::vector<base::Bytes>& uploads) {
    Aggregator aggregator(params(), attempt_, terms_.min_participants());
    for (size_t k = 0; k < uploads.size(); ++k) {
      const absl::Status submitted = aggregator.Submit(k, uploads[k]);
      EXPECT_TRUE(submitted.ok()) << submitted;
    }
    return ValueOf(aggregator.Close());
  }

  std::vector<uint64_t> TrueSums() const {
    std::vector<uint64_t> sums(terms_.dimension());
    for (uint32_t k = 0; k < terms_.max_participants(); ++k) {
      const std::vector<uint32_t> counts = Counts(k);
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += counts[i];
    }
    return sums;
  }

  std::unique_ptr<Opener> NewOpener(uint64_t member, OpenerJournal& journal) {
    return ValueOf(Opener::Create(terms_, attempt_, KeysOf(attempt_), openers_, member,
                                  signing_keys_[member], journal, entropy_));
  }

 private:
  crypto::InsecureSeededEntropy entropy_;
  Terms terms_;
  he::Scheme scheme_;
  crypto::SecretBytes epoch_key_;
  Attempt attempt_;
  std::vector<crypto::SigningKey> signing_keys_;
  std::vector<OpenerIdentity> openers_;
};

// Recomputes the checksum at the end of an upload after its bytes were changed on purpose: what a
// liar would do.
inline void MendChecksum(base::Bytes& upload) {
  const auto body = std::span(upload).first(upload.size() - 16);
  const auto checksum = Checksum(body);
  base::StoreU64(checksum[0], upload.data() + body.size());
  base::StoreU64(checksum[1], upload.data() + body.size() + 8);
}

// Where the fields of an upload begin (docs/formats/messages.md).
inline constexpr size_t kUploadManifestHash = 6;
inline constexpr size_t kUploadRound = 42;
inline constexpr size_t kUploadAttempt = 46;
inline constexpr size_t kUploadModelDigest = 50;
inline constexpr size_t kUploadScheme = 82;
inline constexpr size_t kUploadDimension = 84;
inline constexpr size_t kUploadNonce = 92;
inline constexpr size_t kUploadTag = 108;
inline constexpr size_t kUploadCiphertext = 128;

}  // namespace tacet::secagg::testing

#endif  // TACET_SECAGG_TESTING_SMALL_ROUND_H_
