// Logarithm, exponential and the circle in plain double arithmetic.
//
// The C library chooses other code, with other last bits, on other processors; noise must be the
// same everywhere for one key, so the samplers use these; elementary-inl.h repeats them on vectors,
// operation by operation. Only +, -, *, / and sqrt, which IEEE 754
// fixes; errors of at most 2 units in the last place (elementary_test.cc against 200 bits).
#ifndef TACET_DP_ELEMENTARY_H_
#define TACET_DP_ELEMENTARY_H_

#include <bit>
#include <cstdint>

namespace tacet::dp {

// ln 2 in two parts; the first has 21 zero bits at its end, so that small multiples are exact.
inline constexpr double kLn2High = 6.93147180369123816490e-01;
inline constexpr double kLn2Low = 1.90821492927058770002e-10;

// R(z)/z of Log below, z in [0, 0.02944]: interpolation at the 8 Chebyshev nodes, 2^-60 relative to
// the logarithm.
inline constexpr double kLogSeries[8] = {
    0.6666666666666666,  0.4000000000000088,  0.28571428570803614, 0.22222222391713917,
    0.18181795640132906, 0.15386239702814658, 0.13268773138656886, 0.13086626147840102};
// (sin x/x - 1)/z and (cos x - 1 + z/2)/z^2, z = x^2 in [0, (pi/4)^2]: interpolation at the 7 and 6
// Chebyshev nodes, 2^-57 relative to the sine (nearly all of it the rounding of 1/6), 2^-59 to the
// cosine.
inline constexpr double kSineSeries[7] = {-0.16666666666666666,    0.008333333333333331,
                                          -0.00019841269841265065, 2.7557319219339167e-06,
                                          -2.5052106232447578e-08, 1.6058531618986147e-10,
                                          -7.586697117706918e-13};
inline constexpr double kCosineSeries[6] = {0.041666666666666664,  -0.0013888888888887398,
                                            2.480158729876569e-05, -2.7557317271729793e-07,
                                            2.08761462684032e-09,  -1.1382632425521717e-11};

// Where the significand of Log's m starts: 1/sqrt 2 as bits.
inline constexpr uint64_t kLogStart = 0x3fe6a09e667f3bcdULL;
// The angle of one unit of Circle's signed 64-bit x.
inline constexpr double kCircleUnit = 0.78539816339744830962 * 0x1p-63;

// Natural logarithm of a positive normal x. x = 2^e m with m in [1/sqrt 2, sqrt 2), f = m - 1,
// t = f/(2 + f): log m = 2 artanh t = f - f^2/2 + t (f^2/2 + R), R = 2 t^2/3 + 2 t^4/5 + ..., here
// a polynomial of t^2 <= 0.02944.
inline double Log(double x) {
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  const uint64_t shifted = bits - kLogStart;
  const double e = static_cast<double>(static_cast<int32_t>(static_cast<int64_t>(shifted) >> 52));
  const double m = std::bit_cast<double>(bits - (shifted & 0xfff0000000000000ULL));
  const double f = m - 1.0;
  const double t = f / (2.0 + f);
  const double z = t * t;
  const double z2 = z * z;
  // Even and odd powers of z apart: two short chains instead of a long one.
  const double* c = kLogSeries;
  const double even = z2 * (c[1] + z2 * (c[3] + z2 * (c[5] + z2 * c[7])));
  const double odd = z * (c[0] + z2 * (c[2] + z2 * (c[4] + z2 * c[6])));
  const double half_square = 0.5 * f * f;
  return e * kLn2High - ((half_square - (t * (half_square + (even + odd)) + e * kLn2Low)) - f);
}

// exp(x) for x in [-700, 0]: x = n ln 2 + r, |r| <= 0.3466, Taylor to r^14/14! (< 2^-60).
inline double Exp(double x) {
  const int64_t n = static_cast<int64_t>(x * 1.4426950408889634 - 0.5);
  const double multiple = static_cast<double>(n);
  const double r = (x - multiple * kLn2High) - multiple * kLn2Low;
  double sum = 1.0 / 14;
  for (int k = 13; k >= 1; --k) sum = (1.0 + r * sum) / k;
  return (1.0 + r * sum) * std::bit_cast<double>(static_cast<uint64_t>(n + 1023) << 52);
}

struct CirclePoint {
  double cosine = 0;
  double sine = 0;
};

// The point at angle 2 pi word/2^64, up to a turn by pi/4 (which a uniform angle does not see):
// the top two bits choose the quadrant, the other 62 a signed x in [-pi/4, pi/4). Near 0 the sine
// keeps 53 significant bits.
inline CirclePoint Circle(uint64_t word) {
  const double x = static_cast<double>(static_cast<int64_t>(word << 2)) * kCircleUnit;
  const double z = x * x;
  const double* p = kSineSeries;
  const double* q = kCosineSeries;
  const double s =
      x +
      x * z * (p[0] + z * (p[1] + z * (p[2] + z * (p[3] + z * (p[4] + z * (p[5] + z * p[6]))))));
  const double c =
      1.0 - z * (0.5 - z * (q[0] + z * (q[1] + z * (q[2] + z * (q[3] + z * (q[4] + z * q[5]))))));
  const uint64_t quadrant = word >> 62;
  const double first = (quadrant & 1) != 0 ? s : c;
  const double second = (quadrant & 1) != 0 ? c : s;
  const double cosine = (quadrant == 1 || quadrant == 2) ? -first : first;
  const double sine = (quadrant & 2) != 0 ? -second : second;
  return {cosine, sine};
}

}  // namespace tacet::dp

#endif  // TACET_DP_ELEMENTARY_H_
