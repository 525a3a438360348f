#include <array>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/he/compact.h"
#include "tacet/he/mod_q_multiplier.h"
#include "tacet/he/payload_shape.h"
#include "tacet/he/residues.h"
#include "tacet/he/tag_polynomial.h"
#include "tacet/he/truncated_planes.h"
#include "tacet/ring/crt.h"
#include "tacet/ring/kernels.h"
#include "tacet/ring/ntt.h"
#include "tacet/ring/polynomial.h"
#include "tacet/ring/slots.h"
#include "tacet/ring/words.h"

namespace tacet::he {
namespace {

using ring::Int128;
using ring::Uint128;

constexpr size_t kN = ring::kCompactDegree;

// A payload polynomial of an aggregated ciphertext, with canonical residues.
struct ClosedPolynomial {
  uint64_t index = 0;
  size_t used = 0;
  std::array<const uint8_t*, 2> residues{};  // little-endian u64 mod each prime
};

class CompactDecryptor final : public Decryptor {
 public:
  CompactDecryptor(const AggregationParams& params, std::span<const uint8_t> public_seed,
                   crypto::SecretVector<int32_t> key_sum)
      : Decryptor(params),
        a_(SharedPayloadPolynomials(public_seed, params.polynomials())),
        key_factors_(std::span<const int32_t>(key_sum.Expose())),
        tag_products_(TagPolynomial(public_seed, params.polynomials())
                          .Times(std::span<const int32_t>(key_sum.Expose()))) {}

  absl::StatusOr<std::unique_ptr<Decryption>> Begin(std::span<const uint8_t> aggregated_ciphertext,
                                                    uint32_t participants) const override {
    TACET_RETURN_IF_ERROR(
        CheckAggregatedCiphertext(params(), aggregated_ciphertext.size(), participants));
    return std::make_unique<CompactDecryption>(*this, aggregated_ciphertext, participants);
  }

  absl::StatusOr<double> MeasureNoise(std::span<const uint8_t> aggregated_ciphertext,
                                      uint32_t participants) const override {
    TACET_RETURN_IF_ERROR(
        CheckAggregatedCiphertext(params(), aggregated_ciphertext.size(), participants));
    std::array<crypto::SecretVector<uint64_t>, 2> product{crypto::SecretVector<uint64_t>(kN),
                                                          crypto::SecretVector<uint64_t>(kN)};
    const Uint128 known = KnownPart(participants, params().slots());
    double sum_of_squares = 0;
    base::ByteReader reader(aggregated_ciphertext, "aggregated ciphertext");
    ring::AlignedWords expanded;
    for (uint64_t j = 0; j < params().polynomials(); ++j) {
      TACET_ASSIGN_OR_RETURN(const ClosedPolynomial c,
                             ReadPolynomial(reader, j, UsedCoefficients(params(), j)));
      const std::span<const uint64_t> a_ntt = a_->At(j, expanded);
      for (size_t r = 0; r < 2; ++r) {
        key_factors_.mod(r).Multiply(a_ntt.subspan(r * kN, kN), product[r].Expose());
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
        const Int128 nearest = ring::RoundToMultiple(centred, params().scale_bits());
        const double error = static_cast<double>(
            static_cast<int64_t>(centred - nearest * (Int128{1} << params().scale_bits())));
        sum_of_squares += error * error;
      }
    }
    return sum_of_squares / static_cast<double>(params().used_coefficients());
  }

 private:
  class CompactDecryption final : public Decryption {
   public:
    CompactDecryption(const CompactDecryptor& decryptor,
                      std::span<const uint8_t> aggregated_ciphertext, uint32_t participants)
        : decryptor_(decryptor),
          reader_(aggregated_ciphertext, "aggregated ciphertext"),
          participants_(participants),
          scratch_(ring::ScratchWords(kN)) {}

