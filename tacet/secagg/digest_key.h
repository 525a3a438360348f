// Keyed digests of parameters and optimiser state.
#ifndef TACET_SECAGG_DIGEST_KEY_H_
#define TACET_SECAGG_DIGEST_KEY_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "tacet/crypto/hash.h"
#include "tacet/crypto/secret.h"
#include "tacet/he/aggregation.h"

namespace tacet::secagg {

// Key of the digests of parameters and optimiser state. These are the only digests of them: the
// parameters of a query are its answers, so a digest without a key would let a server confirm
// guesses of them. Members of an epoch have the same key, and the server lacks it. Digests under
// two keys say nothing about each other.
class DigestKey {
 public:
  static constexpr size_t kBytes = 32;

  // kBytes of it (aborts otherwise).
  explicit DigestKey(crypto::SecretBytes key);
  // For an epoch: HKDF-SHA256(epoch key, "tacet/1/" ‖ "digest" ‖ manifest hash ‖ scheme ‖ epoch ‖
  // 0 ‖ 0), the key schedule of docs/formats/messages.md.
  static DigestKey OfEpoch(const crypto::SecretBytes& epoch_key, he::Scheme scheme,
                           const crypto::Digest& manifest_hash, uint32_t epoch);

  // HMAC-SHA256(key, "tacet/1/model" ‖ parameters as little-endian binary32).
  crypto::Digest OfModel(std::span<const float> parameters) const;
  // HMAC-SHA256(key, "tacet/1/state" ‖ OfModel(parameters) ‖ velocity as little-endian binary32).
  crypto::Digest OfState(const crypto::Digest& model, std::span<const float> velocity) const;

  const crypto::SecretBytes& secret() const { return key_; }

 private:
  crypto::SecretBytes key_;
};

}  // namespace tacet::secagg

#endif  // TACET_SECAGG_DIGEST_KEY_H_
