#include "tacet/accounting/loss_composition.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <utility>

#include <kissfft/kissfft.hh>

#include "tacet/accounting/log_math.h"

namespace tacet::accounting {
namespace {

// The most that may be cut off or wrapped around, relative to the answer: e^-25. More digits let
// more be told apart.
constexpr double kLogOutside = -25;
constexpr double kLogOutsideExtended = -35;
// Transforms up to this size are repeated with more digits where rounding is not negligible.
constexpr size_t kMaxExtendedPoints = size_t{1} << 16;
constexpr double kNegligible = 0.01;

// erfc(x) e^{x^2}, x >= 0.
double ScaledErfc(double x) {
  if (x < 20) {
    return std::exp(x * x) * std::erfc(x);
  }
  const double inverse = 1 / (x * x);
  return (1 - 0.5 * inverse * (1 - 1.5 * inverse * (1 - 2.5 * inverse))) /
         (x * std::sqrt(std::numbers::pi));
}

// log E[(e^{-theta U} - e^{-(theta + 1) U})^+], U ~ N(0, stddev^2).
double LogTailWeight(double theta, double stddev) {
  const double root = stddev * std::numbers::sqrt2 / 2;
  return std::log(
      std::max(1e-300, 0.5 * (ScaledErfc(theta * root) - ScaledErfc((theta + 1) * root))));
}

// x^rounds for a complex x, and |x|^(rounds - 1) into `gain`.
template <typename Scalar>
std::complex<Scalar> Power(const std::complex<Scalar>& x, double rounds, double& gain) {
  const Scalar magnitude = std::abs(x);
  if (magnitude == 0) {
    gain = rounds == 1 ? 1 : 0;
    return 0;
  }
  const Scalar reduced = std::exp(static_cast<Scalar>(rounds - 1) * std::log(magnitude));
  gain = static_cast<double>(reduced);
  return std::polar<Scalar>(reduced * magnitude, static_cast<Scalar>(rounds) * std::arg(x));
}

// index mod n for an integer held in a double.
size_t Wrapped(double index, size_t n) {
  const auto modulus = static_cast<double>(n);
  const double rest = std::fmod(index, modulus);
  return static_cast<size_t>(rest < 0 ? rest + modulus : rest) % n;
}

}  // namespace

LossSum::LossSum(std::vector<Part> parts) : parts_(std::move(parts)) {
  for (const Part& part : parts_) {
    std::vector<double> logs(part.lattice.mass.size());
    std::transform(part.lattice.mass.begin(), part.lattice.mass.end(), logs.begin(),
                   [](double mass) { return mass > 0 ? std::log(mass) : -kInfinity; });
    log_mass_.push_back(std::move(logs));
    origin_ += part.rounds * part.lattice.origin;
  }
}

size_t LossSum::cells() const {
  size_t total = 0;
  for (const Part& part : parts_) {
    total += part.lattice.mass.size();
  }
  return total;
}

LossSum::Tilt LossSum::TiltAt(double theta) const {
  Tilt tilt{.theta = theta};
  double variance = 0;
  for (size_t part = 0; part < parts_.size(); ++part) {
    const LossLattice& lattice = parts_[part].lattice;
    double highest = -kInfinity;
    size_t pivot = 0;
    for (size_t i = 0; i < lattice.mass.size(); ++i) {
      const double exponent = theta * lattice.LossAt(i) + log_mass_[part][i];
      if (exponent > highest) {
        highest = exponent;
        pivot = i;
      }
    }
    double sum = 0;
    double first = 0;
    double second = 0;
    for (size_t i = 0; i < lattice.mass.size(); ++i) {
      const double exponent = theta * lattice.LossAt(i) + log_mass_[part][i] - highest;
      if (exponent > -80) {
        const double weight = std::exp(exponent);
        const double from_pivot = static_cast<double>(i) - static_cast<double>(pivot);
        sum += weight;
        first += weight * from_pivot;
        second += weight * from_pivot * from_pivot;
      }
    }
    const double mean = first / sum;
    tilt.k += parts_[part].rounds * (highest + std::log(sum));
    tilt.mean += parts_[part].rounds * (lattice.LossAt(pivot) + mean * lattice.step);
    variance += parts_[part].rounds * std::max(0.0, second / sum - mean * mean) * lattice.step *
                lattice.step;
  }
  tilt.stddev = std::sqrt(variance);
  return tilt;
}

LossSum::Tilt LossSum::FindTilt(double log_delta) const {
  const auto reached = [&](const Tilt& tilt) {
    return tilt.k - tilt.theta * tilt.mean + LogTailWeight(tilt.theta, tilt.stddev) <= log_delta;
  };
  Tilt high = TiltAt(0);
  if (reached(high)) {
    return high;
  }
  double low = 0;
  for (double theta = 1; theta < 1e12; theta *= 2) {
    high = TiltAt(theta);
    if (reached(high)) {
      break;
    }
    low = theta;
  }
  for (int turn = 0; turn < 10; ++turn) {
    const Tilt middle = TiltAt(0.5 * (low + high.theta));
    if (reached(middle)) {
      high = middle;
    } else {
      low = middle.theta;
    }
  }
  return high;
}

double LossSum::Reach(const Tilt& tilt, double sign, double log_probability) const {
  double best = kInfinity;
  for (double scale = 0.25; scale <= 64; scale *= 2) {
    const double lambda = sign * scale / std::max(tilt.stddev, step());
    const double excess = TiltAt(tilt.theta + lambda).k - tilt.k - lambda * tilt.mean;
    best = std::min(best, (excess - log_probability) / std::abs(lambda));
  }
  return best;
}

template <typename Scalar>
LossSum::TiltedLaw LossSum::Compose(const Tilt& tilt, const Window& window) const {
  using ComplexScalar = std::complex<Scalar>;
  const size_t n = window.points;
  const kissfft<Scalar> forward(n, false);
  std::vector<ComplexScalar> product(n, Scalar(1));
  std::vector<ComplexScalar> in(n);
  std::vector<ComplexScalar> out(n);
  // Every output is a sum of inputs, of absolute sum 1, each rounded in log2(n) stages.
  const double unit = 0.54 * static_cast<double>(std::numeric_limits<Scalar>::epsilon());
  const double fft_error = unit * (8 * std::log2(static_cast<double>(n)) + 16);
  TiltedLaw law;
  for (size_t part = 0; part < parts_.size(); ++part) {
    const Part& p = parts_[part];
    std::fill(in.begin(), in.end(), ComplexScalar(0));
    // Normalised by its own sum, which is e^k of this part.
    double highest = -kInfinity;
    for (size_t i = 0; i < p.lattice.mass.size(); ++i) {
      highest = std::max(highest, tilt.theta * p.lattice.LossAt(i) + log_mass_[part][i]);
    }
    Scalar sum = 0;
    for (size_t i = 0; i < p.lattice.mass.size(); ++i) {
      const Scalar weight =
          std::exp(tilt.theta * p.lattice.LossAt(i) + log_mass_[part][i] - highest);
      in[i % n] += weight;
      sum += weight;
    }
    for (ComplexScalar& value : in) {
      value /= sum;
    }
    forward.transform(in.data(), out.data());
    double mean_gain = 0;
    for (size_t i = 0; i < n; ++i) {
      double gain = 0;
      product[i] *= Power(out[i], p.rounds, gain);
      mean_gain += gain;
    }
    law.entry_error += fft_error * (p.rounds + 1) * mean_gain / static_cast<double>(n);
  }
  // A transform of its own: assign() of this library does not turn the radix-4 steps around.
  const kissfft<Scalar> backward(n, true);
  backward.transform(product.data(), out.data());
  law.mass.resize(n);
  for (size_t k = 0; k < n; ++k) {
    const Scalar mass = out[Wrapped(window.bottom + static_cast<double>(k), n)].real();
    law.mass[k] = std::max(0.0, static_cast<double>(mass / static_cast<Scalar>(n)));
  }
  return law;
}

std::optional<ComposedEpsilon> LossSum::Solve(const TiltedLaw& law, const Window& window,
                                              const Tilt& tilt, double target, double outside,
                                              Side side) const {
  // Weights are relative to e^{k - theta mean}:
  //   above = sum of w_j, fading = sum of w_j e^{-(s_j - s)} over the losses s_j > s.
  const double log_target = std::log(target) - (tilt.k - tilt.theta * tilt.mean);
  const double sign = side == Side::kAbove ? 1 : -1;
  const double decay = std::exp(-step());
  double above = 0;
  double fading = 0;
  double rounding = 0;
  for (size_t k = window.points; k-- > 0;) {
    const double s = origin_ + (window.bottom + static_cast<double>(k)) * step();
    const double scale = std::exp(-tilt.theta * (s - tilt.mean));
    fading *= decay;
    rounding += law.entry_error * scale;
    const double charged = rounding + outside * scale;
    const double at_s = above - fading + sign * charged;
    const double share = charged / std::exp(log_target);
    if (!std::isfinite(at_s)) return std::nullopt;  // beyond double's range: nothing is shown
    if (at_s > 0 && std::log(at_s) > log_target) {
      if (k + 1 >= window.points) {
        return std::nullopt;
      }
      // delta(s + u) = above - e^u fading + charges crosses the target for a u below one step.
      const double goal = std::exp(log_target) - sign * charged;
      double u = step();
      if (goal < above && fading > 0) {
        u = std::clamp(std::log((above - goal) / fading), 0.0, step());
      }
      return ComposedEpsilon{
          .epsilon = std::max(0.0, s + u), .points = window.points, .charged_share = share};
    }
    if (s <= 0) {
      return ComposedEpsilon{.epsilon = 0, .points = window.points, .charged_share = share};
    }
    above += law.mass[k] * scale;
    fading += law.mass[k] * scale;
  }
  return std::nullopt;
}

std::optional<ComposedEpsilon> LossSum::Epsilon(const Tilt& tilt, double delta, Side side,
                                                size_t most_points) const {
  double log_finite = 0;
  for (const Part& part : parts_) {
    log_finite += part.rounds * std::log1p(-std::min(1.0, part.lattice.infinite));
  }
  const double target = side == Side::kAbove ? delta + std::expm1(log_finite) : delta;
  if (!(target > 0)) {
    return ComposedEpsilon{.epsilon = kInfinity, .points = 0};
  }
  std::optional<ComposedEpsilon> best;
  for (const bool extended : {false, true}) {
    const double log_outside =
        LogTailWeight(tilt.theta, tilt.stddev) + (extended ? kLogOutsideExtended : kLogOutside);
    const double right = Reach(tilt, 1, log_outside);
    const double left = Reach(tilt, -1, log_outside);
    Window window{.bottom = std::floor((tilt.mean - left - origin_) / step()) - 4, .points = 16};
    while (static_cast<double>(window.points) < (left + right) / step() + 8) {
      window.points *= 2;
      if (window.points > (extended ? kMaxExtendedPoints : most_points)) {
        return best;
      }
    }
    const TiltedLaw law =
        extended ? Compose<long double>(tilt, window) : Compose<double>(tilt, window);
    const double outside = 2 * std::exp(log_outside);  // on both sides
    const auto solved = Solve(law, window, tilt, target, outside, side);
    const bool better =
        solved && (!best || (side == Side::kAbove ? solved->epsilon < best->epsilon
                                                  : solved->epsilon > best->epsilon));
    if (better) {
      best = solved;
    }
    if (best) best->extended = extended;
    if (solved && solved->charged_share < kNegligible) {
      break;
    }
  }
  return best;
}

}  // namespace tacet::accounting
