#include "tacet/accounting/contour_reference_for_test.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <limits>
#include <numbers>
#include <vector>

namespace tacet::accounting {
namespace {

// The pair at the points of a grid in x, where the integrand tilted by theta counts.
template <typename Scalar>
struct Grid {
  Scalar step = 0;
  std::vector<Scalar> log_q = {};  // log f_Q, without the constant
  std::vector<Scalar> loss = {};   // log f_P / f_Q
  Scalar highest = 0;              // of the tilted integrand's logarithm
};

template <typename Scalar>
Scalar LogMixture(Scalar q, Scalar c, Scalar x) {
  const Scalar y = c * x - c * c / 2;
  return y < 30 ? std::log1p(q * std::expm1(y)) : y + std::log(q + (1 - q) * std::exp(-y));
}

// Cuts off both ends where the tilted integrand is below e^-60 of its largest value.
template <typename Scalar>
void KeepWhatCounts(Scalar theta, Grid<Scalar>& grid) {
  const auto exponent = [&](size_t i) { return (theta + 1) * grid.loss[i] + grid.log_q[i]; };
  grid.highest = -1e300;
  for (size_t i = 0; i < grid.loss.size(); ++i) grid.highest = std::max(grid.highest, exponent(i));
  size_t first = 0;
  size_t last = grid.loss.size();
  while (exponent(first) < grid.highest - 60) ++first;
  while (exponent(last - 1) < grid.highest - 60) --last;
  for (std::vector<Scalar>* values : {&grid.loss, &grid.log_q}) {
    values->erase(values->begin() + static_cast<ptrdiff_t>(last), values->end());
    values->erase(values->begin(), values->begin() + static_cast<ptrdiff_t>(first));
  }
}

template <typename Scalar>
Grid<Scalar> MakeGrid(ReferencePair pair, Scalar q, Scalar c, Scalar theta, Scalar step) {
  Grid<Scalar> grid{.step = step};
  const Scalar reach = 10;
  Scalar low = -reach;
  Scalar high = reach + (theta + 1) * c;
  if (pair == ReferencePair::kNullFirst) {
    low = -reach - theta * c;
    high = reach + c;
  } else if (pair == ReferencePair::kOpposite) {
    high = reach + (2 * theta + 1) * c;
    low = -reach - c;
  }
  for (Scalar x = low; x <= high; x += step) {
    const Scalar base = -x * x / 2;
    const Scalar mixture = LogMixture(q, c, x);
    if (pair == ReferencePair::kMixtureFirst) {
      grid.log_q.push_back(base);
      grid.loss.push_back(mixture);
    } else if (pair == ReferencePair::kNullFirst) {
      grid.log_q.push_back(base + mixture);
      grid.loss.push_back(-mixture);
    } else {
      const Scalar mirrored = LogMixture(q, c, -x);
      grid.log_q.push_back(base + mirrored);
      grid.loss.push_back(mixture - mirrored);
    }
  }
  KeepWhatCounts(theta, grid);
  return grid;
}

// log M(z).
template <typename Scalar>
std::complex<Scalar> LogMoment(const Grid<Scalar>& grid, std::complex<Scalar> z) {
  std::complex<Scalar> sum = 0;
  for (size_t i = 0; i < grid.loss.size(); ++i) {
    sum += std::exp((z + Scalar(1)) * grid.loss[i] + (grid.log_q[i] - grid.highest));
  }
  return std::log(sum * grid.step / std::sqrt(2 * std::numbers::pi_v<Scalar>)) + grid.highest;
}

// Line of integration: its crossing of the real axis, and the steps along it.
struct Line {
  double theta = 0;
  double peak = 0;  // log of the integrand at theta
  double step = 0;
};

struct Integral {
  double value = 0;     // over e^peak
  double rounding = 0;  // bound of its relative error by rounding
};

// No value where it takes too many points.
template <typename Scalar>
std::optional<Integral> IntegralAlong(const Line& line, ReferencePair pair, double q, double c,
                                      double rounds, double epsilon) {
  Scalar step = 0.05 + 0.05 / (1 + c);
  const auto make_grid = [&] { return MakeGrid<Scalar>(pair, q, c, line.theta, step); };
  Grid<Scalar> grid = make_grid();
  Scalar sum = 0;
  Scalar total = 0;  // of the absolute values
  Scalar largest_tail = 0;
  constexpr int kMax = 4000;
  for (int k = 0; k < kMax; ++k) {
    const Scalar y = k * static_cast<Scalar>(line.step);
    // The integrand in x turns with y times the loss' slope, at most 2 c.
    if (0.5 / (1 + 2 * c * y / 3) < step) {
      step /= 2;
      if (step < 1e-3) {
        return std::nullopt;
      }
      grid = make_grid();
    }
    const std::complex<Scalar> z(line.theta, y);
    const std::complex<Scalar> value = std::exp(
        static_cast<Scalar>(rounds) * LogMoment(grid, z) - z * static_cast<Scalar>(epsilon) -
        std::log(z * (z + Scalar(1))) - static_cast<Scalar>(line.peak));
    sum += (k == 0 ? Scalar(0.5) : Scalar(1)) * value.real();
    total += std::abs(value);
    largest_tail = std::max<Scalar>(std::abs(value), 0.9 * largest_tail);
    if (k > kMax / 4 && largest_tail > 1e-2) {  // hardly decays
      return std::nullopt;
    }
    if (k > 20 && largest_tail < 1e-9 * std::abs(sum)) {
      const Scalar unit = std::numeric_limits<Scalar>::epsilon();
      return Integral{.value = static_cast<double>(sum) * line.step / M_PI,
                      .rounding = static_cast<double>(4 * unit * static_cast<Scalar>(rounds) *
                                                      total / std::abs(sum))};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> ContourDelta(ReferencePair pair, double q, double c, double rounds,
                                   double epsilon) {
  const auto log_integrand = [&](double theta) {
    const auto grid = MakeGrid<double>(pair, q, c, theta, 0.02 + 0.03 / (1 + c));
    return rounds * LogMoment<double>(grid, theta).real() - theta * epsilon -
           std::log(theta * (theta + 1));
  };
  // The saddle on the real axis, by golden section over log theta.
  double low = std::log(1e-2);
  const double largest_theta = 2e3 / (c * (1 + c));  // the grid grows with c theta
  double high = std::log(largest_theta);
  for (int turn = 0; turn < 40; ++turn) {
    const double a = high - 0.618 * (high - low);
    const double b = low + 0.618 * (high - low);
    if (log_integrand(std::exp(a)) < log_integrand(std::exp(b))) {
      high = b;
    } else {
      low = a;
    }
  }
  const double theta = std::exp(0.5 * (low + high));
  // Off its saddle the integral is a small difference of large values.
  if (theta > 0.9 * largest_theta) {
    return std::nullopt;
  }
  const double nudge = 0.01 * theta;
  const double curvature =
      (log_integrand(theta + nudge) - 2 * log_integrand(theta) + log_integrand(theta - nudge)) /
      (nudge * nudge);
  if (!(curvature > 0)) {
    return std::nullopt;
  }
  const Line line{.theta = theta,
                  .peak = log_integrand(theta),
                  .step = std::min(0.08 / std::sqrt(curvature), 0.1 * theta)};
  if (line.peak > 0) {  // a moment that explodes next to the saddle, which was missed
    return std::nullopt;
  }
  // Rare large losses can forbid the tilt that the answer is at home in: the integrand is then
  // millions of times larger than its integral, and its sum needs more digits.
  constexpr double kMaxRounding = 1e-6;
  auto integral = IntegralAlong<double>(line, pair, q, c, rounds, epsilon);
  if (integral && integral->rounding > kMaxRounding) {
    integral = IntegralAlong<long double>(line, pair, q, c, rounds, epsilon);
  }
  if (!integral || integral->rounding > kMaxRounding) {
    return std::nullopt;
  }
  return std::exp(line.peak) * integral->value;
}

}  // namespace tacet::accounting
