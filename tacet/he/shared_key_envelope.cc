#include "tacet/he/shared_key_envelope.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "tacet/base/status.h"
#include "tacet/he/derived_random.h"
#include "tacet/he/lanes.h"
#include "tacet/he/residues.h"
#include "tacet/he/truncated_planes.h"
#include "tacet/ring/crt.h"
#include "tacet/ring/ntt.h"
#include "tacet/ring/polynomial.h"
#include "tacet/ring/sampling.h"
#include "tacet/ring/uniform.h"

namespace tacet::he {
namespace {

using ring::Int128;
using ring::kCompactDegree;
using ring::Uint128;

constexpr size_t kN = kCompactDegree;

// Lanes of w bits hold |Σk| <= 2^(w-1) - 1; kappa as in the payload's noise bound.
struct Layout {
  uint32_t max_participants;
  uint32_t lanes;
  uint32_t lane_bits;
  uint32_t scale_bits;
};
constexpr Layout kLayouts[] = {
    {8191, 6, 14, 14},
    {18820, 5, 16, 14},
    {131071, 4, 18, 16},
    {1048575, 3, 21, 17},
};

void ExpandEnvelopeA(std::span<const uint8_t> seed, size_t prime, std::span<uint64_t> a_ntt) {
  ring::ExpandUniform(
      seed,
      {.use = ring::UniformUse::kEnvelope, .polynomial = 0, .prime = static_cast<uint8_t>(prime)},
      a_ntt);
}

// s as a factor, mod each prime.
class SecretFactors {
 public:
  explicit SecretFactors(const base::SecretBytes& group_secret) {
    const base::SecretVector<int8_t> secret = ExpandGroupSecret(group_secret, kN);
    for (size_t prime = 0; prime < 2; ++prime) {
      factors_.emplace_back(secret.Expose(), ring::CompactNtt(prime));
    }
  }
  const ring::Multiplier& mod(size_t prime) const { return factors_[prime]; }

 private:
  std::vector<ring::Multiplier> factors_;
};

class Sealer final : public EnvelopeSealer {
 public:
  Sealer(const SharedKeyEnvelope& layout, const base::SecretBytes& group_secret)
      : layout_(layout), secret_(group_secret) {}

  void Seal(std::span<const int8_t> key, const base::SecretBytes& seal_key,
            std::span<uint8_t> sealed) const override {
    const size_t used = layout_.used_coefficients();
    const base::SecretBytes seed = DeriveKey(seal_key, "envelope seed");  // public from here on
    std::ranges::copy(seed.Expose(), sealed.last(ring::kSeedBytes).begin());

    std::vector<uint64_t> a_ntt(kN);
    std::array<base::SecretVector<uint64_t>, 2> product;  // a s
    for (size_t prime = 0; prime < 2; ++prime) {
      ExpandEnvelopeA(seed.Expose(), prime, a_ntt);
      product[prime] = base::SecretVector<uint64_t>(kN);
      secret_.mod(prime).Multiply(a_ntt, product[prime].Expose());
    }
    base::SecretVector<int8_t> error(used);
    base::Random error_random = DeriveRandom(seal_key, "envelope error");
    ring::SampleError(error_random, error.Expose());

    const auto product0 = product[0].Expose();
    const auto product1 = product[1].Expose();
    const auto errors = error.Expose();
    for (size_t i = 0; i < used; ++i) {
      const size_t first = i * layout_.lanes();
      const auto codes = key.subspan(first, std::min<size_t>(layout_.lanes(), kN - first));
      // Above -Q: |codes| is at most 2^(98 - kappa), the error 21.
      const Int128 added =
          PackLanes(codes, layout_.lane_bits()) * (Int128{1} << layout_.scale_bits()) + errors[i];
      const Uint128 b = ring::ReduceQ(ring::ComposeCrt(product0[i], product1[i]) + ring::kModulusQ +
                                      static_cast<Uint128>(added));
      StoreCoefficient(b, i, used, sealed.data());
    }
  }

 private:
  SharedKeyEnvelope layout_;
  SecretFactors secret_;
};

class SharedKeyAdder final : public EnvelopeAdder {
 public:
  explicit SharedKeyAdder(const SharedKeyEnvelope& layout)
      : b_(layout.used_coefficients()),
        a_sum_{std::vector<uint64_t>(kN), std::vector<uint64_t>(kN)} {}

  absl::Status Check(std::span<const uint8_t> sealed) const override {
    if (const auto bad = FindNonCanonical(sealed.first(PlanesSize())); bad.has_value()) {
      return base::DataLoss(
          "ciphertext: field `envelope` is not canonical: coefficient {} is not below Q / 2^{}",
          *bad, kDropBits);
    }
    return absl::OkStatus();
  }

  void Add(std::span<const uint8_t> sealed) override {
    const uint8_t* const planes = sealed.data();
    WordSums words;
    b_.Add({&planes, 1}, {&words, 1});
    std::vector<uint64_t> a_ntt(kN);
    for (size_t prime = 0; prime < 2; ++prime) {
      ExpandEnvelopeA(sealed.last(ring::kSeedBytes), prime, a_ntt);
      ring::AddInPlace(a_sum_[prime], a_ntt, ring::kModuli[prime]);
    }
  }

