#include "tacet/secagg/attempt_keys.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "tacet/base/bytes.h"
#include "tacet/crypto/random.h"

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

crypto::Digest PublicSeed(const Attempt& attempt) {
  base::ByteWriter label;
  label.Raw("tacet/1/public seed");
  label.Raw(attempt.manifest_hash);
  label.U32(attempt.number.epoch);
  label.U32(attempt.number.round);
  return crypto::Sha256(label.bytes());
}

std::vector<uint64_t> ChooseOpeners(const crypto::SecretBytes& epoch_key, he::Scheme scheme,
                                    const Attempt& attempt, uint64_t members, uint32_t count) {
  const crypto::SecretBytes order_key = DeriveKey(epoch_key, "opener order", scheme, attempt);
  // One AES-256-CTR block a member, at counter = member: a pseudo-random function of its number.
  crypto::AesCtrStream stream(order_key.Expose(), std::array<uint8_t, 16>{});
  using Rank = std::pair<std::array<uint8_t, 16>, uint64_t>;
  std::vector<Rank> first;  // a max-heap of the `count` lowest
  for (uint64_t member = 0; member < members; ++member) {
    Rank rank{{}, member};
    stream.Fill(rank.first);
    first.push_back(rank);
    std::ranges::push_heap(first);
    if (first.size() > count) {
      std::ranges::pop_heap(first);
      first.pop_back();
    }
  }
  std::ranges::sort(first);
  std::vector<uint64_t> openers;
  for (const Rank& rank : first) openers.push_back(rank.second);
  return openers;
}

}  // namespace tacet::secagg
