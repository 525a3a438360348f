#include "tacet/he/shared_key_envelope.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "tacet/base/status.h"
#include "tacet/he/compact.h"
#include "tacet/he/derived_random.h"
#include "tacet/he/residues.h"
#include "tacet/he/truncated_planes.h"
#include "tacet/ring/crt.h"
#include "tacet/ring/kernels.h"
#include "tacet/ring/ntt.h"
#include "tacet/ring/polynomial.h"
#include "tacet/ring/sampling.h"
#include "tacet/ring/uniform.h"

namespace tacet::he {
namespace {

using ring::kCompactDegree;
using ring::Uint128;

constexpr size_t kN = kCompactDegree;

// Slots of w bits hold z sqrt(10.5 K) <= 2^(w-1) - 1; kappa as in the payload's noise bound.
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

// a mod both primes, one after the other.
ring::AlignedWords ExpandEnvelopeA(std::span<const uint8_t> seed) {
  ring::AlignedWords a_ntt(2 * kN);
  for (size_t prime = 0; prime < 2; ++prime) {
    ExpandEnvelopeA(seed, prime, std::span(a_ntt).subspan(prime * kN, kN));
  }
  return a_ntt;
}

// s as a factor.
ModQMultiplier SecretFactors(const crypto::SecretBytes& group_secret) {
  return ModQMultiplier(std::span<const int8_t>(ExpandGroupSecret(group_secret, kN).Expose()));
}

ring::SlotLayout SlotsOf(const SharedKeyEnvelope& envelope) {
  return {.lanes = envelope.lanes(),
          .lane_bits = envelope.lane_bits(),
          .scale_bits = envelope.scale_bits()};
}

class Sealer final : public EnvelopeSealer {
 public:
  Sealer(const SharedKeyEnvelope& layout, const crypto::SecretBytes& group_secret)
      : layout_(layout), secret_(SecretFactors(group_secret)) {}

  void Seal(std::span<const int8_t> key, const crypto::SecretBytes& seal_key,
            std::span<uint8_t> sealed) const override {
    const size_t used = layout_.used_coefficients();
    const crypto::SecretBytes seed = DeriveKey(seal_key, "envelope seed");  // public from here on
    std::ranges::copy(seed.Expose(), sealed.last(ring::kSeedBytes).begin());

    crypto::SecretVector<uint64_t> error_words(used);
    crypto::Random error_random = DeriveRandom(seal_key, "envelope error");
    error_random.FillU64(error_words.Expose());

    // The kernel packs counts that are not negative: the codes plus 128, also in slots that carry
    // none; the shift takes Σ_l 128 * 2^(kappa + w l) off again.
    constexpr uint32_t kBias = 128;
    crypto::SecretVector<uint32_t> counts(used * layout_.lanes());
    std::ranges::fill(counts.Expose(), kBias);
    for (size_t i = 0; i < kN; ++i) counts.Expose()[i] += static_cast<uint32_t>(int32_t{key[i]});
    Uint128 bias = 0;
    for (uint32_t l = 0; l < layout_.lanes(); ++l) {
      bias += Uint128{kBias} << (layout_.scale_bits() + layout_.lane_bits() * l);
    }
    const ring::AlignedWords a_ntt = ExpandEnvelopeA(seed.Expose());
    crypto::SecretVector<uint64_t> scratch(ring::ScratchWords(kN));
    ring::ActiveKernels().seal({.product = secret_.Times(a_ntt, scratch.Expose()),
                                .error_words = error_words.Expose().data(),
                                .counts = counts.Expose(),
                                .layout = SlotsOf(layout_),
                                .shift = ring::kModulusQ - bias,
                                .used = used,
                                .planes = sealed.data()});
  }

 private:
  SharedKeyEnvelope layout_;
  ModQMultiplier secret_;
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
  Opener(const SharedKeyEnvelope& layout, const crypto::SecretBytes& group_secret)
      : layout_(layout), secret_(SecretFactors(group_secret)) {}

  absl::StatusOr<crypto::SecretVector<int32_t>> Open(std::span<const uint8_t> sum,
                                                     uint32_t participants) const override {
    const size_t used = layout_.used_coefficients();
    base::ByteReader reader(sum, "closed sum");
    std::array<const uint8_t*, 2> b;
    for (size_t prime = 0; prime < 2; ++prime) {
      TACET_ASSIGN_OR_RETURN(const auto residues,
                             ReadResidues(reader, "envelope b", ring::kPrimes[prime], used));
      b[prime] = residues.data();
    }
    ring::AlignedWords a_ntt;
    a_ntt.reserve(2 * kN);
    for (size_t prime = 0; prime < 2; ++prime) {
      TACET_ASSIGN_OR_RETURN(const ring::AlignedWords values,
                             ReadResidueWords(reader, "envelope a", ring::kPrimes[prime], kN));
      a_ntt.insert(a_ntt.end(), values.begin(), values.end());
    }
    TACET_RETURN_IF_ERROR(reader.ExpectEnd());

    // Slots are signed: 2^(w-1) is added and taken off again.
    const uint64_t offset = uint64_t{1} << (layout_.lane_bits() - 1);
    crypto::SecretVector<uint64_t> sums(kN);
    crypto::SecretVector<uint64_t> scratch(ring::ScratchWords(kN));
    ring::ActiveKernels().open({.product = secret_.Times(a_ntt, scratch.Expose()),
                                .residues = b,
                                .layout = SlotsOf(layout_),
                                .shift = TruncationMean(participants),
                                .last_shift = 0,
                                .offset = offset,
                                .used = used,
                                .sums = sums.Expose()});
    crypto::SecretVector<int32_t> key_sum(kN);
    for (size_t i = 0; i < kN; ++i) {
      key_sum.Expose()[i] = static_cast<int32_t>(static_cast<int64_t>(sums.Expose()[i] - offset));
    }
    return key_sum;
  }

 private:
  SharedKeyEnvelope layout_;
  ModQMultiplier secret_;
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
    const crypto::SecretBytes& group_secret) const {
  return std::make_unique<Sealer>(*this, group_secret);
}

std::unique_ptr<EnvelopeOpener> SharedKeyEnvelope::NewOpener(
    const crypto::SecretBytes& group_secret) const {
  return std::make_unique<Opener>(*this, group_secret);
}

}  // namespace tacet::he
