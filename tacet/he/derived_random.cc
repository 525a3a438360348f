#include "tacet/he/derived_random.h"

#include <string>

#include "tacet/base/bytes.h"
#include "tacet/base/hash.h"
#include "tacet/ring/sampling.h"

namespace tacet::he {

base::SecretBytes DeriveKey(const base::SecretBytes& key, std::string_view label) {
  const std::string info = "tacet/1/he/" + std::string(label);
  return base::HkdfSha256(key.Expose(), base::AsBytes(info), kKeyBytes);
}

base::Random DeriveRandom(const base::SecretBytes& key, std::string_view label) {
  return base::Random(DeriveKey(key, label));
}

base::SecretVector<int8_t> ExpandGroupSecret(const base::SecretBytes& group_secret, size_t degree) {
  base::SecretVector<int8_t> secret(degree);
  base::Random random = DeriveRandom(group_secret, "group secret");
  ring::SampleTernary(random, secret.Expose());
  return secret;
}

}  // namespace tacet::he
