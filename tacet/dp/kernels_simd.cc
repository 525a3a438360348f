// Vector kernels, compiled once for AVX2 and once for AVX-512 (Highway's AVX3). The functions are
// documented in kernels.h, elementary.h and poisson_trial.h; the order of operations is that of
// kernels_scalar.cc.
#include <algorithm>
#include <numbers>

#include "tacet/dp/gaussian_forms.h"
#include "tacet/dp/kernels.h"
#include "tacet/dp/poisson_trial.h"
#include "tacet/dp/uniform.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tacet/dp/kernels_simd.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
#include "tacet/dp/elementary-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tacet::dp::HWY_NAMESPACE {

using H = hn::Rebind<float, D>;
using C = hn::Rebind<uint32_t, D>;

constexpr size_t kLanes = hn::MaxLanes(D());
static_assert(kLanes <= kPoissonPadding);

HWY_INLINE uint32_t BitsOf(M mask) {
  uint8_t bytes[8] = {};
  hn::StoreMaskBits(D(), mask, bytes);
  return bytes[0];
}

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

struct Hat {
  V a, b;
};

HWY_INLINE Hat HatFor(V rate) {
  Hat hat;
  hat.b = Set(0.931) + Set(2.53) * hn::PromoteTo(D(), hn::Sqrt(hn::DemoteTo(H(), rate)));
  hat.a = Set(-0.059) + Set(0.02483) * hat.b;
  return hat;
}

// k as a whole number, not checked for its range.
HWY_INLINE V Candidate(const Hat& hat, V u, V t, V rate) {
  const V whole = hn::Floor(rate);
  const V fraction = (rate - whole) + Set(0.43);
  const V step = (Set(2.0) * hat.a / t + hat.b) * u + fraction;
  return whole + hn::Floor(step);
}

// poisson_trial.h's constants for each rate.
struct Squeeze {
  V inverse, height;
  W half, certain, strip, middle;
};

HWY_INLINE Squeeze SqueezeOf(const PoissonSqueeze& squeeze) {
  return {Set(squeeze.inverse),   Set(squeeze.height),  Words(squeeze.half),
          Words(squeeze.certain), Words(squeeze.strip), Words(squeeze.strip_mid)};
}

HWY_INLINE Squeeze Choose(M first, const Squeeze& a, const Squeeze& b) {
  const auto words = hn::RebindMask(U(), first);
  return {hn::IfThenElse(first, a.inverse, b.inverse), hn::IfThenElse(first, a.height, b.height),
          hn::IfThenElse(words, a.half, b.half),       hn::IfThenElse(words, a.certain, b.certain),
          hn::IfThenElse(words, a.strip, b.strip),     hn::IfThenElse(words, a.middle, b.middle)};
}

HWY_INLINE Squeeze SqueezeFor(V rate) {
  const Squeeze high = SqueezeOf(kPoissonSqueezes[2]);
  const M large = hn::Ge(rate, Set(kPoissonSqueezes[2].from_rate));
  if (HWY_LIKELY(hn::AllTrue(D(), large))) return high;
  const M middle = hn::Ge(rate, Set(kPoissonSqueezes[1].from_rate));
  return Choose(large, high,
                Choose(middle, SqueezeOf(kPoissonSqueezes[1]), SqueezeOf(kPoissonSqueezes[0])));
}

// The lanes in `bits`, in order, then something. Highway's Compress is not used: g++ 12 copies its
// table to the stack at every call, which costs more than all the rest.
#if HWY_TARGET == HWY_AVX2
alignas(32) constexpr uint32_t kGather[16][8] = {
    {0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}, {2, 3, 0, 1, 4, 5, 6, 7},
    {0, 1, 2, 3, 4, 5, 6, 7}, {4, 5, 0, 1, 2, 3, 6, 7}, {0, 1, 4, 5, 2, 3, 6, 7},
    {2, 3, 4, 5, 0, 1, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}, {6, 7, 0, 1, 2, 3, 4, 5},
    {0, 1, 6, 7, 2, 3, 4, 5}, {2, 3, 6, 7, 0, 1, 4, 5}, {0, 1, 2, 3, 6, 7, 4, 5},
    {4, 5, 6, 7, 0, 1, 2, 3}, {0, 1, 4, 5, 6, 7, 2, 3}, {2, 3, 4, 5, 6, 7, 0, 1},
    {0, 1, 2, 3, 4, 5, 6, 7}};
