#include <functional>
#include <vector>

#include "tacet/base/status.h"
#include "tacet/he/derived_random.h"
#include "tacet/he/paper.h"
#include "tacet/he/payload_shape.h"
#include "tacet/he/residues.h"
#include "tacet/ring/ntt.h"
#include "tacet/ring/polynomial.h"
#include "tacet/ring/words.h"

namespace tacet::he {
namespace {

constexpr size_t kN = ring::kPaperDegree;
constexpr const ring::Modulus& kModulus = ring::kModulus0;

// The representative of x in [0, Q) that lies in [-(Q-1)/2, (Q-1)/2].
int64_t Centre(uint64_t x) {
  const uint64_t above = ring::MaskOfTopBit((kModulus.prime() - 1) / 2 - x);
  return static_cast<int64_t>(x - (kModulus.prime() & above));
}

class PaperDecryptor final : public Decryptor {
 public:
  PaperDecryptor(const AggregationParams& params, const base::SecretBytes& group_secret)
      : params_(params),
        delta_(static_cast<int64_t>(PaperDelta(params.plaintext_bits()))),
        inverse_delta_(static_cast<int64_t>(
            ((ring::Uint128{1} << 64) + PaperDelta(params.plaintext_bits()) / 2) /
            PaperDelta(params.plaintext_bits()))),
        secret_(std::span<const int8_t>(ExpandGroupSecret(group_secret, kN).Expose()),
                ring::PaperNtt()) {}

  absl::Status DecryptInto(std::span<const uint8_t> closed_sum, uint32_t participants,
                           std::vector<uint64_t>& sums) const override {
    const uint64_t total_offset = participants * params_.offset();
    sums.resize(params_.dimension());
    const auto decode = [&](uint64_t first, std::span<const int64_t> phases) {
      for (size_t i = 0; i < phases.size(); ++i) {
        sums[first + i] = SumOfCounts(Round(phases[i]), total_offset);
      }
    };
    return ForEachPolynomial(closed_sum, participants, decode);
  }

  absl::StatusOr<double> MeasureNoise(std::span<const uint8_t> closed_sum,
                                      uint32_t participants) const override {
    double sum_of_squares = 0;
    const auto measure = [&](uint64_t /*first*/, std::span<const int64_t> phases) {
      for (const int64_t phase : phases) {
        const double error = static_cast<double>(phase - Round(phase) * delta_);
        sum_of_squares += error * error;
      }
    };
    TACET_RETURN_IF_ERROR(ForEachPolynomial(closed_sum, participants, measure));
    return sum_of_squares / static_cast<double>(params_.dimension());
  }

 private:
  using Sink = std::function<void(uint64_t first_coefficient, std::span<const int64_t> phases)>;

  // phase / Delta to the nearest integer, by the reciprocal 2^64 / Delta: off by less than
  // |phase| / 2^65 < 2^-16 before rounding. No division: its time would depend on the phase.
  int64_t Round(int64_t phase) const {
    const ring::Int128 scaled = static_cast<ring::Int128>(phase) * inverse_delta_;
    return static_cast<int64_t>((scaled + (ring::Int128{1} << 63)) >> 64);
  }

  // Hands over the phases Delta (sum - K' offset) + Σe, centred mod Q, a polynomial at a time.
  absl::Status ForEachPolynomial(std::span<const uint8_t> closed_sum, uint32_t participants,
                                 const Sink& sink) const {
    TACET_RETURN_IF_ERROR(CheckClosedSum(params_, closed_sum.size(), participants));
    base::ByteReader reader(closed_sum, "closed sum");
    const uint64_t known = kModulus.Multiply(kModulus.Reduce(participants * params_.offset()),
                                             static_cast<uint64_t>(delta_));
    base::SecretVector<uint64_t> product(kN);
    base::SecretVector<int64_t> phases(kN);
    for (uint64_t j = 0; j < params_.polynomials(); ++j) {
      const size_t used = UsedCoefficients(params_, j);
      TACET_ASSIGN_OR_RETURN(const auto c0, ReadResidues(reader, "c0", kModulus.prime(), used));
      TACET_ASSIGN_OR_RETURN(const ring::AlignedWords c1_ntt,
                             ReadResidueWords(reader, "c1", kModulus.prime(), kN));
      secret_.Multiply(c1_ntt, product.Expose());
      for (size_t i = 0; i < used; ++i) {
        const uint64_t phase =
            kModulus.Add(ring::LoadWord64(c0.data() + 8 * i), product.Expose()[i]);
        phases.Expose()[i] = Centre(kModulus.Subtract(phase, known));
      }
      sink(j * kN, phases.Expose().first(used));
    }
    return reader.ExpectEnd();
  }

  AggregationParams params_;
  int64_t delta_;
  int64_t inverse_delta_;  // round(2^64 / Delta) < 2^53
  ring::Multiplier secret_;
};

}  // namespace

std::unique_ptr<Decryptor> NewPaperDecryptor(const AggregationParams& params,
                                             const base::SecretBytes& group_secret) {
  return std::make_unique<PaperDecryptor>(params, group_secret);
}

}  // namespace tacet::he
