// One trial of the rejection from a normal hat that draws Poisson counts, as a map from a normal
// draw and a uniform word to a decision.
//
// The candidate is k = floor(L + 1/2 + w T) for a rate L, a standard normal T and a width w a
// little above sqrt L. It is taken with probability
//   p = P(k) exp(T^2/2) sqrt(2 pi L) exp(-e),
// P the Poisson law. The density of T cancels in the product, so the counts taken have the law P
// whatever w and e are, as long as p <= 1. Ahrens and Dieter (1982) draw from a normal hat, too,
// but of width sqrt L, and have to repair its right tail, where the Poisson law is heavier. Here
// |T| has a bound z (gaussian.h), and log P(k) = -x^2/2 + x^3/(6 sqrt L) - ... at x = (k - L)/sqrt
// L. So w = sqrt L + z/6 is enough up to z: the hat never falls below the law.
//
// e = c/sqrt L covers the steps of the floor: their edges rise above the hat by up to 0.11/sqrt L.
//
// The first test takes nearly every candidate at large rates: p >= 1 - B(|T|)/sqrt L with a fixed
// polynomial B. A second one computes log p in single precision. At rates from 30 it leaves less
// than one trial in a hundred to the exact test, which draws another word.
#ifndef TACET_DP_POISSON_TRIAL_H_
#define TACET_DP_POISSON_TRIAL_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "tacet/crypto/random.h"
#include "tacet/dp/elementary.h"
#include "tacet/dp/poisson.h"
#include "tacet/dp/uniform.h"

