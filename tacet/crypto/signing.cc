#include "tacet/crypto/signing.h"

#include <algorithm>
#include <array>

#include <sodium.h>

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/crypto/sodium.h"

namespace tacet::crypto {

static_assert(SigningKey::kSeedBytes == crypto_sign_SEEDBYTES);

namespace {

// The last signatures that held, each by the hash of its key, itself and its message.
class HeldSignatures {
 public:
  bool Has(const Digest& signature) const {
    return std::ranges::find(known_, signature) != known_.end();
  }
  void Keep(const Digest& signature) { known_[next_++ % known_.size()] = signature; }

 private:
  std::array<Digest, 64> known_{};
  size_t next_ = 0;
};

}  // namespace

absl::Status CheckSigningKey(const PublicKey& key) {
  EnsureSodium();
  if (crypto_core_ed25519_is_valid_point(key.data()) == 1) return absl::OkStatus();
  return base::InvalidArgument("{} is not a signing key: it is no point of Ed25519's group",
                               base::ToHex(key));
}

SigningKey::SigningKey(const SecretBytes& seed) : secret_(crypto_sign_SECRETKEYBYTES) {
  EnsureSodium();
  crypto_sign_seed_keypair(public_key_.data(), secret_.Expose().data(), seed.Expose().data());
}

SigningKey SigningKey::Generate(Entropy& entropy) { return SigningKey(entropy.Draw(kSeedBytes)); }

absl::StatusOr<SigningKey> SigningKey::FromSeed(const SecretBytes& seed) {
  if (seed.size() != kSeedBytes) {
    return base::InvalidArgument("a signing key's seed has {} bytes, expected {}", seed.size(),
                                 kSeedBytes);
  }
  return SigningKey(seed);
}

SecretBytes SigningKey::Seed() const {
  SecretBytes seed(kSeedBytes);
  crypto_sign_ed25519_sk_to_seed(seed.Expose().data(), secret_.Expose().data());
  return seed;
}

Signature SigningKey::Sign(std::span<const uint8_t> message) const {
  EnsureSodium();
  Signature signature;
  crypto_sign_detached(signature.data(), nullptr, message.data(), message.size(),
                       secret_.Expose().data());
  return signature;
}

std::string KeyFingerprint(const PublicKey& key) { return base::ToHex(Sha256(key)); }

bool VerifySignature(const PublicKey& key, std::span<const uint8_t> message,
                     const Signature& signature) {
  thread_local HeldSignatures held;
  Sha256Hasher hasher;
  hasher.Update(key);
  hasher.Update(signature);
  hasher.Update(message);
  const Digest digest = hasher.Finish();
  if (held.Has(digest)) return true;
  EnsureSodium();
  if (crypto_sign_verify_detached(signature.data(), message.data(), message.size(), key.data()) !=
      0) {
    return false;
  }
  held.Keep(digest);
  return true;
}

}  // namespace tacet::crypto
