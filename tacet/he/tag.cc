#include "tacet/he/tag.h"

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"

namespace tacet::he {

Tag AddTags(const Tag& a, const Tag& b) {
  Tag sum;
  for (size_t i = 0; i < kTagWords; ++i) {
    sum.words[i] = ring::kModulus0.Add(a.words[i], b.words[i]);
  }
  return sum;
}

bool TagsEqual(const Tag& a, const Tag& b) {
  uint64_t difference = 0;
  for (size_t i = 0; i < kTagWords; ++i) difference |= a.words[i] ^ b.words[i];
  return difference == 0;
}

std::array<uint8_t, kTagBytes> EncodeTag(const Tag& tag) {
  std::array<uint8_t, kTagBytes> bytes;
  for (size_t i = 0; i < kTagWords; ++i) base::StoreU64(tag.words[i], bytes.data() + 8 * i);
  return bytes;
}

absl::StatusOr<Tag> DecodeTag(std::span<const uint8_t> bytes, std::string_view what) {
  if (bytes.size() != kTagBytes) {
    return base::DataLoss("{}: field `tag` has {} bytes, {} are needed", what, bytes.size(),
                          kTagBytes);
  }
  Tag tag;
  for (size_t i = 0; i < kTagWords; ++i) {
    tag.words[i] = base::LoadU64(bytes.data() + 8 * i);
    if (tag.words[i] >= kTagPrime) {
      return base::DataLoss("{}: field `tag` is not canonical: word {} is not below {}", what, i,
                            kTagPrime);
    }
  }
  return tag;
}

}  // namespace tacet::he
