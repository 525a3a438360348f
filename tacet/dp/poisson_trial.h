// One trial of the transformed rejection for Poisson draws, as a map from words to a decision.
//
// Hormann's PTRS takes (u, v) uniform on (-1/2, 1/2) x (0, 1] and the candidate
// k = floor((2a/t + b) u + rate + 0.43), t = 1/2 - |u|, when v <= p(k, t), the acceptance of
// poisson.h. Where |u| <= 0.43 and v <= v_r that is certain. As in his PTRD, one word decides
// between three parts of that rectangle of (u, v) and is used again, so that most draws cost one
// word instead of two. With V uniform on {0, ..., 2^64 - 1} and w = v_r 2^64:
//
//   V < 0.86 w          |u| <= 0.43, v <= v_r: taken. u = (V - 0.43 w)/w.
//   0.86 w <= V < w     |u| > 0.43,  v <= v_r: t = |V - 0.93 w|/w < 0.07, the side of u is the
//   sign;
//                       v = v_r times a second uniform with 53 significant bits also near 0.
//   w <= V              v = (V + 1)/2^64 > v_r: a second word gives u over the whole range.
//
// t is an odd integer times a power-of-two or a constant, so it has 53 significant bits near 0,
// where the candidates are far out.
#ifndef TACET_DP_POISSON_TRIAL_H_
#define TACET_DP_POISSON_TRIAL_H_

#include <cmath>
#include <cstdint>

#include "tacet/crypto/random.h"
#include "tacet/dp/elementary.h"
#include "tacet/dp/poisson.h"
#include "tacet/dp/uniform.h"

namespace tacet::dp {

// v_r: a constant for each of three ranges of rates, so that the parts of V have fixed borders.
struct PoissonSqueeze {
  double from_rate;    // for rates of at least this
  double inverse;      // 1/v_r, exact
  double height;       // v_r
  uint64_t certain;    // 0.86 w
  uint64_t half;       // 0.43 w
  uint64_t strip;      // w
  uint64_t strip_mid;  // 0.93 w
};

constexpr PoissonSqueeze MakePoissonSqueeze(double from_rate, uint32_t numerator,
                                            uint32_t denominator) {
  using Wide = unsigned __int128;
  const Wide whole = (Wide{1} << 64) * numerator / denominator;
  const uint64_t half = static_cast<uint64_t>(whole * 43 / 100);
  return {.from_rate = from_rate,
          .inverse = static_cast<double>(denominator) / numerator,
          .height = static_cast<double>(numerator) / denominator,
          .certain = 2 * half,
          .half = half,
          .strip = static_cast<uint64_t>(whole),
          .strip_mid = half + static_cast<uint64_t>(whole / 2)};
}

inline constexpr PoissonSqueeze kPoissonSqueezes[3] = {
    MakePoissonSqueeze(kPoissonRejectionRate, 1, 3),
    MakePoissonSqueeze(192, 4, 5),
    MakePoissonSqueeze(kPoissonLargeRate, 8, 9),
};

inline const PoissonSqueeze& SqueezeFor(double rate) {
  return kPoissonSqueezes[rate >= kPoissonLargeRate ? 2 : rate >= kPoissonSqueezes[1].from_rate];
}

// The candidate before its floor, less the integer part of the rate: sums then round at the size of
// the spread, not of the rate.
inline double PoissonStep(const PoissonHat& hat, double u, double t, double rate) {
  const double whole = static_cast<double>(static_cast<int64_t>(rate));
  const double fraction = (rate - whole) + 0.43;
  return (2.0 * hat.a / t + hat.b) * u + fraction;
}

// A candidate; false when it is negative or passes 32 bits (its probability is below exp(-10^8), or
// 0), else k is an integer.
inline bool PoissonCandidate(const PoissonHat& hat, double u, double t, double rate, double& k) {
  const double step = PoissonStep(hat, u, t, rate);
  const double whole = static_cast<double>(static_cast<int64_t>(rate));
  if (step > 0x1p40 || step < -whole) return false;
  int64_t floor = static_cast<int64_t>(step);
  floor -= step < static_cast<double>(floor) ? 1 : 0;
  k = whole + static_cast<double>(floor);
  return k <= 4294967295.0;
}

// The first word: the candidate, and whether it is taken without a test.
inline bool ProposePoisson(double rate, uint64_t word, double& k) {
  const PoissonSqueeze& squeeze = SqueezeFor(rate);
  const double u =
      static_cast<double>(static_cast<int64_t>(word - squeeze.half)) * (squeeze.inverse * 0x1p-64);
  const double t = 0.5 - std::abs(u);
  k = 0;
  return word < squeeze.certain && PoissonCandidate(PoissonHat::For(rate), u, t, rate, k);
}

// The trial whose first word was not enough; draws a third word when the second has to be extended.
inline bool DecidePoisson(double rate, uint64_t word, uint64_t second, crypto::Random& random,
                          double& k) {
  const PoissonSqueeze& squeeze = SqueezeFor(rate);
  const bool strip = word < squeeze.strip;
  const int64_t position = static_cast<int64_t>((strip ? word - squeeze.strip_mid : second) | 1);
  const uint64_t magnitude =
      position < 0 ? 0 - static_cast<uint64_t>(position) : static_cast<uint64_t>(position);
  const uint64_t distance = strip ? magnitude : (uint64_t{1} << 63) - magnitude;
  const double t = static_cast<double>(static_cast<int64_t>(distance)) *
                   (strip ? squeeze.inverse * 0x1p-64 : 0x1p-64);
  const double u = std::copysign(0.5 - t, static_cast<double>(position));
  double v;
  if (strip) {
    const double unit =
        second >= kWholeWord ? FixedPointUnit(second) : WideUnit(second, random.NextU64());
    v = unit * squeeze.height;
  } else {
    v = FixedPointUnit(word);
  }
  const PoissonHat hat = PoissonHat::For(rate);
  k = 0;
  if (!PoissonCandidate(hat, u, t, rate, k)) return false;
  if (PoissonFarOut(k, rate)) return false;
  const PoissonAcceptance acceptance = PoissonAcceptance::For(hat, k, t, rate);
  return Log(v * v * acceptance.factor) <= -2.0 * acceptance.exponent;
}

}  // namespace tacet::dp

#endif  // TACET_DP_POISSON_TRIAL_H_
