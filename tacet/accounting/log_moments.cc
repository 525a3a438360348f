#include "tacet/accounting/log_moments.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tacet/accounting/log_math.h"
#include "tacet/accounting/pure_releases.h"
#include "tacet/accounting/round_choices.h"

namespace tacet::accounting {
namespace {

// Half-width after which a standard normal is below 1e-19 of its peak.
constexpr double kNormalReach = 9.5;
constexpr double kTolerance = 1e-11;
constexpr double kFirstStep = 0.25;
constexpr int kRefinements = 9;
// Widest range of x that is integrated; beyond it the moment without sampling, which is never
// smaller, is returned.
constexpr double kWidest = 2000;
const double kLogSqrtTwoPi = 0.5 * std::log(2 * std::numbers::pi);

// Integral over [low, high] of an analytic function that vanishes at both ends, by the trapezoidal
// rule: the error falls exponentially with the number of points. All functions here have features
// of width 1, so the first step, a quarter, misses none of them. Infinity when halving the step
// stops before the sum settles.
template <typename F>
double Integrate(const F& f, double low, double high) {
  auto points = static_cast<size_t>(std::ceil((high - low) / kFirstStep));
  double step = (high - low) / static_cast<double>(points);
  double sum = 0;
  double size = 0;  // of the absolute values
  const auto add = [&](double x) {
    const double value = f(x);
    sum += value;
    size += std::abs(value);
  };
  for (size_t i = 1; i < points; ++i) {
    add(low + static_cast<double>(i) * step);
  }
  for (int refinement = 0; refinement < kRefinements; ++refinement) {
    const double before = sum * step;
    for (size_t i = 0; i < points; ++i) {
      add(low + (static_cast<double>(i) + 0.5) * step);
    }
    points *= 2;
    step /= 2;
    const double now = sum * step;
    if (!std::isfinite(now)) {
      return kInfinity;
    }
    if (std::abs(now - before) <= kTolerance * size * step) {
      return now;
    }
  }
  return kInfinity;
}

// log E[1 + excess] from the integral of the excess.
double FromExcess(double excess) { return std::isfinite(excess) ? std::log1p(excess) : kInfinity; }

// (1 + w)^-l - 1 + l w >= 0 for w > -1, l > 0, without cancellation for small w.
double ConvexExcess(double l, double w) {
  if (std::abs(w) * (std::abs(l) + 4) < 1e-3) {
    const double cubic = 1 - (l + 2) / 3 * w * (1 - (l + 3) / 4 * w * (1 - (l + 4) / 5 * w));
    return 0.5 * l * (l + 1) * w * w * cubic;
  }
  return std::expm1(-l * std::log1p(w)) + l * w;
}

// (1 + w)^(l + 1) - 1 - (l + 1) w >= 0 for w > -1, l > 0, accurate also for small l and w.
double PowerExcess(double l, double w) {
  if (std::abs(w) * (l + 4) < 1e-3) {
    return ConvexExcess(-(l + 1), w);
  }
  return (1 + w) * std::expm1(l * std::log1p(w)) - l * w;
}

}  // namespace

double LogMomentMixtureFirst(int order, double q, double c) {
  if (q <= 0 || c <= 0) {
    return 0;
  }
  const double half_square = 0.5 * c * c;
  if (!std::isfinite(half_square)) {
    return kInfinity;
  }
  const double n = order + 1.0;
  if (q >= 1) {
    return n * order * half_square;
  }
  const double log_q = std::log(q);
  const double log_rest = std::log1p(-q);
  double log_choose = std::log(n);  // log C(n, 1)
  double log_excess = -kInfinity;
  for (int k = 2; k <= order + 1; ++k) {
    log_choose += std::log((n - k + 1) / k);
    const double weight = log_choose + (n - k) * log_rest + k * log_q;
    log_excess = LogAddExp(log_excess, weight + LogExpm1(k * (k - 1.0) * half_square));
  }
  return LogOnePlusExp(log_excess);
}

double LogMomentNullFirst(double order, double q, double c) {
  if (q <= 0 || c <= 0) {
    return 0;
  }
  if (!std::isfinite(c)) {
    return q >= 1 ? kInfinity : -order * std::log1p(-q);
  }
  if (q >= 1 || c > kWidest) {
    return 0.5 * order * (order + 1) * c * c;
  }
  // log of the integrand without phi's constant: concave, curvature at most -1.
  const auto log_integrand = [=](double x) {
    return -0.5 * x * x - order * LogMix(q, c * x - 0.5 * c * c);
  };
  // Its peak solves x + l c r(x) = 0, r in [0, 1] the chance that x came from the shifted part.
  double low = -order * c;
  double high = 0;
  for (int step = 0; step < 200 && high - low > 1e-6; ++step) {
    const double x = 0.5 * (low + high);
    const double y = c * x - 0.5 * c * c;
    const double r = q / (q + (1 - q) * std::exp(-y));
    (x + order * c * r > 0 ? high : low) = x;
  }
  const double peak = 0.5 * (low + high);
  const double height = log_integrand(peak);
  const double scaled = Integrate([&](double x) { return std::exp(log_integrand(x) - height); },
                                  peak - kNormalReach, peak + kNormalReach);
  if (!std::isfinite(scaled)) {
    return kInfinity;
  }
  const double direct = height + std::log(scaled) - kLogSqrtTwoPi;
  if (direct > 1e-2) {
    return direct;
  }
  // Near 1 the moment's excess is integrated instead: E[w] = 0 for w = q (e^y - 1), so
  // E1 - 1 = E[(1 + w)^-l - 1 + l w], whose integrand is non-negative.
  return FromExcess(Integrate(
      [=](double x) {
        const double w = q * std::expm1(c * x - 0.5 * c * c);
        return std::exp(-0.5 * x * x - kLogSqrtTwoPi) * ConvexExcess(order, w);
      },
      std::min(peak, 0.0) - kNormalReach, c + kNormalReach));
}

double LogMomentMixtureFirstReal(double order, double q, double c) {
  if (q <= 0 || c <= 0) {
    return 0;
  }
  if (!std::isfinite(c)) {
    return kInfinity;
  }
  if (q >= 1 || (order + 1) * c > kWidest) {
    return 0.5 * order * (order + 1) * c * c;
  }
  // E[(1 + w)^(l+1) - 1 - (l+1) w] under phi: ConvexExcess at the negative power. The exponent
  // -x^2/2 + (l+1) log(1 - q + q e^y) has its largest value between 0 and (l+1) c.
  const double power = order + 1;
  const auto log_integrand = [=](double x) {
    return -0.5 * x * x + power * LogMix(q, c * x - 0.5 * c * c);
  };
  const double top = power * c;
  const double low = -kNormalReach;
  const double high = top + kNormalReach;
  // The exponent may have two local maxima: scan for the higher one at half the peaks' width.
  double height = log_integrand(0);
  for (double x = 0; x <= top + 0.25; x += 0.25) {
    height = std::max(height, log_integrand(x));
  }
  if (height > 600) {
    const double scaled =
        Integrate([&](double x) { return std::exp(log_integrand(x) - height); }, low, high);
    return std::isfinite(scaled) ? height + std::log(scaled) - kLogSqrtTwoPi : kInfinity;
  }
  return FromExcess(Integrate(
      [=](double x) {
        const double w = q * std::expm1(c * x - 0.5 * c * c);
        const double phi = std::exp(-0.5 * x * x - kLogSqrtTwoPi);
        if (order * std::log1p(w) > 500) {
          return std::exp(log_integrand(x) - kLogSqrtTwoPi) - phi * (1 + power * w);
        }
        return phi * PowerExcess(order, w);
      },
      low, high));
}

double LogMomentOpposite(double order, double q, double c) {
  if (q <= 0 || c <= 0) {
    return 0;
  }
  if (!std::isfinite(c)) {
    return kInfinity;
  }
  if (q >= 1 || (2 * order + 1) * c > kWidest) {
    return 2 * order * (order + 1) * c * c;
  }
  const double half_square = 0.5 * c * c;
  const auto log_loss_power = [=](double x) {
    return (order + 1) * LogMix(q, c * x - half_square) - order * LogMix(q, -c * x - half_square);
  };
  const double top = (2 * order + 1) * c;
  double height = 0;
  for (double x = 0; x <= top + 0.25; x += 0.25) {
    height = std::max(height, -0.5 * x * x + log_loss_power(x));
  }
  if (height > 600) {
    const double scaled =
        Integrate([&](double x) { return std::exp(-0.5 * x * x + log_loss_power(x) - height); },
                  -top - kNormalReach, top + kNormalReach);
    return std::isfinite(scaled) ? height + std::log(scaled) - kLogSqrtTwoPi : kInfinity;
  }
  // With v+- = log(g+- / phi): E[e^{(l+1) v+ - l v-}] - 1. Both e^{v+} - 1 and e^{v-} - 1 have mean
  // 0, so (l+1)(e^{v+} - 1) - l (e^{v-} - 1) is subtracted: what is left is second order.
  return FromExcess(Integrate(
      [=](double x) {
        const double plus = q * std::expm1(c * x - half_square);
        const double minus = q * std::expm1(-c * x - half_square);
        const double phi = std::exp(-0.5 * x * x - kLogSqrtTwoPi);
        const double exponent = log_loss_power(x);
        if (exponent > 500) {
          return std::exp(exponent - 0.5 * x * x - kLogSqrtTwoPi) -
                 phi * (1 + (order + 1) * plus - order * minus);
        }
        const double loss = std::log1p(plus) - std::log1p(minus);
        return phi * ((1 + plus) * std::expm1(order * loss) - order * (plus - minus));
      },
      -top - kNormalReach, top + kNormalReach));
}

double LogMomentEnvelope(double order, double q, double c) {
  if (q <= 0 || c <= 0) {
    return 0;
  }
  if (!std::isfinite(c)) {
    return kInfinity;
  }
  if (q >= 1 || (order + 1) * c > kWidest) {
    return 0.5 * order * (order + 1) * c * c;
  }
  // x = c / 2 + log(1 + e^u): the integrand falls exponentially at both ends of u.
  const auto log_integrand = [=](double u) {
    const double above = LogOnePlusExp(u);
    const double x = 0.5 * c + above;
    const double loss = LogMix(q, c * above);
    if (!(loss > 0)) {
      return -kInfinity;
    }
    return -0.5 * x * x + LogExpm1(order * loss) + LogExpm1((order + 1) * loss) - order * loss +
           (u - above);
  };
  constexpr double kLowest = -14;
  const double highest = (order + 1) * c + kNormalReach;
  double height = -kInfinity;
  for (double u = kLowest; u <= highest; u += kFirstStep) {
    height = std::max(height, log_integrand(u));
  }
  const double scaled =
      Integrate([&](double u) { return std::exp(log_integrand(u) - height); }, kLowest, highest);
  return std::isfinite(scaled) ? LogOnePlusExp(height + std::log(scaled) - kLogSqrtTwoPi)
                               : kInfinity;
}

double LogMomentReal(const SamplingEvent& event, double order) {
  if (event.pool > 0) {
    return LargestLogMoment(
        ChoicesOf({{.probability = 1, .event = event}}, kMomentChoices),
        [order](const SamplingEvent& form) { return LogMomentReal(form, order); });
  }
  if (event.pure_epsilon > 0) return PureLogMoment(event.pure_epsilon, order);
  const double c = Sensitivity(event) / event.noise_stddev;
  const double q = event.sampling_rate;
  if (event.sampling == Sampling::kNone || q >= 1) {
    return LogMomentMixtureFirstReal(order, 1, c);
  }
  if (event.sampling == Sampling::kFixedSize) {
    return LogMomentEnvelope(order, q, 2 * event.clip_norm / event.noise_stddev);
  }
  return event.neighbouring == Neighbouring::kZeroOut ? LogMomentMixtureFirstReal(order, q, c)
                                                      : LogMomentOpposite(order, q, c / 2);
}

double LogMoment(const SamplingEvent& event, int order) {
  if (event.pure_epsilon > 0) return PureLogMoment(event.pure_epsilon, order);
  const double c = Sensitivity(event) / event.noise_stddev;  // infinity when there is no noise
  const double q = event.sampling_rate;
  switch (event.sampling) {
    case Sampling::kNone:
      return LogMomentMixtureFirst(order, 1, c);
    case Sampling::kFixedSize: {
      const double shift = 2 * event.clip_norm / event.noise_stddev;
      const double either =
          std::max(LogMomentMixtureFirst(order, q, shift), LogMomentNullFirst(order, q, shift));
      // With q = 1 everybody is known to be in.
      return q >= 1 ? LogMomentMixtureFirst(order, 1, c) : either;
    }
    case Sampling::kPoisson:
      if (event.neighbouring == Neighbouring::kZeroOut) {
        return std::max(LogMomentMixtureFirst(order, q, c), LogMomentNullFirst(order, q, c));
      }
      return LogMomentOpposite(order, q, c / 2);
    case Sampling::kPoissonKnownSize:
      break;  // accountants take the mixture that it is
  }
  return kInfinity;
}

double EpsilonOfLogMoment(double log_moment, double l, double log_delta) {
  const double epsilon = log_moment / l + std::log(l / (l + 1)) - (log_delta + std::log(l + 1)) / l;
  return std::isnan(epsilon) ? kInfinity : epsilon;
}

}  // namespace tacet::accounting