namespace tacet::dp {

// w - sqrt L; z/6 = 2.22.
inline constexpr double kPoissonWidening = 2.25;
// c of e = c/sqrt L.
inline constexpr double kPoissonExcess = 0.12;
// B: 1/2 + |T| (1 + |T| (12/5 + |T|/5)).
inline constexpr float kPoissonShortfall[4] = {0.5f, 1.0f, 2.4f, 0.2f};

// The rate that a trial is made at.
inline double TrialRate(double rate) {
  return std::min(rate >= kPoissonRejectionRate ? rate : kPoissonRejectionRate,
                  kPoissonLargestRate);
}

inline float PoissonRoot(double rate) { return std::sqrt(static_cast<float>(rate)); }

// The candidate before its floor, less the integer part of the rate: sums then round at the size of
// the spread, not of the rate.
inline double PoissonStep(double rate, double normal) {
  const double width = static_cast<double>(PoissonRoot(rate)) + kPoissonWidening;
  return width * normal + ((rate - std::floor(rate)) + 0.5);
}

// k, a whole number below 2^32; negative ones are never taken.
inline double PoissonCandidate(double rate, double normal) {
  return std::floor(rate) + std::floor(PoissonStep(rate, normal));
}

// log p in double precision, right to 1e-13 within 12 standard deviations; k >= 0.
inline double PoissonLogAcceptance(double rate, double k, double normal) {
  return PoissonLogScaled(k, rate) +
         (0.5 * normal * normal - kPoissonExcess / static_cast<double>(PoissonRoot(rate)));
}

// The first test: true when u <= 1 - B(|T|)/sqrt L for every uniform value that begins with the top
// 24 bits of `chance`.
inline bool IsSurelyTaken(double rate, double normal, uint32_t chance) {
  const float t = std::abs(static_cast<float>(normal));
  const float* b = kPoissonShortfall;
  const float above = static_cast<float>(static_cast<int32_t>(~chance >> 8)) * 0x1p-24f;
  return above * PoissonRoot(rate) > b[0] + t * (b[1] + t * (b[2] + t * b[3]));
}

// The series of the second test: artanh(v)/v - 1 over z = v^2, for z below kQuickRange; exp over
// [-ln 2/2, ln 2/2].
inline constexpr float kQuickRange = 0.25f;
inline constexpr float kQuickArtanh[9] = {1.0f / 3,  1.0f / 5,  1.0f / 7,  1.0f / 9, 1.0f / 11,
                                          1.0f / 13, 1.0f / 15, 1.0f / 17, 1.0f / 19};
inline constexpr float kQuickExp[4] = {1.0f / 2, 1.0f / 6, 1.0f / 24, 1.0f / 120};
inline constexpr float kQuickLog2E = 1.44269504f;
inline constexpr float kQuickLn2 = 0.693147181f;
inline constexpr float kQuickLeast = -60.0f;
// Distance between the uniform value and p from which the verdict is certain, relative to that
// value and absolute: log p is right to 2^-13, and 24 bits of the word are looked at.
inline constexpr float kQuickRelative = 0x1p-13f;
inline constexpr float kQuickAbsolute = 0x1p-22f;

enum class PoissonVerdict : uint8_t { kTaken, kRejected, kUndecided };

// log p by Loader's form of P: with d = k - L, v = d/(k + L) and artanh v = v (1 + A(v^2)),
//   log p = T^2/2 - v (d + (k + L + d) A) - artanh v - 1/(12 k) - ... - e.
// Right to 2^-13 when v^2 < kQuickRange; else meaningless.
inline float QuickLogAcceptance(float difference, float sum, float normal, float root) {
  const float v = difference * (1.0f / sum);
  const float z = v * v;
  float series = z * kQuickArtanh[8];
  for (size_t j = 8; j-- > 0;) series = z * (kQuickArtanh[j] + series);
  const float stirling = (1.0f / 6) / (sum + difference);
  const float loss = v * ((difference + (sum + difference) * series) + (1.0f + series)) + stirling;
  return (0.5f * normal * normal - loss) - static_cast<float>(kPoissonExcess) / root;
}

// exp(x), relatively right to 6e-6, for x up to 0; no less than exp(kQuickLeast).
inline float QuickExp(float x) {
  const float bounded = x > kQuickLeast ? x : kQuickLeast;
  const int32_t n = static_cast<int32_t>(bounded * kQuickLog2E - 0.5f);
  const float r = bounded - static_cast<float>(n) * kQuickLn2;
  const float* c = kQuickExp;
  const float series = 1.0f + r * (1.0f + r * (c[0] + r * (c[1] + r * (c[2] + r * c[3]))));
  return series * std::bit_cast<float>((n + 127) << 23);
}

inline PoissonVerdict QuickVerdict(double rate, double k, double normal, uint32_t chance) {
  const float difference = static_cast<float>(k - rate);
  const float sum = 2.0f * static_cast<float>(rate) + difference;
  const float v = difference * (1.0f / sum);
  if (!(v * v < kQuickRange)) return PoissonVerdict::kUndecided;
  const float p =
      QuickExp(QuickLogAcceptance(difference, sum, static_cast<float>(normal), PoissonRoot(rate)));
  const float u = static_cast<float>(static_cast<int32_t>(chance >> 8)) * 0x1p-24f;
  const float slack = u * kQuickRelative + kQuickAbsolute;
  if (u + slack < p) return PoissonVerdict::kTaken;
  if (u - slack > p) return PoissonVerdict::kRejected;
  return PoissonVerdict::kUndecided;
}

// The exact test: U <= p, U the 96-bit fraction that begins with `chance` and continues with a word
// of `random`.
inline bool DecidePoisson(double rate, double normal, uint32_t chance, crypto::Random& random) {
  const double k = PoissonCandidate(rate, normal);
  const double u = (static_cast<double>(chance) + FixedPointUnit(random.NextU64())) * 0x1p-32;
  return k >= 0 && Log(u) <= PoissonLogAcceptance(rate, k, normal);
}

// The second test and, where it is not enough, the exact one.
inline bool IsTaken(double rate, double normal, uint32_t chance, crypto::Random& random) {
  const PoissonVerdict verdict = QuickVerdict(rate, PoissonCandidate(rate, normal), normal, chance);
  if (verdict == PoissonVerdict::kUndecided) return DecidePoisson(rate, normal, chance, random);
  return verdict == PoissonVerdict::kTaken;
}

}  // namespace tacet::dp

#endif  // TACET_DP_POISSON_TRIAL_H_
