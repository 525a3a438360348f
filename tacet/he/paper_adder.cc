#include <string_view>
#include <vector>

#include "tacet/base/status.h"
#include "tacet/he/paper.h"
#include "tacet/he/payload_shape.h"
#include "tacet/ring/ntt.h"
#include "tacet/ring/polynomial.h"
#include "tacet/ring/uniform.h"
#include "tacet/ring/words.h"

namespace tacet::he {
namespace {

constexpr size_t kN = ring::kPaperDegree;
constexpr const ring::Modulus& kModulus = ring::kModulus0;

absl::Status CheckCanonical(const uint8_t* bytes, size_t count, std::string_view field,
                            uint64_t polynomial) {
  for (size_t i = 0; i < count; ++i) {
    if (ring::LoadWord64(bytes + 8 * i) >= kModulus.prime()) {
      return base::DataLoss(
          "ciphertext: field `{}` is not canonical: word {} of polynomial {} is not below {}",
          field, i, polynomial, kModulus.prime());
    }
  }
  return absl::OkStatus();
}

void AddWords(std::span<uint64_t> sum, const uint8_t* bytes) {
  for (size_t i = 0; i < sum.size(); ++i) {
    sum[i] = kModulus.Add(sum[i], ring::LoadWord64(bytes + 8 * i));
  }
}

class PaperAdder final : public Adder {
 public:
  explicit PaperAdder(const AggregationParams& params)
      : Adder(params),
        seeded_(params.scheme() == Scheme::kPaperSecretKey),
        c0_(params.used_coefficients()),
        c1_ntt_(kN * params.polynomials()) {}

  void AddEach(std::span<const Contribution> contributions,
               std::span<absl::Status> results) override {
    for (size_t i = 0; i < contributions.size(); ++i) results[i] = AddOne(contributions[i]);
  }

  absl::Status Merge(const Adder& other) override {
    const auto* that = dynamic_cast<const PaperAdder*>(&other);
    TACET_RETURN_IF_ERROR(CheckMerge(params(), that == nullptr ? nullptr : &that->params()));
    TACET_RETURN_IF_ERROR(CheckRoomInSum(params(), uint64_t{count_} + that->count_));
    ring::AddInPlace(c0_, that->c0_, kModulus);
    ring::AddInPlace(c1_ntt_, that->c1_ntt_, kModulus);
    tag_ = AddTags(tag_, that->tag_);
    count_ += that->count_;
    return absl::OkStatus();
  }

  uint32_t count() const override { return count_; }

  void CloseInto(std::span<uint8_t> sum) const override {
    uint8_t* next = sum.data();
    const auto write = [&next](std::span<const uint64_t> words) {
      for (const uint64_t word : words) {
        ring::StoreWord64(word, next);
        next += 8;
      }
    };
    for (uint64_t j = 0; j < params().polynomials(); ++j) {
      write(std::span(c0_).subspan(j * kN, UsedCoefficients(params(), j)));
      write(std::span(c1_ntt_).subspan(j * kN, kN));
    }
    write(tag_.words);
  }

 private:
  absl::Status AddOne(const Contribution& contribution) {
    const std::span<const uint8_t> ciphertext = contribution.ciphertext;
    TACET_RETURN_IF_ERROR(CheckCiphertextLength(params(), ciphertext.size()));
    TACET_RETURN_IF_ERROR(CheckRoomInSum(params(), uint64_t{count_} + 1));
    if (contribution.announced.has_value()) {
      TACET_RETURN_IF_ERROR(CheckAnnounced(contribution, SumWords(ciphertext)));
    }
    const uint8_t* next = ciphertext.data();
    for (uint64_t j = 0; j < params().polynomials(); ++j) {
      const size_t used = UsedCoefficients(params(), j);
      TACET_RETURN_IF_ERROR(CheckCanonical(next, used, "c0", j));
      next += 8 * used;
      if (seeded_) continue;
      TACET_RETURN_IF_ERROR(CheckCanonical(next, kN, "c1", j));
      next += 8 * kN;
    }
    TACET_ASSIGN_OR_RETURN(const Tag tag, DecodeTag(ciphertext.last(kTagBytes), "ciphertext"));

    next = ciphertext.data();
    std::vector<uint64_t> a_ntt(seeded_ ? kN : 0);
    for (uint64_t j = 0; j < params().polynomials(); ++j) {
      const size_t used = UsedCoefficients(params(), j);
      AddWords(std::span(c0_).subspan(j * kN, used), next);
      next += 8 * used;
      const auto c1 = std::span(c1_ntt_).subspan(j * kN, kN);
      if (seeded_) {
        ring::ExpandUniform(
            ciphertext.last(ring::kSeedBytes + kTagBytes).first(ring::kSeedBytes),
            {.use = ring::UniformUse::kCiphertext, .polynomial = static_cast<uint32_t>(j)}, a_ntt);
        ring::AddInPlace(c1, a_ntt, kModulus);
      } else {
        AddWords(c1, next);
        next += 8 * kN;
      }
    }
    tag_ = AddTags(tag_, tag);
    ++count_;
    return absl::OkStatus();
  }

  bool seeded_;
  std::vector<uint64_t> c0_;      // coefficients, canonical
  std::vector<uint64_t> c1_ntt_;  // NTT domain, canonical
  Tag tag_;
  uint32_t count_ = 0;
};

}  // namespace

std::unique_ptr<Adder> MakePaperAdder(const AggregationParams& params) {
  return std::make_unique<PaperAdder>(params);
}

}  // namespace tacet::he
