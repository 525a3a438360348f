// Fixed, tiny attempt. The message fuzzers decode against it, and their seeds are made from it.
#ifndef TACET_FUZZ_FUZZ_ROUND_H_
#define TACET_FUZZ_FUZZ_ROUND_H_

#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/crypto/random.h"
#include "tacet/crypto/signing.h"
#include "tacet/secagg/attempt_keys.h"
#include "tacet/secagg/opened_sum.h"
#include "tacet/secagg/terms.h"

namespace tacet::fuzz {

template <typename T>
T ValueOrDie(absl::StatusOr<T> value) {
  if (!value.ok()) std::abort();
  return *std::move(value);
}

struct FuzzRound {
  static constexpr uint32_t kParticipants = 2;

  crypto::InsecureSeededEntropy entropy{1, "fuzz round"};
  secagg::Attempt attempt;
  secagg::Terms terms = MakeTerms();
  crypto::SecretBytes epoch_key = entropy.Draw(32);
  secagg::AttemptKeys keys = secagg::DeriveAttemptKeys(epoch_key, he::Scheme::kCompact, attempt);
  std::vector<crypto::SigningKey> signing_keys;
  std::vector<secagg::OpenerIdentity> openers;

  FuzzRound() {
    for (uint64_t member = 0; member < 3; ++member) {
      signing_keys.push_back(crypto::SigningKey::Generate(entropy));
      openers.push_back({member, signing_keys.back().public_key()});
    }
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
    return ValueOrDie(secagg::Terms::Create(spec));
  }
};

}  // namespace tacet::fuzz

#endif  // TACET_FUZZ_FUZZ_ROUND_H_
