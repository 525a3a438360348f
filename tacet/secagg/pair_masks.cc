#include "tacet/secagg/pair_masks.h"

#include <algorithm>
#include <array>

#include "tacet/base/bytes.h"
#include "tacet/crypto/random.h"
#include "tacet/he/key_sharing.h"

namespace tacet::secagg {

crypto::SecretBytes DerivePairKey(const PairSources& sources, const PairContext& context) {
  crypto::SecretBytes key(sources.agreed.size() + sources.shared.size() + sources.epoch_key.size());
  auto at = key.Expose().begin();
  for (const crypto::SecretBytes* const part :
       {&sources.agreed, &sources.shared, &sources.epoch_key}) {
    at = std::ranges::copy(part->Expose(), at).out;
  }
  base::ByteWriter info;
  info.Raw("tacet/2/pair");
  info.Raw(context.manifest_hash);
  info.U32(context.epoch);
  info.U64(context.client);
  info.U32(context.seat);
  info.Raw(context.list);
  return crypto::HkdfSha256(key.Expose(), info.bytes(), kPairKeyBytes);
}

void ExpandMask(std::span<const uint8_t> pair_key, const Attempt& attempt, const SealNonce& nonce,
                std::span<uint16_t> mask) {
  base::ByteWriter info;
  info.Raw("tacet/1/mask");
  WriteAttempt(attempt, info);
  info.Raw(nonce);
  const crypto::SecretBytes key = crypto::HkdfSha256(pair_key, info.bytes(), 32);
  crypto::AesCtrStream stream(key.Expose(), std::array<uint8_t, 16>{});
  // Words that are skipped say nothing about those that are kept. Most blocks have none.
  constexpr size_t kBlock = 64;
  size_t filled = 0;
  while (filled < mask.size()) {
    const std::span<uint16_t> rest = mask.subspan(filled);
    stream.Fill({reinterpret_cast<uint8_t*>(rest.data()), rest.size_bytes()});
    size_t kept = 0;
    for (size_t first = 0; first < rest.size(); first += kBlock) {
      const std::span<uint16_t> block = rest.subspan(first, std::min(kBlock, rest.size() - first));
      if (he::AllBelowSharePrime(block)) {
        if (kept != first) {
          for (size_t i = 0; i < block.size(); ++i) rest[kept + i] = block[i];
        }
        kept += block.size();
        continue;
      }
      for (const uint16_t word : block) {
        if (word < he::kSharePrime) rest[kept++] = word;
      }
    }
    filled += kept;
  }
}

void MaskAccumulator::Add(std::span<const uint8_t> pair_key, const SealNonce& nonce) {
  if (added_ == kAddedAtOnce) Reduce();
  ++added_;
  const std::span<uint16_t> mask = mask_.Expose();
  ExpandMask(pair_key, attempt_, nonce, mask);
  const std::span<uint32_t> sums = sums_.Expose();
  for (size_t i = 0; i < mask.size(); ++i) sums[i] += mask[i];
}

void MaskAccumulator::Reduce() {
  for (uint32_t& sum : sums_.Expose()) sum = he::ReduceShare(sum);
  added_ = 1;  // what is left counts as a mask
}

crypto::SecretVector<uint16_t> MaskAccumulator::Finish() {
  Reduce();
  crypto::SecretVector<uint16_t> sums(sums_.size());
  std::ranges::copy(sums_.Expose(), sums.Expose().begin());
  return sums;
}

}  // namespace tacet::secagg
