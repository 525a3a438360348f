#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"

#include "tacet/statistics/answer_parts.h"
#include "tacet/statistics/cholesky.h"
#include "tacet/statistics/robust_variance.h"

namespace tacet::statistics {
namespace {

using Vector = std::vector<double>;

constexpr double kNoEnd = std::numeric_limits<double>::infinity();
// The least variance of the design in any direction, in deviations of its noise. Below, the
// coefficients are suppressed.
constexpr double kClearVariance = 2.5;
// The number of rows is shown clear of 0 by as many deviations.
constexpr double kClearCount = 4;

// ReleasedMoments of the release: sums over rows of products of the constant 1 (place 0), the
// design columns and the response (the last place). Each has noise of its own.
class ReleasedMoments {
 public:
  explicit ReleasedMoments(const Measurements& measured) : measured_(measured) {}

  size_t response() const { return measured_.plan.moments->values(); }
  // For the intercept and the design columns.
  size_t coefficients() const { return response(); }
  double rows() const { return Sum(0, 0); }
  double Sum(size_t i, size_t j) const { return AtPlace(SymmetricMoments::PlaceOf({0, 0, i, j})); }
  double Error(size_t i, size_t j) const {
    return ErrorAtPlace(SymmetricMoments::PlaceOf({0, 0, i, j}));
  }
  // 0 where it is not measured.
  double AtPlace(size_t place) const {
    const double scale = measured_.plan.scales[place];
    return scale > 0 ? measured_.values[place] / scale : 0;
  }
  double ErrorAtPlace(size_t place) const {
    return measured_.noise.stddev / measured_.plan.scales[place];
  }
  // Infinite where it is not measured.
  double UncertaintyAtPlace(size_t place) const {
    return measured_.plan.scales[place] > 0 ? ErrorAtPlace(place) : kNoEnd;
  }
  size_t places() const { return measured_.values.size(); }
  // Deviation of the noise of a column's variance.
  double VarianceNoise() const {
    return measured_.noise.stddev / measured_.plan.amplitude / rows();
  }
  double Covariance(size_t i, size_t j) const {
    const double n = rows();
    return Sum(i, j) / n - Sum(0, i) / n * (Sum(0, j) / n);
  }

 private:
  const Measurements& measured_;
};

// Least eigenvalue of the design's covariance; 0 where it is none above 0.
double LeastVariance(const ReleasedMoments& moments) {
  const size_t columns = moments.coefficients() - 1;
  Vector covariance(columns * columns);
  for (size_t i = 0; i < columns; ++i) {
    for (size_t j = 0; j < columns; ++j) {
      covariance[i * columns + j] = moments.Covariance(i + 1, j + 1);
    }
  }
  return std::max(LeastEigenvalue(covariance, columns), 0.0);
}

// Least squares of the response on the design, from the moments.
class LeastSquares {
 public:
  // Absent where the moments are none of a design.
  static std::optional<LeastSquares> Of(const ReleasedMoments& moments) {
    const size_t size = moments.coefficients();
    Vector matrix(size * size), right(size);
    for (size_t i = 0; i < size; ++i) {
      right[i] = moments.Sum(i, moments.response());
      for (size_t j = 0; j < size; ++j) matrix[i * size + j] = moments.Sum(i, j);
    }
    std::optional<Cholesky> factor = Cholesky::Of(matrix, size);
    if (!factor.has_value()) return std::nullopt;
    LeastSquares fit(moments, *std::move(factor));
    fit.residual_ = fit.factor_.Solve(right);
    fit.residual_.push_back(-1);
    return fit;
  }

  // For the design columns, the intercept first.
  Vector coefficients() const { return {residual_.begin(), residual_.end() - 1}; }
  // A^-1 x, A the sums of products of the design.
  Vector Solve(const Vector& x) const { return factor_.Solve(x); }

