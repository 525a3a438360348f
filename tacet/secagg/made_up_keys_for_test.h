// Decryption under keys that somebody made up, many of them in one attempt.
#ifndef TACET_SECAGG_MADE_UP_KEYS_FOR_TEST_H_
#define TACET_SECAGG_MADE_UP_KEYS_FOR_TEST_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tacet/base/status_for_test.h"
#include "tacet/crypto/hash.h"
#include "tacet/he/aggregation.h"
#include "tacet/he/payload_shape.h"
#include "tacet/he/tag_polynomial.h"
#include "tacet/he/truncated_planes.h"
#include "tacet/ring/crt.h"
#include "tacet/ring/slots.h"
#include "tacet/ring/words.h"

namespace tacet::secagg::testing {

using Key = std::vector<int32_t>;  // of a sum of uploads: N coefficients

// Opens sums of scheme compact. The public polynomials of the attempt are prepared once. Of a small
// model's products a k few coefficients are used: inner products, three at a time, in place of
// transforms.
class AttemptDecryptor {
 public:
  AttemptDecryptor(const he::AggregationParams& params, const crypto::Digest& public_seed)
      : params_(params),
        seed_(public_seed),
        payload_(seed_, 0),
        tag_(seed_, params_.polynomials()) {}

  // A ciphertext as if it were a sum.
  base::Bytes AsSum(std::span<const uint8_t> ciphertext) const {
    base::Bytes sum(params_.aggregated_ciphertext_bytes());
    std::span<uint8_t> rest = sum;
    for (uint64_t j = 0; j <= params_.polynomials(); ++j) {
      he::PlaneSums planes(j == params_.polynomials() ? he::kTagWords
                                                      : he::UsedCoefficients(params_, j));
      const uint8_t* const of_polynomial = ciphertext.data();
      std::array<he::WordSums, 1> words;
      planes.Add({&of_polynomial, 1}, words);
      planes.WriteResidues(rest.first(16 * planes.count()));
      rest = rest.subspan(16 * planes.count());
      ciphertext = ciphertext.subspan(he::kPlaneBytes * planes.count());
    }
    std::ranges::copy(ciphertext, rest.begin());
    return sum;
  }

  he::Decryptor::Decrypted Open(std::span<const uint8_t> sum, uint32_t participants,
                                const Key& key) const {
    const size_t used = params_.used_coefficients();
    if (used > kFewCoefficients) return OpenWhole(sum, participants, key);
    he::Decryptor::Decrypted opened;
    he::TagProducts products;
    for (size_t i = 0; i < used; ++i) {
      if (i % kAtOnce == 0) products = payload_.Times(std::span<const int32_t>(Divided(key, i)));
      std::array<uint64_t, 2> phase;
      for (size_t r = 0; r < 2; ++r) {
        const ring::Modulus& modulus = ring::kModuli[r];
        phase[r] = modulus.Add(modulus.Subtract(ring::LoadWord64(sum.data() + 8 * (r * used + i)),
                                                products.Expose()[r * kAtOnce + i % kAtOnce]),
                               he::TruncationMean(participants));
      }
      AppendSums(ring::ComposeCrt(phase[0], phase[1]), i, participants, opened.sums);
    }
    const uint8_t* const tag = sum.data() + 16 * used;
    opened.tag = he::DecryptTag({tag, tag + 8 * he::kTagWords},
                                tag_.Times(std::span<const int32_t>(key)), participants);
    return opened;
  }

 private:
  static constexpr size_t kFewCoefficients = 24;
  static constexpr size_t kAtOnce = he::kTagWords;

  // key / X^i mod X^N + 1: its products have coefficient i where those of the key have the first.
  static Key Divided(const Key& key, size_t i) {
    Key divided(key.begin() + static_cast<ptrdiff_t>(i), key.end());
    for (size_t b = 0; b < i; ++b) divided.push_back(-key[b]);
    return divided;
  }

  // The sums in coefficient i, whose phase is Σe + 2^kappa Σ_l sum_l 2^(w l) mod Q.
  void AppendSums(ring::Uint128 phase, size_t i, uint32_t participants,
                  std::vector<uint64_t>& sums) const {
    const uint64_t offset = participants * params_.offset();
    std::vector<uint64_t> offsets(he::ValuesIn(params_, i), offset);
    const auto known = static_cast<ring::Uint128>(
        ring::PackSlots(std::span<const uint64_t>(offsets), params_.plaintext_bits())
        << params_.scale_bits());
    const ring::Int128 centred =
        ring::CentreQ(ring::ReduceQ(phase + ring::kModulusQ - ring::ReduceQ(known)));
    std::vector<int64_t> values(offsets.size());
    ring::UnpackSlots(ring::RoundToMultiple(centred, params_.scale_bits()),
                      params_.plaintext_bits(), std::span(values));
    for (const int64_t value : values) sums.push_back(he::SumOfCounts(value, offset));
  }

  he::Decryptor::Decrypted OpenWhole(std::span<const uint8_t> sum, uint32_t participants,
                                     const Key& key) const {
    crypto::SecretVector<int32_t> secret(key.size());
    std::ranges::copy(key, secret.Expose().begin());
    const auto decryptor =
        base::ValueOf(he::NewCompactDecryptor(params_, seed_, std::move(secret)));
    return base::ValueOf(decryptor->Decrypt(sum, participants));
  }

  const he::AggregationParams& params_;
  crypto::Digest seed_;
  he::TagPolynomial payload_, tag_;
};

}  // namespace tacet::secagg::testing

#endif  // TACET_SECAGG_MADE_UP_KEYS_FOR_TEST_H_
