#include "tacet/dp/poisson.h"

#include <array>
#include <cstddef>
#include <numbers>

#include "tacet/dp/elementary.h"

namespace tacet::dp {
namespace {

// delta(k) = log k! - log(sqrt(2 pi k) (k/e)^k) for k < 16; k = 0 is never asked for.
constexpr std::array<double, 16> kStirlingError = {
    0,
    0.0810614667953272582196702,
    0.0413406959554092940938221,
    0.02767792568499833914878929,
    0.02079067210376509311152277,
    0.01664469118982119216319487,
    0.01387612882307074799874573,
    0.01189670994589177009505572,
    0.010411265261972096497478567,
    0.009255462182712732917728637,
    0.008330563433362871256469318,
    0.007573675487951840794972024,
    0.006942840107209529865664152,
    0.006408994188004207068439631,
    0.005951370112758847735624416,
    0.005554733551962801371038690,
};

double StirlingError(double k) {
  if (k < 16) return kStirlingError[static_cast<size_t>(k)];
  const double inverse = 1.0 / k;
  const double square = inverse * inverse;
  return inverse *
         (1.0 / 12 +
          square * (-1.0 / 360 +
                    square * (1.0 / 1260 + square * (-1.0 / 1680 + square * (1.0 / 1188)))));
}

// D(k, rate) = k log(k/rate) + rate - k >= 0. With v = (k - rate)/(k + rate), k log(k/rate) =
// 2 k artanh v, so D = (k - rate) v + 2 k v (v^2/3 + v^4/5 + ...); k - rate is exact when k is
// within a factor 2 of the rate.
double Deviance(double k, double rate) {
  const double difference = k - rate;
  const double v = difference / (k + rate);
  const double z = v * v;
  double series = 0;
  if (z < 0.01) {
    series =
        z *
        (1.0 / 3 +
         z * (1.0 / 5 +
              z * (1.0 / 7 + z * (1.0 / 9 + z * (1.0 / 11 + z * (1.0 / 13 + z * (1.0 / 15)))))));
  } else if (z < 0.25) {
    for (int j = 55; j >= 3; j -= 2) series = z * (series + 1.0 / j);
  } else {
    return k * Log(k / rate) - difference;
  }
  return difference * v + 2.0 * k * v * series;
}

}  // namespace

double PoissonLogScaled(double k, double rate) {
  if (k == 0) return 0.5 * Log(2.0 * std::numbers::pi * rate) - rate;
  return -0.5 * Log(k / rate) - (StirlingError(k) + Deviance(k, rate));
}

void FillPoisson(std::span<const double> rates, crypto::Random& random,
                 std::span<uint32_t> counts) {
  PoissonSampler(random).Fill(rates, counts);
}

}  // namespace tacet::dp