HWY_INLINE W Compact(W values, uint32_t bits) {
  const hn::Repartition<uint32_t, U> halves;
  const auto order = hn::SetTableIndices(halves, kGather[bits]);
  return hn::BitCast(U(), hn::TableLookupLanes(hn::BitCast(halves, values), order));
}
#else
HWY_INLINE W Compact(W values, uint32_t bits) {
  return W{_mm512_maskz_compress_epi64(static_cast<__mmask8>(bits), values.raw)};
}
#endif

// Stores them; whole vectors, so what lies behind them is overwritten.
HWY_INLINE void Append(W values, uint32_t bits, uint64_t* to) {
  hn::StoreU(Compact(values, bits), U(), to);
}
HWY_INLINE void Append(V values, uint32_t bits, double* to) {
  hn::StoreU(hn::BitCast(D(), Compact(hn::BitCast(U(), values), bits)), D(), to);
}

// The low 32 bits of k, 0 <= k < 2^52.
HWY_INLINE hn::Vec<C> CountOf(V k) {
  return hn::TruncateTo(C(), hn::BitCast(U(), k + Set(0x1p52)));
}

PoissonProposed Propose(const double* rates, const uint64_t* indexes, const uint64_t* words,
                        size_t size, uint32_t* counts, const PoissonCandidates& undecided) {
  PoissonProposed result;
  for (size_t i = 0; i < size; i += kLanes) {
    const V given = hn::LoadU(D(), rates + i);
    const M drawn = hn::Ge(given, Set(kPoissonRejectionRate));
    const M inside = hn::FirstN(D(), std::min(size - i, kLanes));
    result.small += hn::CountTrue(D(), hn::AndNot(drawn, inside));
    const V rate = hn::Min(given, Set(kPoissonLargestRate));
    const W word = hn::LoadU(U(), words + i);
    const Squeeze squeeze = SqueezeFor(rate);
    const V u = FromSigned(word - squeeze.half) * (squeeze.inverse * Set(0x1p-64));
    const V t = Set(0.5) - hn::Abs(u);
    hn::StoreU(CountOf(Candidate(HatFor(rate), u, t, rate)), C(), counts + i);
    const M certain = hn::RebindMask(D(), hn::Lt(word, squeeze.certain));
    const uint32_t open = BitsOf(hn::AndNot(certain, hn::And(drawn, inside)));
    Append(rate, open, undecided.rates + result.undecided);
    Append(hn::LoadU(U(), indexes + i), open, undecided.indexes + result.undecided);
    Append(word, open, undecided.words + result.undecided);
    result.undecided += static_cast<size_t>(__builtin_popcount(open));
  }
  return result;
}

// delta(k) for k >= 16.
HWY_INLINE V StirlingError(V k) {
  const auto one = hn::Set(H(), 1.0f);
  const V first = hn::PromoteTo(D(), one / hn::DemoteTo(H(), k));
  const V inverse = first * (Set(2.0) - k * first);
  const V square = inverse * inverse;
  return inverse * (Set(1.0 / 12) +
                    square * (Set(-1.0 / 360) +
                              square * (Set(1.0 / 1260) +
                                        square * (Set(-1.0 / 1680) + square * Set(1.0 / 1188)))));
}

