// Unaligned little-endian words in loops over whole polynomials: inline, so that the loops become
// vector code. The caller has checked the bounds.
#ifndef TACET_RING_WORDS_H_
#define TACET_RING_WORDS_H_

#include <bit>
#include <cstdint>
#include <cstring>

namespace tacet::ring {

static_assert(std::endian::native == std::endian::little);

inline uint32_t LoadWord32(const uint8_t* bytes) {
  uint32_t word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}
inline uint64_t LoadWord64(const uint8_t* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}
inline void StoreWord32(uint32_t word, uint8_t* bytes) { std::memcpy(bytes, &word, sizeof(word)); }
inline void StoreWord64(uint64_t word, uint8_t* bytes) { std::memcpy(bytes, &word, sizeof(word)); }

}  // namespace tacet::ring

#endif  // TACET_RING_WORDS_H_
