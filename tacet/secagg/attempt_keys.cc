#include "tacet/secagg/attempt_keys.h"

#include <string_view>

#include "tacet/base/bytes.h"

namespace tacet::secagg {
namespace {

constexpr size_t kKeyBytes = 32;

crypto::SecretBytes DeriveKey(const crypto::SecretBytes& epoch_key, std::string_view name,
                              he::Scheme scheme, const Attempt& attempt) {
  base::ByteWriter info;
  info.Raw("tacet/1/");
  info.Blob(name);
  info.Raw(attempt.manifest_hash);
  info.U8(static_cast<uint8_t>(scheme));
  info.U32(attempt.number.epoch);
  info.U32(attempt.number.round);
  info.U32(attempt.number.attempt);
  return crypto::HkdfSha256(epoch_key.Expose(), info.bytes(), kKeyBytes);
}

}  // namespace

AttemptKeys DeriveAttemptKeys(const crypto::SecretBytes& epoch_key, he::Scheme scheme,
                              const Attempt& attempt) {
  return {.group_secret = DeriveKey(epoch_key, "group secret", scheme, attempt),
          .tag_key = DeriveKey(epoch_key, "tag", scheme, attempt),
          .result_key = DeriveKey(epoch_key, "result", scheme, attempt)};
}

crypto::SecretBytes DeriveCheckpointKey(const crypto::SecretBytes& epoch_key, he::Scheme scheme,
                                        const Attempt& attempt) {
  return DeriveKey(epoch_key, "checkpoint", scheme, attempt);
}

crypto::SecretBytes DeriveDigestKey(const crypto::SecretBytes& epoch_key, he::Scheme scheme,
                                    const Attempt& attempt) {
  return DeriveKey(epoch_key, "digest", scheme, attempt);
}

crypto::Digest PublicSeed(const Attempt& attempt) {
  base::ByteWriter label;
  label.Raw("tacet/1/public seed");
  label.Raw(attempt.manifest_hash);
  label.U32(attempt.number.epoch);
  label.U32(attempt.number.round);
  return crypto::Sha256(label.bytes());
}

}  // namespace tacet::secagg
