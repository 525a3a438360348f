// Arithmetic on logarithms, for numbers outside the range of double.
#ifndef TACET_ACCOUNTING_LOG_MATH_H_
#define TACET_ACCOUNTING_LOG_MATH_H_

#include <limits>

namespace tacet::accounting {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// log(e^a + e^b); either may be -infinity.
double LogAddExp(double a, double b);
// log(e^a - e^b) for a >= b; -infinity when they are equal.
double LogSubExp(double a, double b);
// log(e^x - 1), x > 0.
double LogExpm1(double x);
// log(1 + e^x) without overflow.
double LogOnePlusExp(double x);
// log(1 - q + q e^y) for q in [0, 1], accurate to its own size also when q (e^y - 1) is tiny.
double LogMix(double q, double y);
// log P(Z > x) for a standard normal Z, any finite x; relative error of the log below 1e-13.
double LogNormalTail(double x);
// P(Z > x).
double NormalTail(double x);
// log of P(a < Z < b) for a <= b, from one-sided tails so that nothing cancels.
double LogNormalInterval(double a, double b);

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_LOG_MATH_H_
