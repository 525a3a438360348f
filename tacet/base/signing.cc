#include "tacet/base/signing.h"

#include <sodium.h>

#include "tacet/base/sodium.h"

namespace tacet::base {

SigningKey SigningKey::Generate(Entropy& entropy) {
  EnsureSodium();
  const SecretBytes seed = entropy.Draw(crypto_sign_SEEDBYTES);
  SigningKey key;
  crypto_sign_seed_keypair(key.public_key_.data(), key.secret_.Expose().data(),
                           seed.Expose().data());
  return key;
}

Signature SigningKey::Sign(std::span<const uint8_t> message) const {
  EnsureSodium();
  Signature signature;
  crypto_sign_detached(signature.data(), nullptr, message.data(), message.size(),
                       secret_.Expose().data());
  return signature;
}

bool VerifySignature(const PublicKey& key, std::span<const uint8_t> message,
                     const Signature& signature) {
  EnsureSodium();
  return crypto_sign_verify_detached(signature.data(), message.data(), message.size(),
                                     key.data()) == 0;
}

}  // namespace tacet::base