    absl::Status Next(std::span<uint64_t> sums) override {
      const AggregationParams& params = decryptor_.params();
      RequireBlock(params, polynomial_, sums.size());
      TACET_ASSIGN_OR_RETURN(
          const ClosedPolynomial c,
          ReadPolynomial(reader_, polynomial_, UsedCoefficients(params, polynomial_)));
      const std::span<const uint64_t> a_ntt = decryptor_.a_->At(polynomial_, expanded_);
      ring::ActiveKernels().decrypt(
          {.product = decryptor_.key_factors_.Times(a_ntt, scratch_.Expose()),
           .residues = c.residues,
           .layout = SlotsOf(params),
           .shift = decryptor_.KnownPart(participants_, params.slots()),
           .last_shift = decryptor_.LastShift(c, participants_),
           .offset = participants_ * params.offset(),
           .used = c.used,
           .sums = sums});
      ++polynomial_;
      return absl::OkStatus();
    }

    absl::StatusOr<Tag> Finish() override {
      RequireEnd(decryptor_.params(), polynomial_);
      TACET_ASSIGN_OR_RETURN(const ClosedPolynomial c,
                             ReadPolynomial(reader_, polynomial_++, kTagWords));
      return DecryptTag(c.residues, decryptor_.tag_products_, participants_);
    }

   private:
    const CompactDecryptor& decryptor_;
    base::ByteReader reader_;
    uint32_t participants_;
    crypto::SecretVector<uint64_t> scratch_;
    ring::AlignedWords expanded_;
    uint64_t polynomial_ = 0;
  };

  static absl::StatusOr<ClosedPolynomial> ReadPolynomial(base::ByteReader& reader, uint64_t index,
                                                         size_t used) {
    ClosedPolynomial polynomial{.index = index, .used = used};
    for (size_t r = 0; r < 2; ++r) {
      TACET_ASSIGN_OR_RETURN(const auto bytes,
                             ReadResidues(reader, "payload", ring::kPrimes[r], used));
      polynomial.residues[r] = bytes.data();
    }
    return polynomial;
  }

  // The public part of the phase of a coefficient with `values` values: the truncation's mean
  // less 2^kappa Σ_{l < values} K' offset 2^(w l), mod Q. With it the phase is
  // Σe - (its truncation's mean) + 2^kappa Σ_l (sum - K' offset) 2^(w l).
  Uint128 KnownPart(uint32_t participants, size_t values) const {
    Uint128 ones = 0;  // 2^kappa Σ 2^(w l) < 2^100
    for (size_t l = 0; l < values; ++l) {
      ones += Uint128{1} << (params().scale_bits() + l * params().plaintext_bits());
    }
    std::array<uint64_t, 2> known;
    for (size_t r = 0; r < 2; ++r) {
      const ring::Modulus& modulus = ring::kModuli[r];
      const uint64_t total_offset = modulus.Reduce(participants * params().offset());
      known[r] = modulus.Subtract(TruncationMean(participants),
                                  modulus.Multiply(modulus.Reduce(ones), total_offset));
    }
    return ring::ComposeCrt(known[0], known[1]);
  }

  // The public part of the last coefficient of a polynomial beyond the others: the payload's last
  // may carry fewer values.
  Uint128 LastShift(const ClosedPolynomial& polynomial, uint32_t participants) const {
    const size_t values = ValuesIn(params(), polynomial.index * kN + polynomial.used - 1);
    return ring::SubtractQIfNotBelow(KnownPart(participants, values) + ring::kModulusQ -
                                     KnownPart(participants, params().slots()));
  }

  std::shared_ptr<const PayloadPolynomials> a_;
  ModQMultiplier key_factors_;
  TagProducts tag_products_;
};

}  // namespace

std::unique_ptr<Decryptor> MakeCompactDecryptor(const AggregationParams& params,
                                                std::span<const uint8_t> public_seed,
                                                crypto::SecretVector<int32_t> key_sum) {
  return std::make_unique<CompactDecryptor>(params, public_seed, std::move(key_sum));
}

}  // namespace tacet::he
