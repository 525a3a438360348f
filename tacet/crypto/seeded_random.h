// Reproducible random choices that need not be secret: initial weights, splits, batches, synthetic
// handwriting.
#ifndef TACET_CRYPTO_SEEDED_RANDOM_H_
#define TACET_CRYPTO_SEEDED_RANDOM_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "tacet/crypto/random.h"

namespace tacet::crypto {

// A generator that depends on (seed, purpose, first, second) only: AES-CTR under
// HKDF-SHA256(seed, "tacet/1/learning/" purpose ‖ first ‖ second). Noise, keys and cohorts never
// come from here.
Random SeededRandom(uint64_t seed, std::string_view purpose, uint64_t first = 0,
                    uint64_t second = 0);

// Uniform on [0, 1) with 53 bits.
double Uniform(Random& random);

// A uniformly random order (Fisher and Yates).
void Shuffle(Random& random, std::span<uint32_t> values);

}  // namespace tacet::crypto

#endif  // TACET_CRYPTO_SEEDED_RANDOM_H_
