#include "tacet/statistics/prefix_strategy.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tacet::statistics {
namespace {

double NormOf(std::span<const double> taps) {
  double square = 0;
  for (const double tap : taps) square += tap * tap;
  return std::sqrt(square);
}

std::vector<double> UnitTaps(Measured measured, size_t cells) {
  std::vector<double> taps = {1};
  if (measured == Measured::kCells) return taps;
  for (size_t l = 1; l < cells; ++l) {
    const auto twice = static_cast<double>(2 * l);
    taps.push_back(taps.back() * (twice - 1) / twice);
  }
  return taps;
}

double DeviationOf(std::span<const double> taps, size_t count) {
  return NormOf(taps.first(std::min(count, taps.size())));
}

}  // namespace

double UnitNorm(Measured measured, size_t cells) { return NormOf(UnitTaps(measured, cells)); }

PrefixStrategy::PrefixStrategy(Measured measured, size_t cells, double amplitude, double grid)
    : cells_(cells), taps_(UnitTaps(measured, cells)) {
  for (double& tap : taps_) tap = std::floor(tap * amplitude / grid) * grid;
  while (taps_.size() > 1 && taps_.back() == 0) taps_.pop_back();
  norm_ = NormOf(taps_) * (1 + 0x1p-40);
  // 1 / t as a power series: sum over k of t_k inverse_{l-k} is 1 for l = 0, else 0. A matrix with
  // one tap has an inverse with one.
  inverse_ = {1 / taps_[0]};
  if (taps_.size() > 1) {
    for (size_t l = 1; l < cells_; ++l) {
      double sum = 0;
      for (size_t k = 1; k <= std::min(l, taps_.size() - 1); ++k) sum += taps_[k] * inverse_[l - k];
      inverse_.push_back(-sum / taps_[0]);
    }
  }
  double running = 0;
  for (size_t l = 0; l < cells_; ++l) {
    running += l < inverse_.size() ? inverse_[l] : 0;
    suffix_.push_back(running);
  }
  double square = 0;
  for (const double tap : suffix_) {
    square += tap * tap;
    suffix_norms_.push_back(std::sqrt(square));
  }
}

void PrefixStrategy::AddMeasurements(std::span<const double> x, std::span<double> y) const {
  for (size_t j = 0; j < cells_; ++j) {
    if (x[j] == 0) continue;
    for (size_t l = 0; l < std::min(taps_.size(), j + 1); ++l) y[j - l] += taps_[l] * x[j];
  }
}

std::vector<double> PrefixStrategy::Apply(std::span<const double> taps, std::span<const double> y) {
  std::vector<double> result(y.size(), 0.0);
  // One tap after the other: the inner loop is a vector's, and each result is added up in the same
  // order as if it came first.
  for (size_t l = 0; l < std::min(taps.size(), y.size()); ++l) {
    const double tap = taps[l];
    for (size_t i = 0; i < y.size() - l; ++i) result[i] += tap * y[i + l];
  }
  return result;
}

std::vector<double> PrefixStrategy::Cells(std::span<const double> y) const {
  return Apply(inverse_, y);
}
std::vector<double> PrefixStrategy::Suffixes(std::span<const double> y) const {
  return Apply(suffix_, y);
}
double PrefixStrategy::Total(std::span<const double> y) const {
  return std::inner_product(y.begin(), y.end(), suffix_.begin(), 0.0);
}
double PrefixStrategy::CellDeviation(size_t cell) const {
  return DeviationOf(inverse_, cells_ - cell);
}
double PrefixStrategy::SuffixDeviation(size_t cell) const {
  return suffix_norms_[cells_ - cell - 1];
}
double PrefixStrategy::SuffixCovariance(size_t a, size_t b) const {
  const size_t first = std::min(a, b), last = std::max(a, b);
  double sum = 0;
  for (size_t l = 0; last + l < cells_; ++l) sum += suffix_[l] * suffix_[l + last - first];
  return sum;
}

}  // namespace tacet::statistics
