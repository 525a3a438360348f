// Random settings of the accountants: PLD against the contour reference, RDP against itself.
#ifndef TACET_ACCOUNTING_RANDOM_SETTINGS_FOR_TEST_H_
#define TACET_ACCOUNTING_RANDOM_SETTINGS_FOR_TEST_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tacet/accounting/log_math.h"
#include "tacet/accounting/log_moments.h"
#include "tacet/accounting/privacy_event.h"

namespace tacet::accounting {

// Renyi's bound for equal rounds, the least over integer orders from 2 to 16384, two to an octave.
inline double SmallestOfIntegerOrders(const SamplingEvent& event, uint64_t rounds, double delta) {
  double smallest = kInfinity;
  for (int low = 2; low <= 16384; low *= 2) {
    for (const int order : {low, std::min(low + low / 2, 16384)}) {
      const int l = order - 1;
      const double moment =
          event.sampling == Sampling::kFixedSize ? LogMomentReal(event, l) : LogMoment(event, l);
      smallest = std::min(
          smallest, EpsilonOfLogMoment(static_cast<double>(rounds) * moment, l, std::log(delta)));
    }
  }
  return std::max(0.0, smallest);
}

// Draws `count` settings (sigma 0.3-100, q 1e-5-1, T 1-100000, delta 1e-3-1e-15, log-uniform) and
// checks that the true delta at the upper epsilon is at most delta and at the lower one at least.
// Where the reference cannot integrate (rare sampling, few rounds: its integrand hardly decays),
// ordering and Renyi's bound are checked alone; a third of the settings at least must be compared
// (about half are).
void CheckRandomSettings(int count, int seed);

// Draws `count` settings of both samplings and neighbours (q 1e-6-1, sigma 0.3-100, T 1-1e6, delta
// 1e-15-0.5, log-uniform) and checks that RDP is finite and never above SmallestOfIntegerOrders.
void CheckRandomRdpSettings(int count, int seed);

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_RANDOM_SETTINGS_FOR_TEST_H_
