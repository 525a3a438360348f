#include "tacet/accounting/contour_reference_for_test.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <vector>

namespace tacet::accounting {
namespace {

using Complex = std::complex<double>;

// log f_P, log f_Q - log f_P and so on at the points of a grid in x, for one pair.
struct Grid {
  double step = 0;
  std::vector<double> log_q = {};  // log f_Q, without the constant
  std::vector<double> loss = {};   // log f_P / f_Q
};

double LogMixture(double q, double c, double x) {
  const double y = c * x - c * c / 2;
  return y < 30 ? std::log1p(q * std::expm1(y)) : y + std::log(q + (1 - q) * std::exp(-y));
}

// Cuts off both ends where the tilted integrand is below e^-60 of its largest value.
void KeepWhatCounts(double theta, Grid& grid) {
  const auto exponent = [&](size_t i) { return (theta + 1) * grid.loss[i] + grid.log_q[i]; };
  double highest = -1e300;
  for (size_t i = 0; i < grid.loss.size(); ++i) highest = std::max(highest, exponent(i));
  size_t first = 0;
  size_t last = grid.loss.size();
  while (exponent(first) < highest - 60) ++first;
  while (exponent(last - 1) < highest - 60) --last;
  for (std::vector<double>* values : {&grid.loss, &grid.log_q}) {
    values->erase(values->begin() + static_cast<ptrdiff_t>(last), values->end());
    values->erase(values->begin(), values->begin() + static_cast<ptrdiff_t>(first));
  }
}

Grid MakeGrid(ReferencePair pair, double q, double c, double theta, double step) {
  Grid grid{.step = step};
  const double reach = 10;
  double low = -reach;
  double high = reach + (theta + 1) * c;
  if (pair == ReferencePair::kNullFirst) {
    low = -reach - theta * c;
    high = reach + c;
  } else if (pair == ReferencePair::kOpposite) {
    high = reach + (2 * theta + 1) * c;
    low = -reach - c;
  }
  for (double x = low; x <= high; x += step) {
    const double base = -x * x / 2;
    const double mixture = LogMixture(q, c, x);
    if (pair == ReferencePair::kMixtureFirst) {
      grid.log_q.push_back(base);
      grid.loss.push_back(mixture);
    } else if (pair == ReferencePair::kNullFirst) {
      grid.log_q.push_back(base + mixture);
      grid.loss.push_back(-mixture);
    } else {
      const double mirrored = LogMixture(q, c, -x);
      grid.log_q.push_back(base + mirrored);
      grid.loss.push_back(mixture - mirrored);
    }
  }
  KeepWhatCounts(theta, grid);
  return grid;
}

// M(z) / scale.
Complex Moment(const Grid& grid, Complex z, double log_scale) {
  Complex sum = 0;
  for (size_t i = 0; i < grid.loss.size(); ++i) {
    const Complex exponent = (z + 1.0) * grid.loss[i] + grid.log_q[i] - log_scale;
    if (exponent.real() > -40) {
      sum += std::exp(exponent);
    }
  }
  return sum * grid.step / std::sqrt(2 * M_PI);
}

double LogMomentReal(const Grid& grid, double theta) {
  double highest = -1e300;
  for (size_t i = 0; i < grid.loss.size(); ++i) {
    highest = std::max(highest, (theta + 1) * grid.loss[i] + grid.log_q[i]);
  }
  return highest + std::log(Moment(grid, theta, highest).real());
}

}  // namespace

std::optional<double> ContourDelta(ReferencePair pair, double q, double c, double rounds,
                                   double epsilon) {
  const auto log_integrand = [&](double theta) {
    const Grid grid = MakeGrid(pair, q, c, theta, 0.02 + 0.03 / (1 + c));
    return rounds * LogMomentReal(grid, theta) - theta * epsilon - std::log(theta * (theta + 1));
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
  const double y_step = std::min(0.08 / std::sqrt(curvature), 0.1 * theta);

  const auto highest_of = [theta](const Grid& grid) {
    double highest = -1e300;
    for (size_t i = 0; i < grid.loss.size(); ++i) {
      highest = std::max(highest, (theta + 1) * grid.loss[i] + grid.log_q[i]);
    }
    return highest;
  };
  double step = 0.05 + 0.05 / (1 + c);
  Grid grid = MakeGrid(pair, q, c, theta, step);
  double highest = highest_of(grid);
  const double peak = log_integrand(theta);
  if (peak > 0) {  // a moment that explodes beside the saddle, which was missed
    return std::nullopt;
  }
  double sum = 0;
  double largest_tail = 0;
  constexpr int kMost = 2000;
  for (int k = 0; k < kMost; ++k) {
    const double y = k * y_step;
    // The integrand in x turns with y times the loss' slope, at most 2 c.
    if (0.5 / (1 + 2 * c * y / 3) < step) {
      step /= 2;
      if (step < 1e-3) {
        return std::nullopt;
      }
      grid = MakeGrid(pair, q, c, theta, step);
      highest = highest_of(grid);
    }
    const Complex z(theta, y);
    const Complex log_moment = std::log(Moment(grid, z, highest)) + highest;
    const Complex value =
        std::exp(rounds * log_moment - z * epsilon - std::log(z * (z + 1.0)) - peak);
    sum += (k == 0 ? 0.5 : 1.0) * value.real();
    largest_tail = std::max(std::abs(value), 0.9 * largest_tail);
    if (k > 20 && largest_tail < 1e-9) {
      return std::exp(peak) * sum * y_step / M_PI;
    }
  }
  return std::nullopt;
}

}  // namespace tacet::accounting
