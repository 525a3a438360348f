#include "tacet/accounting/absent_clients_for_test.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <numbers>
#include <utility>
#include <vector>

namespace tacet::accounting {
namespace {

using Value = std::complex<double>;

constexpr double kConvolutionError = 1e-13;
constexpr size_t kMostPoints = size_t{1} << 20;

double UpperTail(double x) { return 0.5 * std::erfc(x / std::numbers::sqrt2); }

// Mass of N(mean, 1) on an interval, from the nearer tail.
double IntervalMass(double mean, double from, double to) {
  const double a = from - mean, b = to - mean;
  return a > 0 ? UpperTail(a) - UpperTail(b) : UpperTail(-b) - UpperTail(-a);
}

double LogChoose(double n, double k) {
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
}

// Probability that k of those here are drawn.
double DrawnProbability(const AbsentClients& s, double k) {
  if (s.coins) {
    const double q = s.cohort / s.clients;
    if (q >= 1) return k == s.here ? 1 : 0;
    return std::exp(LogChoose(s.here, k) + k * std::log(q) + (s.here - k) * std::log1p(-q));
  }
  const double absent = s.clients - s.here;
  if (s.cohort - k > absent || k > s.cohort) return 0;
  return std::exp(LogChoose(s.here, k) + LogChoose(absent, s.cohort - k) -
                  LogChoose(s.clients, s.cohort));
}

// One number drawn: the unit at u with probability `rate`, else another client at w; in the other
// world the unit is at 0.
struct Form {
  double probability = 0;
  double rate = 0;
  double u = 0;
  double w = 0;

