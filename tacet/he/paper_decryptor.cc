#include <utility>

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
  PaperDecryptor(const AggregationParams& params, const crypto::SecretBytes& group_secret)
      : Decryptor(params),
        delta_(static_cast<int64_t>(PaperDelta(params.plaintext_bits()))),
        inverse_delta_(static_cast<int64_t>(
            ((ring::Uint128{1} << 64) + PaperDelta(params.plaintext_bits()) / 2) /
            PaperDelta(params.plaintext_bits()))),
        secret_(std::span<const int8_t>(ExpandGroupSecret(group_secret, kN).Expose()),
                ring::PaperNtt()) {}

  absl::StatusOr<std::unique_ptr<Decryption>> Begin(std::span<const uint8_t> aggregated_ciphertext,
                                                    uint32_t participants) const override {
    TACET_ASSIGN_OR_RETURN(Phases phases, BeginPhases(aggregated_ciphertext, participants));
    return std::make_unique<PaperDecryption>(*this, std::move(phases));
  }

  absl::StatusOr<double> MeasureNoise(std::span<const uint8_t> aggregated_ciphertext,
                                      uint32_t participants) const override {
    TACET_ASSIGN_OR_RETURN(Phases phases, BeginPhases(aggregated_ciphertext, participants));
    double sum_of_squares = 0;
    for (uint64_t j = 0; j < params().polynomials(); ++j) {
      TACET_ASSIGN_OR_RETURN(const std::span<const int64_t> of_polynomial, phases.Next());
      for (const int64_t phase : of_polynomial) {
        const double error = static_cast<double>(phase - Round(phase) * delta_);
        sum_of_squares += error * error;
      }
    }
    return sum_of_squares / static_cast<double>(params().dimension());
  }

 private:
  // The phases Delta (sum - K' offset) + Σe, centred mod Q, a polynomial at a time.
  class Phases {
   public:
    Phases(const PaperDecryptor& decryptor, std::span<const uint8_t> aggregated_ciphertext,
           uint32_t participants)
        : decryptor_(decryptor),
          reader_(aggregated_ciphertext, "aggregated ciphertext"),
          total_offset_(participants * decryptor.params().offset()),
          known_(kModulus.Multiply(kModulus.Reduce(total_offset_),
                                   static_cast<uint64_t>(decryptor.delta_))),
          product_(kN),
          phases_(kN) {}

    absl::StatusOr<std::span<const int64_t>> Next() {
      const size_t used = UsedCoefficients(decryptor_.params(), polynomial_++);
      TACET_ASSIGN_OR_RETURN(const auto c0, ReadResidues(reader_, "c0", kModulus.prime(), used));
      TACET_ASSIGN_OR_RETURN(const ring::AlignedWords c1_ntt,
                             ReadResidueWords(reader_, "c1", kModulus.prime(), kN));
      decryptor_.secret_.Multiply(c1_ntt, product_.Expose());
      for (size_t i = 0; i < used; ++i) {
        const uint64_t phase =
            kModulus.Add(ring::LoadWord64(c0.data() + 8 * i), product_.Expose()[i]);
        phases_.Expose()[i] = Centre(kModulus.Subtract(phase, known_));
      }
      return std::as_const(phases_).Expose().first(used);
    }

    absl::StatusOr<Tag> ReadTag() {
      ++polynomial_;
      TACET_ASSIGN_OR_RETURN(const auto bytes, reader_.ReadBytes(kTagBytes, "tag"));
      return DecodeTag(bytes, reader_.what());
    }

    uint64_t total_offset() const { return total_offset_; }
    uint64_t polynomial() const { return polynomial_; }  // the next one

   private:
    const PaperDecryptor& decryptor_;
    base::ByteReader reader_;
    uint64_t total_offset_;  // K' offset
    uint64_t known_;
    crypto::SecretVector<uint64_t> product_;
    crypto::SecretVector<int64_t> phases_;
    uint64_t polynomial_ = 0;
  };

  class PaperDecryption final : public Decryption {
   public:
    PaperDecryption(const PaperDecryptor& decryptor, Phases phases)
        : decryptor_(decryptor), phases_(std::move(phases)) {}

    absl::Status Next(std::span<uint64_t> sums) override {
      RequireBlock(decryptor_.params(), phases_.polynomial(), sums.size());
      TACET_ASSIGN_OR_RETURN(const std::span<const int64_t> phases, phases_.Next());
      for (size_t i = 0; i < phases.size(); ++i) {
        sums[i] = SumOfCounts(decryptor_.Round(phases[i]), phases_.total_offset());
      }
      return absl::OkStatus();
    }

    absl::StatusOr<Tag> Finish() override {
      RequireEnd(decryptor_.params(), phases_.polynomial());
      return phases_.ReadTag();
    }

   private:
    const PaperDecryptor& decryptor_;
    Phases phases_;
  };

  absl::StatusOr<Phases> BeginPhases(std::span<const uint8_t> aggregated_ciphertext,
                                     uint32_t participants) const {
    TACET_RETURN_IF_ERROR(
        CheckAggregatedCiphertext(params(), aggregated_ciphertext.size(), participants));
    return Phases(*this, aggregated_ciphertext, participants);
  }

  // phase / Delta to the nearest integer, by the reciprocal 2^64 / Delta: off by less than
  // |phase| / 2^65 < 2^-16 before rounding. No division: its time would depend on the phase.
  int64_t Round(int64_t phase) const {
    const ring::Int128 scaled = static_cast<ring::Int128>(phase) * inverse_delta_;
    return static_cast<int64_t>((scaled + (ring::Int128{1} << 63)) >> 64);
  }

  int64_t delta_;
  int64_t inverse_delta_;  // round(2^64 / Delta) < 2^53
  ring::Multiplier secret_;
};

}  // namespace

std::unique_ptr<Decryptor> MakePaperDecryptor(const AggregationParams& params,
                                              const crypto::SecretBytes& group_secret) {
  return std::make_unique<PaperDecryptor>(params, group_secret);
}

}  // namespace tacet::he
