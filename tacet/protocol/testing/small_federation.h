// A federation of a few members with all their keys, for tests of its two sides.
#ifndef TACET_PROTOCOL_TESTING_SMALL_FEDERATION_H_
#define TACET_PROTOCOL_TESTING_SMALL_FEDERATION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/agreement/member_keys.h"
#include "tacet/agreement/signed_manifest.h"
#include "tacet/crypto/certificates.h"
#include "tacet/crypto/random.h"
#include "tacet/protocol/attestation.h"
#include "tacet/secagg/attempt_keys.h"
#include "tacet/secagg/memory_journal.h"
#include "tacet/secagg/opener.h"
#include "tacet/secagg/sealer.h"

namespace tacet::protocol::testing {

template <typename T>
T ValueOf(absl::StatusOr<T> result) {
  EXPECT_TRUE(result.ok()) << result.status();
  return *std::move(result);
}

inline constexpr uint64_t kSmallDimension = 20;

// Five members, three in a cohort, three openers, three rounds of at most three attempts.
inline agreement::ManifestSpec SmallAgreement() {
  agreement::ManifestSpec spec;
  spec.model = "logistic";
  spec.dimension = kSmallDimension;
  spec.initial_model = ModelDigest(std::vector<float>(kSmallDimension));
  spec.sampling.cohort = 3;
  spec.sampling.min_participants = 2;
  spec.rounds = 3;
  spec.attempts_per_round = 3;
  spec.spare_attempts = 4;
  spec.mechanism.scale = 1e-2;
  spec.mechanism.noise_stddev = 3;
  return spec;
}

class SmallFederation {
 public:
  explicit SmallFederation(agreement::ManifestSpec agreement = SmallAgreement(), int members = 5,
                           uint32_t epoch = 0)
      : entropy_(1, "small federation"),
        coordinator_(crypto::SigningKey::Generate(entropy_)),
        epoch_key_(entropy_.Draw(32)) {
    agreement::SignedManifestSpec spec;
    spec.federation = "hospitals";
    spec.epoch = epoch;
    spec.agreement = std::move(agreement);
    for (int i = 0; i < members; ++i) {
      sites_.push_back(agreement::MemberKeys::Generate(entropy_));
      spec.members.push_back({.name = fmt::format("site-{}", i),
                              .signing_key = sites_.back().signing.public_key(),
                              .sealing_key = sites_.back().sealing.public_key()});
    }
    spec.authority = ValueOf(crypto::IssueAuthority({.common_name = "hospitals",
                                                     .role = crypto::CertificateRole::kAuthority,
                                                     .public_key = authority_.public_key(),
                                                     .hosts = {},
                                                     .not_before = 1'750'000'000,
                                                     .not_after = 1'760'000'000},
                                                    authority_));
    manifest_ = std::make_unique<agreement::SignedManifest>(
        ValueOf(agreement::SignedManifest::Sign(std::move(spec), coordinator_)));
  }

  const agreement::SignedManifest& manifest() const { return *manifest_; }
  const agreement::MemberKeys& site(uint64_t member) const { return sites_[member]; }
  const crypto::SecretBytes& epoch_key() const { return epoch_key_; }
  crypto::Entropy& entropy() { return entropy_; }

  secagg::AttemptKeys KeysOf(const secagg::Attempt& attempt) const {
    return secagg::DeriveAttemptKeys(epoch_key_, manifest().manifest().spec().scheme, attempt);
  }

  // What `member` sends: the same update of 0.01 in every coordinate, another seal each time.
  base::Bytes Upload(const secagg::Attempt& attempt) {
    const auto sealer =
        ValueOf(secagg::Sealer::Create(manifest().manifest().terms(), attempt, KeysOf(attempt)));
    const std::vector<float> update(manifest().manifest().spec().dimension, 0.01F);
    return ValueOf(sealer->Seal(update, entropy_)).bytes;
  }

  std::vector<uint64_t> OpenersOf(const secagg::Attempt& attempt) const {
    const agreement::ManifestSpec& spec = manifest().manifest().spec();
    return secagg::ChooseOpeners(epoch_key_, spec.scheme, attempt, spec.sampling.clients,
                                 spec.openers);
  }

  std::unique_ptr<secagg::Opener> NewOpener(uint64_t member, const secagg::Attempt& attempt) {
    std::vector<secagg::OpenerIdentity> identities;
    for (const uint64_t opener : OpenersOf(attempt)) {
      identities.push_back(manifest().manifest().Identity(opener));
    }
    return ValueOf(secagg::Opener::Create(manifest().manifest().terms(), attempt, KeysOf(attempt),
                                          identities, member, sites_[member].signing, journal_,
                                          entropy_));
  }

  // That `round` begins with a model of digest `digest` and the velocity of digest 0.
  base::Bytes Statement(uint64_t member, uint32_t round, const crypto::Digest& digest) const {
    return WriteAttestation(
        {.member = member, .round = round, .model_digest = digest, .state_digest = {}}, manifest(),
        sites_[member].signing);
  }

 private:
  // Keeps nothing: every opener made here is a new one.
  class NoJournal final : public secagg::OpenerJournal {
   public:
    absl::Status Record(const secagg::Attempt&, std::string_view,
                        std::span<const uint8_t>) override {
      return absl::OkStatus();
    }
    absl::StatusOr<base::Bytes> Find(const secagg::Attempt&, std::string_view) const override {
      return absl::NotFoundError("nothing is kept");
    }
  };

  crypto::InsecureSeededEntropy entropy_;
  crypto::SigningKey coordinator_;
  crypto::TlsKey authority_ = crypto::TlsKey::Generate();
  crypto::SecretBytes epoch_key_;
  std::vector<agreement::MemberKeys> sites_;
  std::unique_ptr<agreement::SignedManifest> manifest_;
  NoJournal journal_;
};

}  // namespace tacet::protocol::testing

#endif  // TACET_PROTOCOL_TESTING_SMALL_FEDERATION_H_
