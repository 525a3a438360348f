// Vector kernels, compiled for AVX2 and AVX-512 (Highway's AVX3), or for NEON. The functions are
// documented in kernels.h, elementary.h and poisson_trial.h; the order of operations is that of
// kernels_scalar.cc.
#include <algorithm>

#include "tacet/dp/gaussian_forms.h"
#include "tacet/dp/kernels.h"
#include "tacet/dp/poisson_trial.h"
#include "tacet/dp/uniform.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tacet/dp/kernels_simd.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "tacet/base/vector_targets.h"

#if TACET_IS_VECTOR_TARGET
#include "tacet/dp/elementary-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tacet::dp::HWY_NAMESPACE {

using H = hn::Rebind<float, D>;
using C = hn::Rebind<uint32_t, D>;

constexpr size_t kLanes = hn::MaxLanes(D());

void BoxMullerBlock(bool wide, crypto::Random& random, double* block, size_t pairs) {
  const W whole = Words(wide ? kWholeWord : 0);
  size_t j = 0;
  for (; j + kLanes <= pairs; j += kLanes) {
    V radius_bits, angle_bits;
    hn::LoadInterleaved2(D(), block + 2 * j, radius_bits, angle_bits);
    const W word = hn::BitCast(U(), radius_bits);
    const W angle = hn::BitCast(U(), angle_bits);
    const V unit = (FromUnsigned(word) + Set(1.0)) * Set(0x1p-64);
    const V radius = hn::Sqrt(Set(-2.0) * Log(unit));
    V cosine, sine;
    Circle(angle, cosine, sine);
    hn::StoreInterleaved2(radius * cosine, radius * sine, D(), block + 2 * j);
    const auto small = hn::Lt(word, whole);
    if (HWY_UNLIKELY(!hn::AllFalse(U(), small))) {
      HWY_ALIGN uint64_t words[kLanes];
      HWY_ALIGN uint64_t angles[kLanes];
      hn::Store(word, U(), words);
      hn::Store(angle, U(), angles);
      for (size_t lane = 0; lane < kLanes; ++lane) {
        if (words[lane] >= kWholeWord) continue;
        const GaussianPair pair =
            dp::BoxMuller(WideUnit(words[lane], random.NextU64()), angles[lane]);
        block[2 * (j + lane)] = pair.first;
        block[2 * (j + lane) + 1] = pair.second;
      }
    }
  }
  ScalarKernels().box_muller(wide, random, block + 2 * j, pairs - j);
}

void AddNoise(const float* update, double factor, double* block, size_t size) {
  size_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    const V u = hn::PromoteTo(D(), hn::LoadU(H(), update + i));
    hn::StoreU(u + Set(factor) * hn::LoadU(D(), block + i), D(), block + i);
  }
  ScalarKernels().add_noise(update + i, factor, block + i, size - i);
}

void ScaleAndShift(double factor, double shift, double* block, size_t size) {
  size_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    hn::StoreU(hn::LoadU(D(), block + i) * Set(factor) + Set(shift), D(), block + i);
  }
  ScalarKernels().scale_and_shift(factor, shift, block + i, size - i);
}

double SumOfSquares(const float* update, size_t size) {
  constexpr size_t kSums = 32;
  constexpr size_t kVectors = kSums / kLanes;
  V sums[kVectors];
  for (size_t k = 0; k < kVectors; ++k) sums[k] = hn::Zero(D());
  size_t i = 0;
  for (; i + kSums <= size; i += kSums) {
    for (size_t k = 0; k < kVectors; ++k) {
      const V value = hn::PromoteTo(D(), hn::LoadU(H(), update + i + k * kLanes));
      sums[k] = sums[k] + value * value;
    }
  }
  HWY_ALIGN double lanes[kSums];
  for (size_t k = 0; k < kVectors; ++k) hn::Store(sums[k], D(), lanes + k * kLanes);
  for (size_t rest = 0; i < size; ++i, ++rest) {
    const double value = update[i];
    lanes[rest] += value * value;
  }
  for (size_t half = kSums / 2; half >= 1; half /= 2) {
    for (size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  }
  return lanes[0];
}

void ScaleAndClamp(const float* update, double factor, float bound, float* out, size_t size) {
  const auto low = hn::Set(H(), -bound);
  const auto high = hn::Set(H(), bound);
  size_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    const V u = hn::PromoteTo(D(), hn::LoadU(H(), update + i));
    const auto scaled = hn::DemoteTo(H(), u * Set(factor));
    hn::StoreU(hn::Min(high, hn::Max(low, scaled)), H(), out + i);
  }
  ScalarKernels().scale_and_clamp(update + i, factor, bound, out + i, size - i);
}

