#include "tacet/crypto/ml_kem.h"

#include <utility>

#include "tacet/base/status.h"
#include "tacet/crypto/ml_kem_implementation.h"

namespace tacet::crypto {
namespace {

constexpr size_t kCoinBytes = 32;
constexpr size_t kCoefficients = 768;
constexpr unsigned kQ = 3329;

const MlKemImplementation& Implementation() {
  static const MlKemImplementation& implementation =
      LibcryptoMlKem() != nullptr ? *LibcryptoMlKem() : OwnMlKem();
  return implementation;
}

// One of the vector, 12 bits each.
unsigned CoefficientOf(const KemPublicKey& key, size_t i) {
  const uint8_t* const pair = &key[i / 2 * 3];
  return i % 2 == 0 ? pair[0] | (pair[1] & 15u) << 8 : pair[1] >> 4 | unsigned{pair[2]} << 4;
}

}  // namespace

absl::Status CheckKemKey(const KemPublicKey& key) {
  for (size_t i = 0; i < kCoefficients; ++i) {
    const unsigned coefficient = CoefficientOf(key, i);
    if (coefficient < kQ) continue;
    return base::InvalidArgument(
        "not an ML-KEM-768 key: coefficient {} is {}, expected less than {}", i, coefficient, kQ);
  }
  return absl::OkStatus();
}

KemKey::KemKey(SecretBytes seed)
    : seed_(std::move(seed)), public_key_(Implementation().key_of_seed(seed_)) {}

KemKey KemKey::Generate(Entropy& entropy) { return KemKey(entropy.Draw(kSeedBytes)); }

absl::StatusOr<KemKey> KemKey::FromSeed(const SecretBytes& seed) {
  if (seed.size() != kSeedBytes) {
    return base::InvalidArgument("an ML-KEM-768 key's seed has {} bytes, expected {}", seed.size(),
                                 kSeedBytes);
  }
  return KemKey(SecretBytes::CopyOf(seed.Expose()));
}

SecretBytes KemKey::Decapsulate(const KemCiphertext& ciphertext) const {
  return Implementation().decapsulate(seed_, public_key_, ciphertext);
}

absl::StatusOr<Encapsulated> Encapsulate(const KemPublicKey& key, Entropy& entropy) {
  return EncapsulateFrom(entropy.Draw(kCoinBytes), key);
}

absl::StatusOr<Encapsulated> EncapsulateFrom(const SecretBytes& coins, const KemPublicKey& key) {
  if (coins.size() != kCoinBytes) {
    return base::InvalidArgument("the coins have {} bytes, expected {}", coins.size(), kCoinBytes);
  }
  TACET_RETURN_IF_ERROR(CheckKemKey(key));
  return Implementation().encapsulate(coins, key);
}

}  // namespace tacet::crypto
