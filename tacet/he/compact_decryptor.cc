#include <array>
#include <utility>
#include <vector>

#include "tacet/base/status.h"
#include "tacet/he/compact.h"
#include "tacet/he/payload_shape.h"
#include "tacet/he/residues.h"
#include "tacet/he/truncated_planes.h"
#include "tacet/ring/crt.h"
#include "tacet/ring/kernels.h"
#include "tacet/ring/lanes.h"
#include "tacet/ring/ntt.h"
#include "tacet/ring/polynomial.h"
#include "tacet/ring/words.h"

namespace tacet::he {
namespace {

using ring::Int128;
using ring::Uint128;

constexpr size_t kN = ring::kCompactDegree;

// A payload polynomial of a closed sum, with canonical residues.
struct ClosedPolynomial {
  uint64_t index = 0;
  size_t used = 0;
  std::array<const uint8_t*, 2> residues{};  // little-endian u64 mod each prime
};

class CompactDecryptor final : public Decryptor {
 public:
  CompactDecryptor(const AggregationParams& params, std::span<const uint8_t> public_seed,
                   std::unique_ptr<EnvelopeOpener> envelope)
      : params_(params),
        a_ntt_(ExpandPayloadA(public_seed, params.polynomials())),
        envelope_(std::move(envelope)) {}

  absl::Status DecryptInto(std::span<const uint8_t> closed_sum, uint32_t participants,
                           std::vector<uint64_t>& sums) const override {
    TACET_ASSIGN_OR_RETURN(const ModQMultiplier key_factors, OpenKeySum(closed_sum, participants));
    sums.resize(params_.dimension());
    base::SecretVector<uint64_t> scratch(ring::ScratchWords(kN));
    const ring::Kernels& kernels = ring::ActiveKernels();
    base::ByteReader reader(closed_sum, "closed sum");
    for (uint64_t j = 0; j < params_.polynomials(); ++j) {
      TACET_ASSIGN_OR_RETURN(const ClosedPolynomial c, ReadPolynomial(reader, j));
      kernels.open({.product = key_factors.Times(PayloadA(a_ntt_, j), scratch.Expose()),
                    .residues = c.residues,
                    .layout = LanesOf(params_),
                    .shift = KnownPart(participants, params_.lanes()),
                    .last_shift = LastShift(c, participants),
                    .offset = participants * params_.offset(),
                    .used = c.used,
                    .sums = ValuesOf(params_, j, std::span(sums))});
    }
    return absl::OkStatus();
  }

  absl::StatusOr<double> MeasureNoise(std::span<const uint8_t> closed_sum,
                                      uint32_t participants) const override {
    TACET_ASSIGN_OR_RETURN(const ModQMultiplier key_factors, OpenKeySum(closed_sum, participants));
    std::array<base::SecretVector<uint64_t>, 2> product{base::SecretVector<uint64_t>(kN),
                                                        base::SecretVector<uint64_t>(kN)};
    const Uint128 known = KnownPart(participants, params_.lanes());
    double sum_of_squares = 0;
    base::ByteReader reader(closed_sum, "closed sum");
    for (uint64_t j = 0; j < params_.polynomials(); ++j) {
      TACET_ASSIGN_OR_RETURN(const ClosedPolynomial c, ReadPolynomial(reader, j));
      for (size_t r = 0; r < 2; ++r) {
        key_factors.mod(r).Multiply(std::span(a_ntt_).subspan((2 * j + r) * kN, kN),
                                    product[r].Expose());
      }
      for (size_t i = 0; i < c.used; ++i) {
        std::array<uint64_t, 2> phase;
        for (size_t r = 0; r < 2; ++r) {
          phase[r] = ring::kModuli[r].Subtract(ring::LoadWord64(c.residues[r] + 8 * i),
                                               product[r].Expose()[i]);
        }
        const Uint128 shift = known + (i + 1 == c.used ? LastShift(c, participants) : 0);
        const Int128 centred =
            ring::CentreQ(ring::ReduceQ(ring::ComposeCrt(phase[0], phase[1]) + shift));
        const Int128 nearest = ring::RoundToMultiple(centred, params_.scale_bits());
        const double error = static_cast<double>(
            static_cast<int64_t>(centred - nearest * (Int128{1} << params_.scale_bits())));
        sum_of_squares += error * error;
      }
    }
    return sum_of_squares / static_cast<double>(params_.used_coefficients());
  }

 private:
  // The sum of the one-time keys. Errors: everything but residues of the payload.
  absl::StatusOr<ModQMultiplier> OpenKeySum(std::span<const uint8_t> closed_sum,
                                            uint32_t participants) const {
    TACET_RETURN_IF_ERROR(CheckClosedSum(params_, closed_sum.size(), participants));
    TACET_ASSIGN_OR_RETURN(
        const base::SecretVector<int32_t> key_sum,
        envelope_->Open(closed_sum.subspan(16 * params_.used_coefficients()), participants));
    return ModQMultiplier(std::span<const int32_t>(key_sum.Expose()));
  }

  absl::StatusOr<ClosedPolynomial> ReadPolynomial(base::ByteReader& reader, uint64_t index) const {
    ClosedPolynomial polynomial{.index = index, .used = UsedCoefficients(params_, index)};
    for (size_t r = 0; r < 2; ++r) {
      TACET_ASSIGN_OR_RETURN(const auto bytes,
                             ReadResidues(reader, "payload", ring::kPrimes[r], polynomial.used));
      polynomial.residues[r] = bytes.data();
    }
    return polynomial;
  }

  // What everybody knows of the phase of a coefficient with `values` values: the truncation's mean
  // less 2^kappa Σ_{l < values} K' offset 2^(w l), mod Q. With it the phase is
  // Σe - (its truncation's mean) + 2^kappa Σ_l (sum - K' offset) 2^(w l).
  Uint128 KnownPart(uint32_t participants, size_t values) const {
    Uint128 ones = 0;  // 2^kappa Σ 2^(w l) < 2^100
    for (size_t l = 0; l < values; ++l) {
      ones += Uint128{1} << (params_.scale_bits() + l * params_.plaintext_bits());
    }
    std::array<uint64_t, 2> known;
    for (size_t r = 0; r < 2; ++r) {
      const ring::Modulus& modulus = ring::kModuli[r];
      const uint64_t total_offset = modulus.Reduce(participants * params_.offset());
      known[r] = modulus.Subtract(TruncationMean(participants),
                                  modulus.Multiply(modulus.Reduce(ones), total_offset));
    }
    return ring::ComposeCrt(known[0], known[1]);
  }

  // What is known of the last coefficient of a polynomial beyond the others: the payload's last
  // may carry fewer values.
  Uint128 LastShift(const ClosedPolynomial& polynomial, uint32_t participants) const {
    const size_t values = ValuesIn(params_, polynomial.index * kN + polynomial.used - 1);
    return ring::SubtractQIfNotBelow(KnownPart(participants, values) + ring::kModulusQ -
                                     KnownPart(participants, params_.lanes()));
  }

  AggregationParams params_;
  ring::AlignedWords a_ntt_;
  std::unique_ptr<EnvelopeOpener> envelope_;
};

}  // namespace

std::unique_ptr<Decryptor> NewCompactDecryptor(const AggregationParams& params,
                                               std::span<const uint8_t> public_seed,
                                               std::unique_ptr<EnvelopeOpener> envelope) {
  return std::make_unique<CompactDecryptor>(params, public_seed, std::move(envelope));
}

}  // namespace tacet::he