// Single precision, two vectors of doubles in one.
using F = hn::Repartition<float, D>;
using FI = hn::RebindToSigned<F>;
using FU = hn::RebindToUnsigned<F>;
using VF = hn::Vec<F>;
constexpr size_t kPair = 2 * kLanes;

HWY_INLINE VF SetF(float value) { return hn::Set(F(), value); }
HWY_INLINE VF Narrow(V low, V high) {
  return hn::Combine(F(), hn::DemoteTo(H(), high), hn::DemoteTo(H(), low));
}

// The low 32 bits of k, 0 <= k < 2^52.
HWY_INLINE hn::Vec<C> CountOf(V k) {
  return hn::TruncateTo(C(), hn::BitCast(U(), k + Set(0x1p52)));
}

// kPair trials.
struct Trials {
  V rates[2], normals[2];
  VF rate, normal, root;
  hn::Vec<FU> chances;
  M drawn;  // in both halves the rate is at least kPoissonRejectionRate
};

HWY_INLINE Trials LoadTrials(const PoissonTrials& trials, size_t i) {
  Trials t;
  t.drawn = hn::Eq(Set(0), Set(0));
  for (size_t half = 0; half < 2; ++half) {
    const size_t at = i + half * kLanes;
    const V given = hn::LoadU(D(), trials.rates + at);
    const M drawn = hn::Ge(given, Set(kPoissonRejectionRate));
    t.drawn = hn::And(t.drawn, drawn);
    t.rates[half] =
        hn::Min(hn::IfThenElse(drawn, given, Set(kPoissonRejectionRate)), Set(kPoissonLargestRate));
    t.normals[half] = hn::LoadU(D(), trials.normals + at);
  }
  t.rate = Narrow(t.rates[0], t.rates[1]);
  t.normal = Narrow(t.normals[0], t.normals[1]);
  t.root = hn::Sqrt(t.rate);
  t.chances = hn::LoadU(FU(), trials.chances + i);
  return t;
}

// The candidate of each lane.
struct Candidates {
  V low, high;
};

HWY_INLINE V Candidate(V rate, V root, V normal) {
  const V whole = hn::Floor(rate);
  const V step = (root + Set(kPoissonWidening)) * normal + ((rate - whole) + Set(0.5));
  return whole + hn::Floor(step);
}

HWY_INLINE Candidates CandidatesOf(const Trials& t) {
  return {Candidate(t.rates[0], hn::PromoteTo(D(), hn::LowerHalf(H(), t.root)), t.normals[0]),
          Candidate(t.rates[1], hn::PromoteTo(D(), hn::UpperHalf(H(), t.root)), t.normals[1])};
}

// A word's top 24 bits as a fraction.
HWY_INLINE VF Fraction(hn::Vec<FU> words) {
  return hn::ConvertTo(F(), hn::BitCast(FI(), hn::ShiftRight<8>(words))) * SetF(0x1p-24f);
}

HWY_INLINE uint32_t BitsOf(hn::Mask<F> mask) {
  uint8_t bytes[8] = {};
  hn::StoreMaskBits(F(), mask, bytes);
  return bytes[0] | uint32_t{bytes[1]} << 8;
}

// Writes the bits of trials i ... i + kPair - 1, where those before them in the same byte were
// written already.
HWY_INLINE void StoreBits(uint32_t bits, size_t i, uint8_t* to) {
  uint8_t* const byte = to + i / 8;
  const size_t place = i % 8;
  *byte = static_cast<uint8_t>((place == 0 ? 0u : *byte) | bits << place);
  if constexpr (kPair == 16) byte[1] = static_cast<uint8_t>(bits >> 8);
}

// The last trials, filled up with some that every first test takes.
struct PaddedTrials {
  double rates[kPair], normals[kPair] = {};
  uint32_t chances[kPair] = {};

  PaddedTrials(const PoissonTrials& trials, size_t begin) {
    std::fill_n(rates, kPair, 1e6);
    std::copy(trials.rates + begin, trials.rates + trials.size, rates);
    std::copy(trials.normals + begin, trials.normals + trials.size, normals);
    std::copy(trials.chances + begin, trials.chances + trials.size, chances);
  }
  PoissonTrials View() const { return {rates, normals, chances, kPair}; }
};

// Writes kPair candidates and the bits of trials i ...; narrows `drawn`.
HWY_INLINE void FirstTests(const Trials& t, uint32_t* counts, size_t i, uint8_t* open, M& drawn) {
  drawn = hn::And(drawn, t.drawn);
  const Candidates k = CandidatesOf(t);
  hn::StoreU(CountOf(k.low), C(), counts);
  hn::StoreU(CountOf(k.high), C(), counts + kLanes);
  const VF size = hn::Abs(t.normal);
  const float* b = kPoissonShortfall;
  const VF shortfall = SetF(b[0]) + size * (SetF(b[1]) + size * (SetF(b[2]) + size * SetF(b[3])));
  StoreBits(BitsOf(hn::Not(hn::Gt(Fraction(hn::Not(t.chances)) * t.root, shortfall))), i, open);
}

