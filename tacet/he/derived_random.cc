#include "tacet/he/derived_random.h"

#include <string>

#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"
#include "tacet/ring/sampling.h"

namespace tacet::he {

crypto::SecretBytes DeriveKey(const crypto::SecretBytes& key, std::string_view label) {
  const std::string info = "tacet/1/he/" + std::string(label);
  return crypto::HkdfSha256(key.Expose(), base::AsBytes(info), kKeyBytes);
}

crypto::Random DeriveRandom(const crypto::SecretBytes& key, std::string_view label) {
  return crypto::Random(DeriveKey(key, label));
}

crypto::SecretVector<int8_t> ExpandGroupSecret(const crypto::SecretBytes& group_secret,
                                               size_t degree) {
  crypto::SecretVector<int8_t> secret(degree);
  crypto::Random random = DeriveRandom(group_secret, "group secret");
  ring::SampleTernary(random, secret.Expose());
  return secret;
}

}  // namespace tacet::he
