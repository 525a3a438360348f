// The MAC's words inside the payload of scheme compact.
//
// Polynomial J, after the J payload polynomials with counts, has three used coefficients,
//   c_J = a_J k + e_J + p1 w mod Q,   e_J ~ CBD(21)^3,
// with the words w of an upload's tag. p1 is 0 mod p1, so that words which add up wrap mod p0 as
// those of a MAC do, and leave nothing of how often: p1 w + p1 w' = p1 (w + w' mod p0) mod Q. Three
// coefficients of a product are inner products, much cheaper than transforms.
#ifndef TACET_HE_TAG_POLYNOMIAL_H_
#define TACET_HE_TAG_POLYNOMIAL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tacet/crypto/random.h"
#include "tacet/crypto/secret.h"
#include "tacet/he/field_row.h"
#include "tacet/he/tag.h"
#include "tacet/he/truncated_planes.h"

namespace tacet::he {

inline constexpr size_t kTagPlaneBytes = kPlaneBytes * kTagWords;

// The three coefficients of a product a_J k: mod p0, then mod p1.
using TagProducts = crypto::SecretVector<uint64_t>;

// a_J, public. Immutable and thread-safe.
class TagPolynomial {
 public:
  // `index` is J.
  TagPolynomial(std::span<const uint8_t> public_seed, uint64_t index);

  // `key` has N coefficients, each above -2^31.
  template <typename Small>
  TagProducts Times(std::span<const Small> key) const;

 private:
  std::array<FieldRow, 2> coefficients_;   // a_J mod each prime
  std::array<uint64_t, 2> biased_sums_{};  // 2^31 times their sum
};

// Writes ⌊c_J / 2^4⌋ in planes, kTagPlaneBytes long, with errors from `error_random`.
void EncryptTag(const Tag& tag, const TagProducts& products, crypto::Random& error_random,
                uint8_t* planes);

// Σw from a sum of c_J: `residues` are its coefficients mod each prime, little-endian u64 that are
// canonical, `products` those of a_J and Σk. Exact for every number of ciphertexts that a plan
// allows: errors and truncations add up to less than p1 / 2 (docs/security/decryption.md).
Tag DecryptTag(const std::array<const uint8_t*, 2>& residues, const TagProducts& products,
               uint32_t participants);

}  // namespace tacet::he

#endif  // TACET_HE_TAG_POLYNOMIAL_H_