  struct Sum {
    double value = 0;
    double error = 0;  // of the noise
  };
  // Sum of squared residuals. It is least at the fit, so the fit's own error does not count.
  Sum Deviance() const {
    Sum sum;
    double variance = 0;
    for (size_t i = 0; i < residual_.size(); ++i) {
      for (size_t j = 0; j <= i; ++j) {
        const double weight = (i == j ? 1 : 2) * residual_[i] * residual_[j];
        sum.value += weight * moments_.Sum(i, j);
        variance += std::pow(weight * moments_.Error(i, j), 2);
      }
    }
    sum.value = std::max(sum.value, 0.0);
    sum.error = std::sqrt(variance);
    return sum;
  }
  // Covariance that the noise gives two sums of the coefficients, by the delta method. `solved` and
  // `other` are A^-1 times their weights. The noise of the equations, sum_j M_ij r_j with r the
  // coefficients and -1: M_ij and M_ji are one value.
  double NoiseCovariance(const Vector& solved, const Vector& other) const {
    double covariance = 0;
    for (size_t i = 0; i < residual_.size(); ++i) {
      for (size_t j = 0; j <= i; ++j) {
        const auto weight = [&](const Vector& of) {
          return i == j ? At(of, i) * residual_[i]
                        : At(of, i) * residual_[j] + At(of, j) * residual_[i];
        };
        covariance += weight(solved) * weight(other) * std::pow(moments_.Error(i, j), 2);
      }
    }
    return covariance;
  }
  // The same of rows as a sample: sum of (solved . x) (other . x) e^2 over rows, e the residual,
  // which is linear in the fourth moments. Noise and rounding may hide it (RobustVariance).
  struct Sandwich {
    double value = 0;
    double unclear = 0;  // variance of the noise
  };
  Sandwich SamplingCovariance(const Vector& solved, const Vector& other) const {
    Vector weights(moments_.places());
    for (size_t a = 0; a < solved.size(); ++a) {
      for (size_t b = 0; b <= a; ++b) {
        const double of_design =
            a == b ? solved[a] * other[a] : solved[a] * other[b] + solved[b] * other[a];
        for (size_t c = 0; c < residual_.size(); ++c) {
          for (size_t d = 0; d <= c; ++d) {
            weights[SymmetricMoments::PlaceOf({a, b, c, d})] +=
                of_design * (c == d ? 1 : 2) * residual_[c] * residual_[d];
          }
        }
      }
    }
    Sandwich sum;
    for (size_t place = 0; place < weights.size(); ++place) {
      if (weights[place] == 0) continue;
      sum.value += weights[place] * moments_.AtPlace(place);
      sum.unclear += std::pow(weights[place] * moments_.UncertaintyAtPlace(place), 2);
    }
    return sum;
  }

 private:
  LeastSquares(const ReleasedMoments& moments, Cholesky factor)
      : moments_(moments), factor_(std::move(factor)) {}
  // The response has no equation.
  static double At(const Vector& solved, size_t i) { return i < solved.size() ? solved[i] : 0; }

