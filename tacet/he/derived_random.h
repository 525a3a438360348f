// Generators and secrets that HKDF derives from a key under a label.
#ifndef TACET_HE_DERIVED_RANDOM_H_
#define TACET_HE_DERIVED_RANDOM_H_

#include <cstdint>
#include <string_view>

#include "tacet/crypto/random.h"
#include "tacet/crypto/secret.h"

namespace tacet::he {

inline constexpr size_t kKeyBytes = 32;

// HKDF-SHA256(key, "tacet/1/he/" ‖ label), 32 bytes.
crypto::SecretBytes DeriveKey(const crypto::SecretBytes& key, std::string_view label);

// The generator keyed by DeriveKey(key, label).
crypto::Random DeriveRandom(const crypto::SecretBytes& key, std::string_view label);

// The group's ternary secret s: SampleTernary from DeriveRandom(group_secret, "group secret").
crypto::SecretVector<int8_t> ExpandGroupSecret(const crypto::SecretBytes& group_secret,
                                               size_t degree);

}  // namespace tacet::he

#endif  // TACET_HE_DERIVED_RANDOM_H_
