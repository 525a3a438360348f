#include "tacet/secagg/digest_key.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "tacet/base/bytes.h"
#include "tacet/base/float_bytes.h"
#include "tacet/secagg/attempt_keys.h"

namespace tacet::secagg {

DigestKey::DigestKey(crypto::SecretBytes key) : key_(std::move(key)) {
  if (key_.size() == kBytes) return;
  std::fprintf(stderr, "tacet: a digest key has %zu bytes, expected %zu\n", key_.size(), kBytes);
  std::abort();
}

DigestKey DigestKey::OfEpoch(const crypto::SecretBytes& epoch_key, he::Scheme scheme,
                             const crypto::Digest& manifest_hash, uint32_t epoch) {
  return DigestKey(DeriveDigestKey(epoch_key, scheme,
                                   {.manifest_hash = manifest_hash, .number = {.epoch = epoch}}));
}

crypto::Digest DigestKey::OfModel(std::span<const float> parameters) const {
  return crypto::HmacSha256(key_, {base::AsBytes("tacet/1/model"), base::FloatBytes(parameters)});
}

crypto::Digest DigestKey::OfState(const crypto::Digest& model,
                                  std::span<const float> velocity) const {
  return crypto::HmacSha256(key_,
                            {base::AsBytes("tacet/1/state"), model, base::FloatBytes(velocity)});
}

}  // namespace tacet::secagg