  void Merge(const EnvelopeAdder& other) override {
    const auto& that = static_cast<const SharedKeyAdder&>(other);
    b_.Merge(that.b_);
    for (size_t prime = 0; prime < 2; ++prime) {
      ring::AddInPlace(a_sum_[prime], that.a_sum_[prime], ring::kModuli[prime]);
    }
  }

  void Close(std::span<uint8_t> sum) const override {
    b_.WriteResidues(sum.first(16 * b_.count()));
    uint8_t* next = sum.data() + 16 * b_.count();
    for (const auto& residues : a_sum_) {
      for (const uint64_t residue : residues) {
        ring::StoreWord64(residue, next);
        next += 8;
      }
    }
  }

 private:
  size_t PlanesSize() const { return kPlaneBytes * b_.count(); }

  PlaneSums b_;
  std::array<std::vector<uint64_t>, 2> a_sum_;  // NTT domain, canonical
};

class Opener final : public EnvelopeOpener {
 public:
  Opener(const SharedKeyEnvelope& layout, const base::SecretBytes& group_secret)
      : layout_(layout), secret_(group_secret) {}

  absl::StatusOr<base::SecretVector<int32_t>> Open(std::span<const uint8_t> sum,
                                                   uint32_t participants) const override {
    const size_t used = layout_.used_coefficients();
    base::ByteReader reader(sum, "closed sum");
    std::array<std::vector<uint64_t>, 2> b;
    std::array<std::vector<uint64_t>, 2> a_ntt;
    for (size_t prime = 0; prime < 2; ++prime) {
      b[prime].resize(used);
      TACET_RETURN_IF_ERROR(ReadResidues(reader, "envelope b", ring::kPrimes[prime], b[prime]));
    }
    for (size_t prime = 0; prime < 2; ++prime) {
      a_ntt[prime].resize(kN);
      TACET_RETURN_IF_ERROR(ReadResidues(reader, "envelope a", ring::kPrimes[prime], a_ntt[prime]));
    }
    TACET_RETURN_IF_ERROR(reader.ExpectEnd());

    std::array<base::SecretVector<uint64_t>, 2> phase;
    for (size_t prime = 0; prime < 2; ++prime) {
      phase[prime] = base::SecretVector<uint64_t>(kN);
      const auto residues = phase[prime].Expose();
      secret_.mod(prime).Multiply(a_ntt[prime], residues);
      const ring::Modulus& modulus = ring::kModuli[prime];
      const uint64_t mean = TruncationMean(participants);
      for (size_t i = 0; i < used; ++i) {
        residues[i] = modulus.Subtract(modulus.Add(b[prime][i], mean), residues[i]);
      }
    }
    base::SecretVector<int32_t> key_sum(kN);
    for (size_t i = 0; i < used; ++i) {
      const Int128 centred =
          ring::CentreQ(ring::ComposeCrt(phase[0].Expose()[i], phase[1].Expose()[i]));
      const size_t first = i * layout_.lanes();
      UnpackLanes(RoundToMultiple(centred, layout_.scale_bits()), layout_.lane_bits(),
                  key_sum.Expose().subspan(first, std::min<size_t>(layout_.lanes(), kN - first)));
    }
    return key_sum;
  }

 private:
  SharedKeyEnvelope layout_;
  SecretFactors secret_;
};

}  // namespace

absl::StatusOr<SharedKeyEnvelope> SharedKeyEnvelope::Create(uint32_t max_participants) {
  for (const Layout& layout : kLayouts) {
    if (max_participants <= layout.max_participants) {
      return SharedKeyEnvelope(layout.lanes, layout.lane_bits, layout.scale_bits);
    }
  }
  return base::InvalidArgument(
      "`max_participants` is too large: {}, but the key envelope of scheme compact holds the sum "
      "of at most {} keys",
      max_participants, std::end(kLayouts)[-1].max_participants);
}

size_t SharedKeyEnvelope::used_coefficients() const { return (kN + lanes_ - 1) / lanes_; }

size_t SharedKeyEnvelope::sealed_bytes() const {
  return kPlaneBytes * used_coefficients() + ring::kSeedBytes;
}

size_t SharedKeyEnvelope::sum_bytes() const { return 16 * (used_coefficients() + kN); }

std::unique_ptr<EnvelopeAdder> SharedKeyEnvelope::NewAdder() const {
  return std::make_unique<SharedKeyAdder>(*this);
}

std::unique_ptr<EnvelopeSealer> SharedKeyEnvelope::NewSealer(
    const base::SecretBytes& group_secret) const {
  return std::make_unique<Sealer>(*this, group_secret);
}

std::unique_ptr<EnvelopeOpener> SharedKeyEnvelope::NewOpener(
    const base::SecretBytes& group_secret) const {
  return std::make_unique<Opener>(*this, group_secret);
}

}  // namespace tacet::he
