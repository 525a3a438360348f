#include "tacet/he/tag_polynomial.h"

#include "tacet/he/compact.h"
#include "tacet/ring/crt.h"
#include "tacet/ring/ntt.h"
#include "tacet/ring/sampling.h"
#include "tacet/ring/words.h"

namespace tacet::he {
namespace {

constexpr size_t kN = ring::kCompactDegree;
constexpr const ring::Modulus& kField = ring::kModulus0;
constexpr ring::ShoupFactor kPrime1 = kField.Shoup(ring::kPrime1);
constexpr uint64_t kBias = uint64_t{1} << 31;  // makes a signed word unsigned

}  // namespace

TagPolynomial::TagPolynomial(std::span<const uint8_t> public_seed, uint64_t index) {
  ring::AlignedWords a(2 * kN);
  ExpandPayload(public_seed, index, a);
  for (size_t r = 0; r < 2; ++r) {
    const ring::Modulus& modulus = ring::kModuli[r];
    const auto coefficients = std::span(a).subspan(r * kN, kN);
    ring::CompactNtt(r).Inverse(coefficients);
    coefficients_[r] = FieldRow(modulus, coefficients);
    uint64_t sum = 0;
    for (const uint64_t coefficient : coefficients) sum = modulus.Add(sum, coefficient);
    biased_sums_[r] = modulus.Multiply(sum, kBias);
  }
}

template <typename Small>
TagProducts TagPolynomial::Times(std::span<const Small> key) const {
  // Coefficient i of a k is Σ_b a_b k_(i-b), where k_(i-b) = -k_(N+i-b) for b > i: rows[i][b].
  crypto::SecretVector<uint32_t> words(kN + kTagWords - 1);  // k_2, k_1, k_0, -k_(N-1), ..., -k_1
  const auto biased = words.Expose();
  for (size_t i = 0; i < kTagWords; ++i) {
    biased[kTagWords - 1 - i] = static_cast<uint32_t>(key[i]) + static_cast<uint32_t>(kBias);
  }
  for (size_t i = 1; i < kN; ++i) {
    biased[kTagWords - 1 + i] = static_cast<uint32_t>(kBias) - static_cast<uint32_t>(key[kN - i]);
  }
  std::array<const uint32_t*, kTagWords> rows;
  for (size_t i = 0; i < kTagWords; ++i) rows[i] = biased.data() + kTagWords - 1 - i;
  TagProducts products(2 * kTagWords);
  for (size_t r = 0; r < 2; ++r) {
    const auto of_prime = products.Expose().subspan(r * kTagWords, kTagWords);
    coefficients_[r].Multiply(rows.data(), kN, of_prime);
    for (uint64_t& product : of_prime) {
      product = ring::kModuli[r].Subtract(product, biased_sums_[r]);
    }
  }
  return products;
}
template TagProducts TagPolynomial::Times(std::span<const int8_t>) const;
template TagProducts TagPolynomial::Times(std::span<const int32_t>) const;

void EncryptTag(const Tag& tag, const TagProducts& products, crypto::Random& error_random,
                uint8_t* planes) {
  crypto::SecretVector<int8_t> error(kTagWords);
  ring::SampleError(error_random, error.Expose());
  for (size_t i = 0; i < kTagWords; ++i) {
    std::array<uint64_t, 2> c;
    for (size_t r = 0; r < 2; ++r) {
      c[r] = ring::kModuli[r].Add(products.Expose()[r * kTagWords + i],
                                  ring::kModuli[r].FromSigned(error.Expose()[i]));
    }
    c[0] = kField.Add(c[0], kField.Multiply(tag.words[i], kPrime1));
    StoreCoefficient(ring::ComposeCrt(c[0], c[1]), i, kTagWords, planes);
    crypto::Wipe(c.data(), sizeof(c));
  }
}

Tag DecryptTag(const std::array<const uint8_t*, 2>& residues, const TagProducts& products,
               uint32_t participants) {
  constexpr ring::ShoupFactor kInverse = kField.Shoup(kField.Inverse(ring::kPrime1));
  Tag sum;
  for (size_t i = 0; i < kTagWords; ++i) {
    // The error plus p1 Σw: mod p1 it is the error alone.
    std::array<uint64_t, 2> x;
    for (size_t r = 0; r < 2; ++r) {
      const ring::Modulus& modulus = ring::kModuli[r];
      x[r] = modulus.Add(modulus.Subtract(ring::LoadWord64(residues[r] + 8 * i),
                                          products.Expose()[r * kTagWords + i]),
                         TruncationMean(participants));
    }
    const uint64_t above = ring::MaskOfTopBit((ring::kPrime1 - 1) / 2 - x[1]);
    const auto error = static_cast<int64_t>(x[1] - (ring::kPrime1 & above));
    sum.words[i] = kField.Multiply(kField.Subtract(x[0], kField.FromSigned(error)), kInverse);
  }
  return sum;
}

}  // namespace tacet::he