  const ReleasedMoments& moments_;
  Cholesky factor_;
  Vector residual_;  // the coefficients, then -1
};

struct GlmCoefficient {
  double value = 0;
  double noise_error = 0;
  double standard_error = 0;
};

struct GlmCoefficients {
  std::vector<GlmCoefficient> all;
  Vector covariance = {};  // row by row
};

// In the units of the columns and the response, the intercept first. `clear` as LeastVariance, in
// deviations of its noise.
GlmCoefficients CoefficientsOf(const QuestionPlan& plan, const ReleasedMoments& moments,
                               const LeastSquares& fit, double clear) {
  const Design& design = *plan.design;
  const size_t size = moments.coefficients();
  const Vector to_columns = design.ToColumns();
  const Vector scaled = fit.coefficients();
  const double half = design.response().half();
  const double freedom = std::max(moments.rows() - static_cast<double>(size), 1.0);
  const double equal_variance = fit.Deviance().value / freedom;
  // The second order of the noise in the design: it grows as the noise nears the least variance.
  const double second_order = 1 + static_cast<double>(size) / (clear * clear);
  std::vector<Vector> directions, solved;
  for (size_t i = 0; i < size; ++i) {
    directions.emplace_back(to_columns.begin() + i * size, to_columns.begin() + (i + 1) * size);
    solved.push_back(fit.Solve(directions.back()));
  }
  Vector noise(size * size), equal(size * size), sandwich(size * size), variances;
  double kept = 1;
  for (size_t i = 0; i < size; ++i) {
    for (size_t j = 0; j < size; ++j) {
      const auto [value, unclear] = fit.SamplingCovariance(solved[i], solved[j]);
      const size_t place = i * size + j;
      noise[place] = fit.NoiseCovariance(solved[i], solved[j]) * second_order;
      equal[place] = equal_variance * std::inner_product(directions[i].begin(), directions[i].end(),
                                                         solved[j].begin(), 0.0);
      sandwich[place] = value;
      if (i != j) continue;
      variances.push_back(RobustVariance(value, unclear, equal[place]));
      kept = std::min(kept, KeptPart(unclear, equal[place]));
    }
  }
  GlmCoefficients made;
  // Without residuals there is no sampling error.
  made.covariance = equal_variance > 0 ? RobustCovariance(variances, sandwich, kept, equal) : equal;
  for (size_t place = 0; place < size * size; ++place) {
    // Rows of one unit may be alike: then as many rows tell no more than one.
    made.covariance[place] =
        half * half * (noise[place] + plan.rows_per_unit * made.covariance[place]);
  }
  for (size_t i = 0; i < size; ++i) {
    const double value =
        std::inner_product(directions[i].begin(), directions[i].end(), scaled.begin(), 0.0);
    made.all.push_back({.value = half * value + (i == 0 ? design.response().middle() : 0),
                        .noise_error = half * std::sqrt(noise[i * size + i]),
                        .standard_error = std::sqrt(made.covariance[i * size + i])});
  }
  return made;
}

// Why the coefficients are suppressed, and what to do.
std::string Remedy(const Design& design, const ReleasedMoments& moments, double clear) {
  size_t least = 1;
  for (size_t i = 2; i < moments.coefficients(); ++i) {
    if (moments.Covariance(i, i) < moments.Covariance(least, least)) least = i;
  }
  return fmt::format(
      "coefficients suppressed: in some direction the columns vary by {:.2g} deviations of the "
      "noise, and {} are needed; ask with a larger epsilon or share, of more rows, with narrower "
      "bounds or log(), or with fewer columns (\"{}\" varies least within its bounds)",
      clear, kClearVariance, design.labels()[least - 1]);
}

}  // namespace

Answer AnswerGlm(const Measurements& measured) {
  const QuestionPlan& plan = measured.plan;
  if (plan.has_steps()) return AnswerLikelihood(measured);
  const Design& design = *plan.design;
  const ReleasedMoments moments(measured);
  const double n = moments.rows();
  const double n_error = moments.Error(0, 0);
  const bool enough = n > 0 && n >= measured.floor;
  const bool has_rows = enough && n > std::max(kClearCount * n_error,
                                               2.0 * static_cast<double>(plan.moments->values()));
  const double clear = !has_rows ? 0
                       : measured.noise.stddev > 0
                           ? LeastVariance(moments) / moments.VarianceNoise()
                           : kNoEnd;
  const std::optional<LeastSquares> fit =
      has_rows && clear >= kClearVariance ? LeastSquares::Of(moments) : std::nullopt;
  Answer answer;
  answer.methods = {
      fmt::format("gaussian family: least squares of {}, from noised moments; values cut to their "
                  "bounds; rows without a missing value",
                  plan.spec.formula),
      "errors by the delta method, widened by its second order; sampling errors allow for "
      "residuals "
      "of unequal variance (sandwich), as far as the noise shows them" +
          AlikeRows(plan)};
  const auto add = [&](std::string quantity, std::string group, double value, double noise,
                       double error, std::optional<Range> range, bool shown) {
    const Estimate labels{.quantity = std::move(quantity), .group = std::move(group)};
    answer.estimates.push_back(
        shown ? MakeEstimate(labels, value, noise, error, measured.confidence, range) : labels);
  };
  add("count", "", n, n_error, n_error, Range{0, kNoEnd}, enough);
  GlmCoefficients found{.all = std::vector<GlmCoefficient>(moments.coefficients())};
  if (fit.has_value()) found = CoefficientsOf(plan, moments, *fit, clear);
  const std::vector<GlmCoefficient>& coefficients = found.all;
  answer.covariance = std::move(found.covariance);
  for (size_t i = 0; i < coefficients.size(); ++i) {
    const auto [value, noise, error] = coefficients[i];
    add(i == 0 ? "intercept" : "coefficient", i == 0 ? "" : design.labels()[i - 1], value, noise,
        error, std::nullopt, fit.has_value());
  }
  const double square = std::pow(design.response().half(), 2);
  const LeastSquares::Sum deviance = fit.has_value() ? fit->Deviance() : LeastSquares::Sum{};
  add("deviance", "", square * deviance.value, square * deviance.error, square * deviance.error,
      Range{0, kNoEnd}, fit.has_value());
  // For the intercept alone: sum of squares about the mean.
  const size_t y = moments.response();
  const double mean = has_rows ? moments.Sum(0, y) / n : 0;
  const double null_error =
      std::hypot(moments.Error(y, y), 2 * mean * moments.Error(0, y), mean * mean * n_error);
  add("null deviance", "", square * std::max(moments.Sum(y, y) - mean * mean * n, 0.0),
      square * null_error, square * null_error, Range{0, kNoEnd}, has_rows);
  if (enough && !fit.has_value()) answer.methods.push_back(Remedy(design, moments, clear));
  return answer;
}

}  // namespace tacet::statistics