  // Masses of an interval in the two worlds.
  std::pair<double, double> Masses(double from, double to) const {
    const double rest = (1 - rate) * IntervalMass(w, from, to);
    return {rest + rate * IntervalMass(u, from, to), rest + rate * IntervalMass(0, from, to)};
  }
  double P(double above) const {
    return (1 - rate) * UpperTail(above - w) + rate * UpperTail(above - u);
  }
  double Q(double above) const {
    return (1 - rate) * UpperTail(above - w) + rate * UpperTail(above);
  }
  double LossAt(double x) const {
    const double to_unit = std::exp((u - w) * x - 0.5 * (u * u - w * w));
    const double to_zero = std::exp(-w * x + 0.5 * w * w);
    return std::log((1 - rate + rate * to_unit) / (1 - rate + rate * to_zero));
  }
};

std::vector<Form> FormsOf(const AbsentClients& s) {
  std::vector<Form> forms;
  for (double k = std::max(1.0, s.least); k <= s.here; ++k) {
    const double probability = DrawnProbability(s, k);
    if (probability < 1e-16) continue;
    const double length = 1 / (s.share_noise * std::sqrt(k));
    // For a unit that is replaced by what the others send, w = 0 after a shift.
    forms.push_back({probability, k / s.here, s.replace_one ? 2 * length : length,
                     s.replace_one ? 0 : -length});
  }
  return forms;
}

// The x beyond which P > e^epsilon Q, for losses that rise with x.
double Threshold(const Form& form, double epsilon) {
  double low = std::min(0.0, form.w) - 40;
  double high = form.u + 40;
  for (int turn = 0; turn < 100; ++turn) {
    const double middle = 0.5 * (low + high);
    (form.LossAt(middle) > epsilon ? high : low) = middle;
  }
  return high;
}

double OneRound(const AbsentClients& s, double epsilon) {
  double delta = 0;
  for (const Form& form : FormsOf(s)) {
    const double x = Threshold(form, epsilon);
    delta += form.probability * std::max(0.0, form.P(x) - std::exp(epsilon) * form.Q(x));
  }
  return delta * (1 - 1e-9);
}

// In place; `sign` -1 forward, 1 backward without the division by the length, a power of 2.
void Transform(std::vector<Value>& values, double sign) {
  const size_t n = values.size();
  for (size_t i = 1, j = 0; i < n; ++i) {
    size_t bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(values[i], values[j]);
  }
  std::vector<Value> roots(n / 2);
  for (size_t i = 0; i < n / 2; ++i) {
    const double angle =
        sign * 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(n);
    roots[i] = {std::cos(angle), std::sin(angle)};
  }
  for (size_t length = 2; length <= n; length *= 2) {
    const size_t half = length / 2, stride = n / length;
    for (size_t start = 0; start < n; start += length) {
      for (size_t i = 0; i < half; ++i) {
        const Value a = values[start + i], b = values[start + i + half];
        const Value& r = roots[i * stride];
        const Value turned{b.real() * r.real() - b.imag() * r.imag(),
                           b.real() * r.imag() + b.imag() * r.real()};
        values[start + i] = a + turned;
        values[start + i + half] = a - turned;
      }
    }
  }
}

// The law of the sum of all rounds' losses under P, at (first + i) step.
struct LossLaw {
  double step = 0;
  double first = 0;
  std::vector<double> mass;
};

LossLaw SumOfRounds(const AbsentClients& s, double epsilon) {
  const auto rounds = static_cast<double>(s.rounds);
  const double step = std::max(1e-3 * std::max(epsilon, 0.2) / rounds, 1e-6);
  constexpr double kMostLoss = 40;
  const auto reach = static_cast<int64_t>(kMostLoss / step);
  // Masses by the lattice point below their cell's loss.
  std::vector<double> mass(static_cast<size_t>(2 * reach + 1), 0.0);
  double nothing = 1;
  for (const Form& form : FormsOf(s)) {
    nothing -= form.probability;
    const double low = std::min(0.0, form.w) - 9, high = form.u + 9;
    const double count = std::clamp((high - low) * (form.u - form.w) / step, 300.0, 3000.0);
    double x = low;
    for (double i = 1; i <= count; ++i) {
      const double next = low + (high - low) * i / count;
      const auto [p, q] = form.Masses(x, next);
      x = next;
      if (p < 1e-17 || q < 1e-300) continue;
      const double at = std::floor(std::log(p / q) / step);
      if (at < static_cast<double>(-reach)) continue;
      mass[static_cast<size_t>(std::min(static_cast<int64_t>(at), reach) + reach)] +=
          form.probability * p;
    }
  }
  mass[static_cast<size_t>(reach)] += std::max(0.0, nothing);
  double mean = 0, square = 0;
  for (size_t i = 0; i < mass.size(); ++i) {
    const double l = static_cast<double>(i) - static_cast<double>(reach);
    mean += mass[i] * l;
    square += mass[i] * l * l;
  }
  const double deviation = std::sqrt(std::max(0.0, square - mean * mean));
  // Far enough to both sides: the largest single losses, and twelve deviations of the sum.
  int64_t top = reach;
  double above = 0;
  while (top > 0 && (above += mass[static_cast<size_t>(top + reach)]) < 1e-17) --top;
  const double width = 24 * deviation * std::sqrt(rounds) + 4 * static_cast<double>(top);
  size_t points = 1024;
  while (static_cast<double>(points) < width && points < kMostPoints) points *= 2;
  const auto centre = static_cast<int64_t>(std::llround(mean * rounds));
  std::vector<Value> values(points);
  for (size_t i = 0; i < mass.size(); ++i) {
    const int64_t l = static_cast<int64_t>(i) - reach;
    const auto n = static_cast<int64_t>(points);
    values[static_cast<size_t>((l % n + n) % n)] += mass[i];
  }
  Transform(values, -1);
  for (Value& value : values) {
    Value power = 1, base = value;
    for (uint64_t n = s.rounds; n > 0; n /= 2) {
      if (n & 1) power *= base;
      base *= base;
    }
    value = power;
  }
  Transform(values, 1);
  LossLaw law{.step = step,
              .first = static_cast<double>(centre - static_cast<int64_t>(points / 2)),
              .mass = std::vector<double>(points)};
  for (size_t i = 0; i < points; ++i) {
    const int64_t l = static_cast<int64_t>(law.first) + static_cast<int64_t>(i);
    const auto n = static_cast<int64_t>(points);
    law.mass[i] = std::max(
        0.0, values[static_cast<size_t>((l % n + n) % n)].real() / static_cast<double>(points));
  }
  return law;
}

double DeltaOf(const LossLaw& law, double epsilon) {
  double delta = 0;
  for (size_t i = 0; i < law.mass.size(); ++i) {
    const double loss = (law.first + static_cast<double>(i)) * law.step;
    if (loss > epsilon) delta += law.mass[i] * -std::expm1(epsilon - loss);
  }
  // Roundings of the transform, and sums that wrap around it.
  return std::max(0.0, delta * (1 - 1e-9) - 100 * kConvolutionError);
}

}  // namespace

double AbsentDelta(const AbsentClients& setting, double epsilon) {
  if (setting.rounds == 1) return OneRound(setting, epsilon);
  return DeltaOf(SumOfRounds(setting, epsilon), epsilon);
}

double AbsentEpsilon(const AbsentClients& setting, double delta) {
  const auto largest = [&](const auto& delta_at) {
    if (delta_at(0.0) <= delta) return 0.0;
    double low = 0, high = 40;
    while (high - low > 1e-6) {
      const double middle = 0.5 * (low + high);
      (delta_at(middle) > delta ? low : high) = middle;
    }
    return low;
  };
  if (setting.rounds == 1) return largest([&](double e) { return OneRound(setting, e); });
  const LossLaw coarse = SumOfRounds(setting, 3);
  const double near = largest([&](double e) { return DeltaOf(coarse, e); });
  const LossLaw law = SumOfRounds(setting, near);
  return largest([&](double e) { return DeltaOf(law, e); });
}

}  // namespace tacet::accounting
