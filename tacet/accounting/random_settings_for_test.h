// Random settings of the accountants: PLD against the contour reference, RDP against itself.
#ifndef TACET_ACCOUNTING_RANDOM_SETTINGS_FOR_TEST_H_
#define TACET_ACCOUNTING_RANDOM_SETTINGS_FOR_TEST_H_

namespace tacet::accounting {

// Draws `count` settings (sigma 0.3-100, q 1e-5-1, T 1-100000, delta 1e-3-1e-15, log-uniform) and
// checks that the true delta at the upper epsilon is at most delta and at the lower one at least.
// Where the reference cannot integrate (rare sampling, few rounds: its integrand hardly decays),
// ordering and Renyi's bound are checked alone; a third of the settings at least must be compared
// (about half are).
void CheckRandomSettings(int count, int seed);

// Draws `count` settings of both samplings and neighbours (q 1e-6-1, sigma 0.3-100, T 1-1e6, delta
// 1e-15-0.5, log-uniform) and checks that real-order RDP is finite and never above the answer of
// the integer orders.
void CheckRandomRdpSettings(int count, int seed);

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_RANDOM_SETTINGS_FOR_TEST_H_
