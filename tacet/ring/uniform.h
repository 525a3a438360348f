// Uniform polynomials that several parties expand from one seed.
#ifndef TACET_RING_UNIFORM_H_
#define TACET_RING_UNIFORM_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "tacet/ring/modulus.h"

namespace tacet::ring {

inline constexpr size_t kSeedBytes = 32;

// Purpose of a stream from a seed. The numbers are part of the formats.
enum class UniformUse : uint8_t {
  kPayload = 1,     // a_j of scheme compact
  kPublicKey = 3,   // a of the paper's public key
  kCiphertext = 4,  // c1 of the paper's seeded ciphertexts
};
struct UniformStream {
  UniformUse use = UniformUse::kPayload;
  uint32_t polynomial = 0;  // j
  uint8_t prime = 0;        // index into kPrimes
};

// Fills `values_ntt` with independent uniform residues mod kPrimes[stream.prime]: the words of
// AES-256-CTR under `seed` (32 bytes, public) from the initial counter block
//   j (u32, little-endian) | prime (u8) | use (u8) | ten zero bytes,
// each read as a little-endian u64, cut to its low 50 bits, and skipped unless below the prime.
void ExpandUniform(std::span<const uint8_t> seed, const UniformStream& stream,
                   std::span<uint64_t> values_ntt);

}  // namespace tacet::ring

#endif  // TACET_RING_UNIFORM_H_
