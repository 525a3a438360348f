#include <array>
#include <functional>
#include <utility>
#include <vector>

#include "tacet/base/status.h"
#include "tacet/he/compact.h"
#include "tacet/he/lanes.h"
#include "tacet/he/payload_shape.h"
#include "tacet/he/residues.h"
#include "tacet/he/truncated_planes.h"
#include "tacet/ring/crt.h"
#include "tacet/ring/ntt.h"
#include "tacet/ring/polynomial.h"

namespace tacet::he {
namespace {

using ring::Int128;
using ring::Uint128;

constexpr size_t kN = ring::kCompactDegree;

class CompactDecryptor final : public Decryptor {
 public:
  CompactDecryptor(const AggregationParams& params, std::span<const uint8_t> public_seed,
                   std::unique_ptr<EnvelopeOpener> envelope)
      : params_(params),
        a_ntt_(ExpandPayloadA(public_seed, params.polynomials())),
        envelope_(std::move(envelope)) {}

  absl::StatusOr<std::vector<uint64_t>> Decrypt(std::span<const uint8_t> closed_sum,
                                                uint32_t participants) const override {
    const uint64_t total_offset = participants * params_.offset();
    std::vector<uint64_t> sums(params_.dimension());
    base::SecretVector<int64_t> centred(params_.lanes());
    const auto decode = [&](uint64_t first, std::span<const Int128> phases) {
      for (size_t i = 0; i < phases.size(); ++i) {
        const uint64_t coefficient = first + i;
        UnpackLanes(RoundToMultiple(phases[i], params_.scale_bits()), params_.plaintext_bits(),
                    centred.Expose());
        const size_t values = ValuesIn(params_, coefficient);
        for (size_t l = 0; l < values; ++l) {
          sums[coefficient * params_.lanes() + l] = SumOfCounts(centred.Expose()[l], total_offset);
        }
      }
    };
    TACET_RETURN_IF_ERROR(ForEachPolynomial(closed_sum, participants, decode));
    return sums;
  }

  absl::StatusOr<double> MeasureNoise(std::span<const uint8_t> closed_sum,
                                      uint32_t participants) const override {
    double sum_of_squares = 0;
    const auto measure = [&](uint64_t /*first*/, std::span<const Int128> phases) {
      for (const Int128 phase : phases) {
        const Int128 nearest = RoundToMultiple(phase, params_.scale_bits());
        const double error = static_cast<double>(
            static_cast<int64_t>(phase - nearest * (Int128{1} << params_.scale_bits())));
        sum_of_squares += error * error;
      }
    };
    TACET_RETURN_IF_ERROR(ForEachPolynomial(closed_sum, participants, measure));
    return sum_of_squares / static_cast<double>(params_.used_coefficients());
  }

 private:
  using Sink = std::function<void(uint64_t first_coefficient, std::span<const Int128> phases)>;

  // Hands over the phases of all used coefficients, a polynomial at a time: Σe - (its truncation's
  // mean) + 2^kappa Σ_l (sum - K' offset) 2^(w l), centred mod Q.
  absl::Status ForEachPolynomial(std::span<const uint8_t> closed_sum, uint32_t participants,
                                 const Sink& sink) const {
    TACET_RETURN_IF_ERROR(CheckClosedSum(params_, closed_sum.size(), participants));
    const size_t payload_bytes = 16 * params_.used_coefficients();
    TACET_ASSIGN_OR_RETURN(const base::SecretVector<int32_t> key_sum,
                           envelope_->Open(closed_sum.subspan(payload_bytes), participants));
    const std::array<ring::Multiplier, 2> key_factors = {
        ring::Multiplier(std::span<const int32_t>(key_sum.Expose()), ring::CompactNtt(0)),
        ring::Multiplier(std::span<const int32_t>(key_sum.Expose()), ring::CompactNtt(1))};

    base::ByteReader reader(closed_sum.first(payload_bytes), "closed sum");
    std::vector<uint64_t> residues(kN);
    std::array<base::SecretVector<uint64_t>, 2> phase{base::SecretVector<uint64_t>(kN),
                                                      base::SecretVector<uint64_t>(kN)};
    base::SecretVector<Int128> centred(kN);
    for (uint64_t j = 0; j < params_.polynomials(); ++j) {
      const size_t used = UsedCoefficients(params_, j);
      const bool last = j + 1 == params_.polynomials();
      const auto c = std::span(residues).first(used);
      for (size_t prime = 0; prime < 2; ++prime) {
        const ring::Modulus& modulus = ring::kModuli[prime];
        TACET_RETURN_IF_ERROR(ReadResidues(reader, "payload", modulus.prime(), c));
        const auto key_part = phase[prime].Expose();
        key_factors[prime].Multiply(std::span(a_ntt_).subspan((2 * j + prime) * kN, kN), key_part);
        const uint64_t known = KnownPart(modulus, participants, params_.lanes());
        for (size_t i = 0; i < used; ++i) {
          key_part[i] = modulus.Subtract(modulus.Add(c[i], known), key_part[i]);
        }
        if (last) {  // its last coefficient may carry fewer values
          const uint64_t partial =
              KnownPart(modulus, participants, ValuesIn(params_, params_.used_coefficients() - 1));
          key_part[used - 1] = modulus.Add(modulus.Subtract(key_part[used - 1], known), partial);
        }
      }
      for (size_t i = 0; i < used; ++i) {
        centred.Expose()[i] =
            ring::CentreQ(ring::ComposeCrt(phase[0].Expose()[i], phase[1].Expose()[i]));
      }
      sink(j * kN, centred.Expose().first(used));
    }
    return absl::OkStatus();
  }

  // What everybody knows of a phase: the truncation's mean less 2^kappa Σ_{l < values} K' offset
  // 2^(w l), mod p.
  uint64_t KnownPart(const ring::Modulus& modulus, uint32_t participants, size_t values) const {
    Uint128 ones = 0;  // 2^kappa Σ 2^(w l) < 2^100
    for (size_t l = 0; l < values; ++l) {
      ones += Uint128{1} << (params_.scale_bits() + l * params_.plaintext_bits());
    }
    const uint64_t total_offset = modulus.Reduce(participants * params_.offset());
    return modulus.Subtract(TruncationMean(participants),
                            modulus.Multiply(modulus.Reduce(ones), total_offset));
  }

  AggregationParams params_;
  std::vector<uint64_t> a_ntt_;
  std::unique_ptr<EnvelopeOpener> envelope_;
};

}  // namespace

std::unique_ptr<Decryptor> NewCompactDecryptor(const AggregationParams& params,
                                               std::span<const uint8_t> public_seed,
                                               std::unique_ptr<EnvelopeOpener> envelope) {
  return std::make_unique<CompactDecryptor>(params, public_seed, std::move(envelope));
}

}  // namespace tacet::he
