#include "tacet/accounting/adaptive_composition.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include <kissfft/kissfft.hh>

namespace tacet::accounting {
namespace {

using Complex = std::complex<double>;

// Relative error of a lattice's masses, of quadrature (fixed_size_loss.h) and rounding.
constexpr double kMassError = 1e-8;

// The least 2^a 3^b 5^c that is at least `size`: lengths that the transform is fast for.
size_t FastLength(size_t size) {
  for (size_t length = size;; ++length) {
    size_t rest = length;
    for (const size_t factor : {2, 3, 5}) {
      while (rest % factor == 0) rest /= factor;
    }
    if (rest == 1) return length;
  }
}

// a b without the treatment of infinities that std::complex has.
Complex Product(const Complex& a, const Complex& b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// V_t on a lattice, as weight_[j] e^{theta l + log_scale}, l = (bottom + j) step.
class Recursion {
 public:
  Recursion(const std::vector<LossLattice>& pairs, const CompositionWindow& window, Side side)
      : step_(pairs.front().step), theta_(window.theta), side_(side) {
    bottom_ = static_cast<int64_t>(std::floor(window.lowest / step_));
    size_ =
        static_cast<size_t>(static_cast<int64_t>(std::ceil(window.highest / step_)) - bottom_) + 1;
    low_ = std::numeric_limits<int64_t>::max();
    int64_t high = std::numeric_limits<int64_t>::min();
    for (const LossLattice& pair : pairs) {
      low_ = std::min(low_, FirstIndex(pair));
      high = std::max(high, FirstIndex(pair) + static_cast<int64_t>(pair.mass.size()) - 1);
    }
    reach_ = static_cast<size_t>(high - low_) + 1;
    length_ = FastLength(size_ + reach_);
    work_.forward.emplace(length_, false);
    // A transform of its own: assign() of this library does not turn the radix-4 steps around.
    work_.backward.emplace(length_, true);
    work_.in.resize(length_);
    work_.transformed.resize(length_);
    work_.product.resize(length_);
    work_.out.resize(length_);
    SetKernels(pairs);
    weight_.resize(size_);
    for (size_t j = 0; j < size_; ++j) {
      const double l = LossAt(j);
      weight_[j] = l > 0 ? -std::expm1(-l) * std::exp(-theta_ * l) : 0;
    }
    Rescale();
  }

  // False when V under the tilt is out of double's range: nothing can be said.
  bool Round() {
    double square = 0;
    for (size_t j = 0; j < size_ + reach_ - 1; ++j) {
      const double value = Extended(static_cast<int64_t>(j) + low_);
      work_.in[j] = value;
      square += value * value;
    }
    std::fill(work_.in.begin() + static_cast<int64_t>(size_ + reach_ - 1), work_.in.end(),
              Complex(0));
    if (!(square > 0 && std::isfinite(square))) return false;
    work_.forward->transform(work_.in.data(), work_.transformed.data());
    const double error = kernels_.rounding * std::sqrt(square);
    std::fill(weight_.begin(), weight_.end(), 0.0);
    for (const std::vector<Complex>& kernel : kernels_.transformed) {
      for (size_t i = 0; i < length_; ++i)
        work_.product[i] = Product(work_.transformed[i], kernel[i]);
      work_.backward->transform(work_.product.data(), work_.out.data());
      for (size_t j = 0; j < size_; ++j) {
        weight_[j] = std::max(weight_[j], std::max(work_.out[j].real(), work_.out[j].imag()));
      }
    }
    for (double& value : weight_) {
      value = std::max(0.0, side_ == Side::kAbove ? value + error : value - error);
    }
    log_scale_ += kernels_.log_total;
    Rescale();
    return true;
  }

  // log V at index j.
  double LogValue(size_t j) const { return std::log(weight_[j]) + theta_ * LossAt(j) + log_scale_; }
  double LossAt(size_t j) const {
    return static_cast<double>(bottom_ + static_cast<int64_t>(j)) * step_;
  }
  size_t size() const { return size_; }
  int64_t bottom() const { return bottom_; }

 private:
  int64_t FirstIndex(const LossLattice& pair) const {
    return static_cast<int64_t>(std::llround(pair.origin / step_));
  }

  // Tilted kernels, two to a complex transform, divided by the largest sum.
  void SetKernels(const std::vector<LossLattice>& pairs) {
    std::vector<std::vector<double>> tilted;
    double largest = 0;
    // Relative to the exponent that is largest, against overflow.
    double highest = -std::numeric_limits<double>::infinity();
    for (const LossLattice& pair : pairs) {
      for (size_t i = 0; i < pair.mass.size(); ++i) {
        if (pair.mass[i] > 0)
          highest = std::max(highest, theta_ * pair.LossAt(i) + std::log(pair.mass[i]));
      }
    }
    for (const LossLattice& pair : pairs) {
      std::vector<double> kernel(reach_, 0.0);
      double total = 0;
      for (size_t i = 0; i < pair.mass.size(); ++i) {
        if (pair.mass[i] <= 0) continue;
        const double value = std::exp(theta_ * pair.LossAt(i) + std::log(pair.mass[i]) - highest);
        kernel[static_cast<size_t>(FirstIndex(pair) - low_) + i] = value;
        total += value;
      }
      largest = std::max(largest, total);
      tilted.push_back(std::move(kernel));
    }
    kernels_.log_total = highest + std::log(largest);
    for (size_t k = 0; k < tilted.size(); k += 2) {
      std::vector<Complex> kernel(length_, Complex(0));
      for (size_t half = 0; half < 2 && k + half < tilted.size(); ++half) {
        std::fill(work_.in.begin(), work_.in.end(), Complex(0));
        for (size_t i = 0; i < reach_; ++i) work_.in[i] = tilted[k + half][i] / largest;
        work_.forward->transform(work_.in.data(), work_.out.data());
        const Complex unit = half == 0 ? Complex(1, 0) : Complex(0, 1);
        for (size_t i = 0; i < length_; ++i) {
          kernel[i] += unit * std::conj(work_.out[i]) / static_cast<double>(length_);
        }
      }
      kernels_.transformed.push_back(std::move(kernel));
    }
    // Each transform of length n rounds by less than this share of the norms (Higham 2002, theorem
    // 24.2); three of them and the product, two kernels together.
    kernels_.rounding = 6 * 1.2e-16 * (8 * std::log2(static_cast<double>(length_)) + 16);
  }

  // weight_ at a lattice index relative to bottom_, also beyond the window.
  double Extended(int64_t j) const {
    if (j < 0) {
      if (side_ == Side::kBelow) return 0;
      return weight_.front() * std::exp(-theta_ * static_cast<double>(j) * step_);
    }
    if (j < static_cast<int64_t>(size_)) return weight_[static_cast<size_t>(j)];
    const double l = static_cast<double>(bottom_ + j) * step_;
    if (side_ == Side::kAbove) {
      // g(r) = r V(log r) has slopes of at most 1: V(l) <= 1 - e^{top - l} (1 - V(top)).
      const double top = LossAt(size_ - 1);
      const double missing = std::max(0.0, 1 - std::exp(LogValue(size_ - 1)));
      return (1 - std::exp(top - l) * missing) * std::exp(-theta_ * l - log_scale_);
    }
    return weight_.back() * std::exp(-theta_ * (l - LossAt(size_ - 1)));
  }

  void Rescale() {
    const double largest = *std::max_element(weight_.begin(), weight_.end());
    if (!(largest > 0)) return;
    for (double& value : weight_) value /= largest;
    log_scale_ += std::log(largest);
  }

  double step_;
  double theta_;
  Side side_;
  int64_t bottom_ = 0;
  size_t size_ = 0;
  int64_t low_ = 0;  // lattice index of the lowest loss of a round
  size_t reach_ = 0;
  size_t length_ = 0;
  struct Kernels {
    std::vector<std::vector<Complex>> transformed;
    double log_total = 0;  // log of the sum that all are divided by
    double rounding = 0;   // of a round, relative to the norm
  };
  Kernels kernels_;
  std::vector<double> weight_;
  double log_scale_ = 0;
  // Transforms of `length_` values, and what they work on.
  struct Work {
    std::optional<kissfft<double>> forward;
    std::optional<kissfft<double>> backward;
    std::vector<Complex> in;
    std::vector<Complex> transformed;
    std::vector<Complex> product;
    std::vector<Complex> out;
  };
  Work work_;
};

// Knot of a profile that is piecewise linear in a = e^loss.
struct Knot {
  double loss = 0;
  double a = 0;
  double height = 0;
};

// Whether `middle` is on or above the line from `left` to `right`.
bool IsAbove(const Knot& left, const Knot& middle, const Knot& right) {
  return (middle.height - left.height) * (right.a - left.a) >=
         (right.height - left.height) * (middle.a - left.a);
}

// The pair whose profile is the convex hull of (0, 1) and `knots`, by rising a. Slopes change at
// a knot by its Q-mass. The last knot's height is the P-mass of infinite losses.
LossLattice PairOf(const std::vector<Knot>& knots, double step) {
  std::vector<Knot> hull = {{.a = 0, .height = 1}};
  for (const Knot& knot : knots) {
    while (hull.size() > 1 && IsAbove(hull[hull.size() - 2], hull.back(), knot)) hull.pop_back();
    hull.push_back(knot);
  }
  LossLattice pair{.step = step,
                   .origin = knots.front().loss,
                   .mass = std::vector<double>(knots.size(), 0.0),
                   .infinite = knots.back().height};
  for (size_t i = 1; i < hull.size(); ++i) {
    const Knot& here = hull[i];
    const double before = (here.height - hull[i - 1].height) / (here.a - hull[i - 1].a);
    const double after =
        i + 1 < hull.size() ? (hull[i + 1].height - here.height) / (hull[i + 1].a - here.a) : 0;
    const auto place = static_cast<size_t>(std::llround((here.loss - pair.origin) / step));
    pair.mass[place] = std::max(0.0, here.a * (after - before));
  }
  return pair;
}

}  // namespace

std::optional<LossLattice> DominatingBlock(const std::vector<LossLattice>& pairs, uint64_t rounds,
                                           const CompositionWindow& window, size_t stride) {
  Recursion recursion(pairs, window, Side::kAbove);
  double infinite = 0;
  for (const LossLattice& pair : pairs) infinite = std::max(infinite, pair.infinite);
  for (uint64_t t = 0; t < rounds; ++t) {
    if (!recursion.Round()) return std::nullopt;
  }
  const auto count = static_cast<double>(rounds);
  const double added = -std::expm1(count * std::log1p(-std::min(infinite, 1.0)));
  std::vector<Knot> knots;
  for (size_t k = recursion.size() / stride; k-- > 0;) {
    const double l = recursion.LossAt(k * stride);
    const double height = std::exp(recursion.LogValue(k * stride) + kMassError * count) + added;
    if (!std::isfinite(height)) return std::nullopt;
    knots.push_back({.loss = -l, .a = std::exp(-l), .height = std::min(1.0, height)});
  }
  if (knots.size() < 2) return std::nullopt;
  return PairOf(knots, pairs.front().step * static_cast<double>(stride));
}

std::optional<double> AdaptiveEpsilon(const std::vector<LossLattice>& pairs, uint64_t rounds,
                                      double delta, const CompositionWindow& window, Side side) {
  Recursion recursion(pairs, window, side);
  for (uint64_t t = 0; t < rounds; ++t) {
    if (!recursion.Round()) return std::nullopt;
  }
  // Losses that are infinite are charged to delta, whatever else was lost.
  double infinite = 0;
  for (const LossLattice& pair : pairs) infinite = std::max(infinite, pair.infinite);
  if (side == Side::kAbove) {
    delta += std::expm1(static_cast<double>(rounds) * std::log1p(-std::min(infinite, 1.0)));
  }
  if (!(delta > 0)) return std::nullopt;
  // Goes from the largest epsilon down to the first whose delta is too large. Values are relative
  // to the target, differences of epsilon relative to the lattice: e^epsilon itself may overflow.
  const double charge = kMassError * static_cast<double>(rounds);
  const double log_delta = std::log(delta) + (side == Side::kAbove ? -charge : charge);
  const auto log_share = [&](size_t j) { return recursion.LogValue(j) - log_delta; };
  size_t j = 0;
  if (!(log_share(0) <= 0)) return std::nullopt;
  while (log_share(j) <= 0 && recursion.LossAt(j) < 0) ++j;
  if (log_share(j) <= 0) return 0.0;
  if (!(log_share(j) > 0)) return std::nullopt;  // rounding has left nothing
  // delta is convex in e^epsilon: below its chords, above their continuation.
  const double larger = -recursion.LossAt(j - 1);  // epsilon whose delta is small enough
  const double shrink = std::exp(recursion.LossAt(j - 1) - recursion.LossAt(j));  // e^-step
  const double share = std::exp(log_share(j));
  double fall = 0;  // from e^larger to e^epsilon, relative to the former
  if (side == Side::kAbove) {
    fall = (1 - shrink) * (1 - std::exp(log_share(j - 1))) / (share - std::exp(log_share(j - 1)));
  } else {
    if (j + 1 >= recursion.size()) return std::max(0.0, -recursion.LossAt(j));
    const double further = std::exp(log_share(j + 1));
    const double rise = further > share ? (share - 1) / (further - share) : 0;
    fall = 1 - shrink * (1 + rise * (1 - shrink));
  }
  const double epsilon = larger + std::log1p(-std::clamp(fall, 0.0, 1 - shrink));
  if (!std::isfinite(epsilon)) return std::nullopt;
  return std::max(0.0, epsilon);
}

}  // namespace tacet::accounting