size_t Decide(const PoissonCandidates& undecided, const uint64_t* words, size_t size,
              crypto::Random& random, uint32_t* counts, const PoissonCandidates& rejected) {
  size_t again = 0;
  for (size_t i = 0; i < size; i += kLanes) {
    const V rate = hn::LoadU(D(), undecided.rates + i);
    const W word = hn::LoadU(U(), undecided.words + i);
    const W index = hn::LoadU(U(), undecided.indexes + i);
    const W second = hn::LoadU(U(), words + i);
    const M inside = hn::FirstN(D(), std::min(size - i, kLanes));

    const Squeeze squeeze = SqueezeFor(rate);
    const auto strip_words = hn::Lt(word, squeeze.strip);
    const M strip = hn::RebindMask(D(), strip_words);
    const Z position = hn::BitCast(
        I(), hn::Or(hn::IfThenElse(strip_words, word - squeeze.middle, second), Words(1)));
    const W magnitude = hn::BitCast(U(), hn::Abs(position));
    const W distance = hn::IfThenElse(strip_words, magnitude, Words(uint64_t{1} << 63) - magnitude);
    const V t =
        FromSigned(distance) * hn::IfThenElse(strip, squeeze.inverse * Set(0x1p-64), Set(0x1p-64));
    const V u = hn::CopySign(Set(0.5) - t, hn::BitCast(D(), position));
    const V unit =
        (FromUnsigned(hn::IfThenElse(strip_words, second, word)) + Set(1.0)) * Set(0x1p-64);
    const V v = hn::IfThenElse(strip, unit * squeeze.height, unit);

    const Hat hat = HatFor(rate);
    const V k = Candidate(hat, u, t, rate);
    const auto excess = hn::Set(H(), 1.1328f) / hn::DemoteTo(H(), hat.b - Set(3.4));
    const V inverse_alpha = Set(1.01) * (Set(1.1239) + hn::PromoteTo(D(), excess));
    const V square = t * t;
    const V ratio = inverse_alpha * square / (hat.a + hat.b * square);
    const V factor = ratio * ratio * (Set(2.0 * std::numbers::pi) * k);
    const V difference = k - rate;
    const V w = difference / (k + rate);
    const V z = w * w;
    const V series =
        z * (Set(1.0 / 3) +
             z * (Set(1.0 / 5) +
                  z * (Set(1.0 / 7) +
                       z * (Set(1.0 / 9) +
                            z * (Set(1.0 / 11) + z * (Set(1.0 / 13) + z * Set(1.0 / 15)))))));
    const V exponent = StirlingError(k) + (difference * w + Set(2.0) * k * w * series);
    const M close = hn::Lt(z, Set(0.01));
    const M large = hn::Ge(rate, Set(kPoissonLargeRate));
    M taken = hn::Le(Log(v * v * factor), Set(-2.0) * exponent);
    taken = hn::And(taken, hn::And(close, hn::Le(k, Set(4294967295.0))));

    HWY_ALIGN uint32_t ks[kLanes];
    HWY_ALIGN uint64_t places[kLanes];
    hn::Store(CountOf(k), C(), ks);
    hn::Store(index, U(), places);
    uint32_t taken_bits = BitsOf(hn::And(taken, inside));
    // Rare: second words to be extended; and, at lower rates, candidates for which the short forms
    // above do not hold.
    const M extended = hn::And(strip, hn::RebindMask(D(), hn::Lt(second, Words(kWholeWord))));
    const M rough = hn::AndNot(large, hn::Not(hn::And(close, hn::Ge(k, Set(16.0)))));
    uint32_t hard = BitsOf(hn::And(hn::Or(extended, rough), inside));
    for (; HWY_UNLIKELY(hard != 0); hard &= hard - 1) {
      const size_t lane = static_cast<size_t>(__builtin_ctz(hard));
      double exact = 0;
      const bool accepted = DecidePoisson(undecided.rates[i + lane], undecided.words[i + lane],
                                          words[i + lane], random, exact);
      ks[lane] = static_cast<uint32_t>(static_cast<int64_t>(exact));
      taken_bits = (taken_bits & ~(1u << lane)) | (static_cast<uint32_t>(accepted) << lane);
    }
    const uint32_t open = ~taken_bits & BitsOf(inside);
    Append(rate, open, rejected.rates + again);
    Append(index, open, rejected.indexes + again);
    again += static_cast<size_t>(__builtin_popcount(open));
    // Counts of rejected trials are overwritten by a later round.
    const size_t lanes = std::min(size - i, kLanes);
    for (size_t lane = 0; lane < lanes; ++lane) counts[places[lane]] = ks[lane];
  }
  return again;
}

constexpr Kernels kKernels = {
    .target = HWY_TARGET == HWY_AVX2 ? base::Target::kAvx2 : base::Target::kAvx512,
    .box_muller = BoxMullerBlock,
    .add_noise = AddNoise,
    .scale_and_shift = ScaleAndShift,
    .sum_of_squares = SumOfSquares,
    .scale_and_clamp = ScaleAndClamp,
    .poisson_propose = Propose,
    .poisson_decide = Decide};

}  // namespace tacet::dp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

#if HWY_ONCE
namespace tacet::dp {

const Kernels& Avx2Kernels() { return N_AVX2::kKernels; }
const Kernels& Avx512Kernels() { return N_AVX3::kKernels; }

}  // namespace tacet::dp
#endif  // HWY_ONCE
