// The words of a MAC as they travel: sums of them belong to sums of vectors (homomorphic_mac.h).
#ifndef TACET_HE_TAG_H_
#define TACET_HE_TAG_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"

#include "tacet/ring/modulus.h"

namespace tacet::he {

inline constexpr uint64_t kTagPrime = ring::kPrime0;
inline constexpr size_t kTagWords = 3;
inline constexpr size_t kTagBytes = 8 * kTagWords;

// Words below p0, each the MAC under an independent key. The default is the tag of nothing.
struct Tag {
  std::array<uint64_t, kTagWords> words{};
};

// Word by word mod p0. Both arguments are canonical, and so is the result.
Tag AddTags(const Tag& a, const Tag& b);

// Takes the same time wherever they differ.
bool TagsEqual(const Tag& a, const Tag& b);

// Little-endian u64, as the paper's schemes carry them. DecodeTag: DataLoss unless there are
// kTagBytes bytes and all words are below p0; `what` names the message.
std::array<uint8_t, kTagBytes> EncodeTag(const Tag& tag);
absl::StatusOr<Tag> DecodeTag(std::span<const uint8_t> bytes, std::string_view what);

}  // namespace tacet::he

#endif  // TACET_HE_TAG_H_
