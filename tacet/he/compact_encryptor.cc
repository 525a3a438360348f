#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "tacet/base/status.h"
#include "tacet/he/compact.h"
#include "tacet/he/derived_random.h"
#include "tacet/he/lanes.h"
#include "tacet/he/payload_shape.h"
#include "tacet/he/truncated_planes.h"
#include "tacet/ring/crt.h"
#include "tacet/ring/ntt.h"
#include "tacet/ring/polynomial.h"
#include "tacet/ring/sampling.h"

namespace tacet::he {
namespace {

using ring::Uint128;

constexpr size_t kN = ring::kCompactDegree;

class CompactEncryptor final : public Encryptor {
 public:
  CompactEncryptor(const AggregationParams& params, std::span<const uint8_t> public_seed,
                   std::unique_ptr<EnvelopeSealer> envelope)
      : params_(params),
        a_ntt_(ExpandPayloadA(public_seed, params.polynomials())),
        envelope_(std::move(envelope)) {}

  absl::Status Encrypt(std::span<const uint32_t> counts, const base::SecretBytes& seal_key,
                       base::Bytes& ciphertext) const override {
    TACET_RETURN_IF_ERROR(CheckSealInput(params_, counts.size(), seal_key.size()));
    ciphertext.resize(params_.ciphertext_bytes());

    base::SecretVector<int8_t> key(kN);
    base::Random key_random = DeriveRandom(seal_key, "payload key");
    ring::SampleTernary(key_random, key.Expose());
    envelope_->Seal(key.Expose(), seal_key, std::span(ciphertext).last(params_.envelope_bytes()));

    const std::array<ring::Multiplier, 2> key_factors = {
        ring::Multiplier(std::span<const int8_t>(key.Expose()), ring::CompactNtt(0)),
        ring::Multiplier(std::span<const int8_t>(key.Expose()), ring::CompactNtt(1))};
    base::Random error_random = DeriveRandom(seal_key, "payload error");
    Scratch scratch;
    uint8_t* planes = ciphertext.data();
    const uint64_t per_polynomial = kN * params_.lanes();
    for (uint64_t j = 0; j < params_.polynomials(); ++j) {
      const auto values =
          counts.subspan(j * per_polynomial,
                         std::min<uint64_t>(per_polynomial, counts.size() - j * per_polynomial));
      for (size_t prime = 0; prime < 2; ++prime) {
        key_factors[prime].Multiply(std::span(a_ntt_).subspan((2 * j + prime) * kN, kN),
                                    scratch.product[prime].Expose());
      }
      const size_t used = UsedCoefficients(params_, j);
      ring::SampleError(error_random, scratch.error.Expose().first(used));
      AddPlaintext(values, scratch, used, planes);
      planes += kPlaneBytes * used;
    }
    return absl::OkStatus();
  }

 private:
  struct Scratch {
    std::array<base::SecretVector<uint64_t>, 2> product{base::SecretVector<uint64_t>(kN),
                                                        base::SecretVector<uint64_t>(kN)};
    base::SecretVector<int8_t> error{kN};
  };

  // a k + e + 2^kappa m mod Q, truncated, of one polynomial.
  void AddPlaintext(std::span<const uint32_t> values, const Scratch& scratch, size_t used,
                    uint8_t* planes) const {
    const auto product0 = scratch.product[0].Expose();
    const auto product1 = scratch.product[1].Expose();
    const auto errors = scratch.error.Expose();
    const size_t lanes = params_.lanes();
    const uint32_t lane_bits = params_.plaintext_bits();
    const uint32_t scale_bits = params_.scale_bits();
    for (size_t i = 0; i < used; ++i) {
      const size_t first = i * lanes;
      const auto packed =
          PackLanes(values.subspan(first, std::min(lanes, values.size() - first)), lane_bits);
      // Counts may carry beyond their lanes: 2^kappa m < 2^(100 - w + 33) <= 2^125.
      const Uint128 added = (static_cast<Uint128>(packed) << scale_bits) + ring::kModulusQ +
                            static_cast<Uint128>(static_cast<ring::Int128>(errors[i]));
      StoreCoefficient(ring::ReduceQ(ring::ComposeCrt(product0[i], product1[i]) + added), i, used,
                       planes);
    }
  }

  AggregationParams params_;
  std::vector<uint64_t> a_ntt_;
  std::unique_ptr<EnvelopeSealer> envelope_;
};

}  // namespace

std::unique_ptr<Encryptor> NewCompactEncryptor(const AggregationParams& params,
                                               std::span<const uint8_t> public_seed,
                                               std::unique_ptr<EnvelopeSealer> envelope) {
  return std::make_unique<CompactEncryptor>(params, public_seed, std::move(envelope));
}

}  // namespace tacet::he