bool FirstTest(const PoissonTrials& trials, uint32_t* counts, uint8_t* open) {
  M drawn = hn::Eq(Set(0), Set(0));
  size_t i = 0;
  for (; i + kPair <= trials.size; i += kPair) {
    FirstTests(LoadTrials(trials, i), counts + i, i, open, drawn);
  }
  if (i < trials.size) {
    const PaddedTrials rest(trials, i);
    uint32_t padded[kPair];
    FirstTests(LoadTrials(rest.View(), 0), padded, i, open, drawn);
    std::copy_n(padded, trials.size - i, counts + i);
  }
  return !hn::AllTrue(D(), drawn);
}

HWY_INLINE VF QuickExp(VF x) {
  const VF bounded = hn::Max(x, SetF(kQuickLeast));
  const auto n = hn::ConvertTo(FI(), bounded * SetF(kQuickLog2E) - SetF(0.5f));
  const VF r = bounded - hn::ConvertTo(F(), n) * SetF(kQuickLn2);
  const float* c = kQuickExp;
  const VF series =
      SetF(1.0f) +
      r * (SetF(1.0f) + r * (SetF(c[0]) + r * (SetF(c[1]) + r * (SetF(c[2]) + r * SetF(c[3])))));
  return series * hn::BitCast(F(), hn::ShiftLeft<23>(n + hn::Set(FI(), 127)));
}

// The bits of the kPair trials from `i` on that are rejected, after exact tests where they are
// needed.
HWY_INLINE uint32_t SecondTests(const PoissonTrials& trials, size_t i, crypto::Random& random) {
  const Trials t = LoadTrials(trials, i);
  const Candidates k = CandidatesOf(t);
  const VF difference = Narrow(k.low - t.rates[0], k.high - t.rates[1]);
  const VF sum = SetF(2.0f) * t.rate + difference;
  const VF v = difference * (SetF(1.0f) / sum);
  const VF z = v * v;
  VF series = z * SetF(kQuickArtanh[8]);
  for (size_t j = 8; j-- > 0;) series = z * (SetF(kQuickArtanh[j]) + series);
  const VF stirling = SetF(1.0f / 6) / (sum + difference);
  const VF loss =
      v * ((difference + (sum + difference) * series) + (SetF(1.0f) + series)) + stirling;
  const VF p = QuickExp((SetF(0.5f) * t.normal * t.normal - loss) -
                        SetF(static_cast<float>(kPoissonExcess)) / t.root);

  const VF u = Fraction(t.chances);
  const VF slack = u * SetF(kQuickRelative) + SetF(kQuickAbsolute);
  const auto close = hn::Lt(z, SetF(kQuickRange));
  const auto taken = hn::And(close, hn::Lt(u + slack, p));
  const auto lost = hn::And(close, hn::Gt(u - slack, p));
  uint32_t rejected = BitsOf(lost);
  const auto open = hn::Not(hn::Or(taken, lost));
  if (HWY_LIKELY(hn::AllFalse(F(), open))) return rejected;
  const uint32_t bits = BitsOf(open);
  for (size_t lane = 0; lane < kPair; ++lane) {
    if ((bits >> lane & 1) == 0) continue;
    const size_t at = i + lane;
    if (!DecidePoisson(TrialRate(trials.rates[at]), trials.normals[at], trials.chances[at],
                       random)) {
      rejected |= 1u << lane;
    }
  }
  return rejected;
}

void SecondTest(const PoissonTrials& trials, crypto::Random& random, uint8_t* rejected) {
  size_t i = 0;
  for (; i + kPair <= trials.size; i += kPair) {
    StoreBits(SecondTests(trials, i, random), i, rejected);
  }
  if (i < trials.size) {
    StoreBits(SecondTests(PaddedTrials(trials, i).View(), 0, random), i, rejected);
  }
}

constexpr Kernels kKernels = {.target = TACET_VECTOR_TARGET,
                              .box_muller = BoxMullerBlock,
                              .add_noise = AddNoise,
                              .scale_and_shift = ScaleAndShift,
                              .sum_of_squares = SumOfSquares,
                              .scale_and_clamp = ScaleAndClamp,
                              .poisson_first = FirstTest,
                              .poisson_second = SecondTest};

}  // namespace tacet::dp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // TACET_IS_VECTOR_TARGET

#if HWY_ONCE
namespace tacet::dp {

std::span<const Kernels* const> VectorKernels() {
  static constexpr const Kernels* kVersions[] = {TACET_VECTOR_VERSIONS(kKernels)};
  return kVersions;
}

}  // namespace tacet::dp
#endif  // HWY_ONCE
