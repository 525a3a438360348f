#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tacet/statistics/answer_parts.h"
#include "tacet/statistics/cholesky.h"

namespace tacet::statistics {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();
// A value that must be positive is refused below as many standard deviations of its noise.
constexpr double kClear = 4;
// Least share of the label's variance that the columns leave.
constexpr double kLeastResidual = 0.05;

using Vector = std::vector<double>;

double Dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// For the rows: n, the share p of the label, means of t, their covariances, row by row, and those
// of t with the label as 0 and 1.
struct RowMoments {
  double n = 0;
  double p = 0;
  Vector mean;
  Vector covariance;
  Vector with_label;

  RowMoments(const QuestionPlan& plan, std::span<const double> values) {
    const size_t d = plan.spec.columns.size();
    const std::span<const double> sums = values.subspan(2);
    n = values[0] / plan.count;
    const double balance = values[1] / plan.label / n;  // mean of y
    p = (1 + balance) / 2;
    for (size_t i = 0; i < d; ++i) mean.push_back(sums[i] / plan.amplitude / n);
    for (size_t i = 0; i < d; ++i) {
      with_label.push_back((sums[d + i] / plan.amplitude / n - balance * mean[i]) / 2);
    }
    covariance.resize(d * d);
    size_t place = 2 * d;
    for (size_t i = 0; i < d; ++i) {
      for (size_t j = i; j < d; ++j) {
        const double scale = (i == j ? plan.square : plan.cross) * n;
        covariance[i * d + j] = covariance[j * d + i] = sums[place++] / scale - mean[i] * mean[j];
      }
    }
  }
};

// Linear discriminant. Least squares of the label, as 0 and 1, on t has the slopes b and leaves the
// variance s; the discriminant's are b / s (Haggstrom 1983).
struct Fit {
  Vector b;
  double residual = 0;  // s
  Vector centre;        // midpoint of the two classes' means of t
  double offset = 0;    // log odds at the centre

  static std::optional<Fit> Of(const RowMoments& rows, const Cholesky& covariance) {
    const double both = rows.p * (1 - rows.p);
    if (!(both > 0)) return std::nullopt;
    Fit fit;
    fit.b = covariance.Solve(rows.with_label);
    fit.residual = both - Dot(fit.b, rows.with_label);
    if (!(fit.residual > 0)) return std::nullopt;
    for (size_t i = 0; i < rows.mean.size(); ++i) {
      fit.centre.push_back(rows.mean[i] + (0.5 - rows.p) * rows.with_label[i] / both);
    }
    fit.offset = std::log(rows.p / (1 - rows.p));
    return fit;
  }
  // Intercept at t = origin, then slopes of t.
  Vector Coefficients(const Vector& origin) const {
    Vector all = {offset};
    for (size_t i = 0; i < b.size(); ++i) {
      all.push_back(b[i] / residual);
      all[0] -= all.back() * (centre[i] - origin[i]);
    }
    return all;
  }
};

std::optional<Vector> CoefficientsOf(const QuestionPlan& plan, std::span<const double> values,
                                     const Vector& origin) {
  const RowMoments rows(plan, values);
  const auto covariance = Cholesky::Of(rows.covariance, rows.mean.size());
  if (!covariance.has_value()) return std::nullopt;
  const std::optional<Fit> fit = Fit::Of(rows, *covariance);
  if (!fit.has_value()) return std::nullopt;
  return fit->Coefficients(origin);
}

// Variances that the noise alone gives the coefficients, by their derivatives.
std::optional<Vector> NoiseVariances(const Measurements& measured, const Vector& origin) {
  Vector variances(measured.plan.spec.columns.size() + 1);
  Vector moved(measured.values.begin(), measured.values.end());
  const double step = measured.noise.stddev / 1000;
  if (!(step > 0)) return variances;
  for (size_t i = 0; i < moved.size(); ++i) {
    moved[i] = measured.values[i] + step;
    const auto above = CoefficientsOf(measured.plan, moved, origin);
    moved[i] = measured.values[i] - step;
    const auto below = CoefficientsOf(measured.plan, moved, origin);
    moved[i] = measured.values[i];
    if (!above.has_value() || !below.has_value()) return std::nullopt;
    for (size_t j = 0; j < variances.size(); ++j) {
      const double per_deviation = ((*above)[j] - (*below)[j]) / 2 * 1000;
      variances[j] += per_deviation * per_deviation;
    }
  }
  return variances;
}

struct Coefficient {
  double value = 0;
  double noise_error = 0;
};

// Intercept and slopes in the units of the columns; absent where the noise leaves them undefined.
std::optional<std::vector<Coefficient>> CoefficientsWithErrors(const Measurements& measured,
                                                               const RowMoments& rows) {
  const std::vector<BoundedColumn>& columns = measured.plan.spec.columns;
  // A variance in any direction has this noise.
  const double noise = measured.noise.stddev / measured.plan.square / rows.n;
  if (!Cholesky::Of(rows.covariance, columns.size(), kClear * noise).has_value()) {
    return std::nullopt;
  }
  const auto covariance = Cholesky::Of(rows.covariance, columns.size());
  const std::optional<Fit> fit = Fit::Of(rows, *covariance);
  if (!fit.has_value() || fit->residual < kLeastResidual * rows.p * (1 - rows.p)) {
    return std::nullopt;
  }
  Vector origin;  // t of 0 in the column's units
  for (const BoundedColumn& column : columns) {
    origin.push_back(-(column.low + column.high) / (column.high - column.low));
  }
  const std::optional<Vector> noise_variances = NoiseVariances(measured, origin);
  if (!noise_variances.has_value()) return std::nullopt;
  const Vector values = fit->Coefficients(origin);
  std::vector<Coefficient> coefficients;
  for (size_t i = 0; i < values.size(); ++i) {
    const double half = i == 0 ? 1 : (columns[i - 1].high - columns[i - 1].low) / 2;
    coefficients.push_back(
        {.value = values[i] / half, .noise_error = std::sqrt((*noise_variances)[i]) / half});
  }
  return coefficients;
}

}  // namespace

Answer AnswerRegression(const Measurements& measured) {
  const QuestionPlan& plan = measured.plan;
  const RowMoments rows(plan, measured.values);
  const double n_error = measured.noise.stddev / plan.count;
  const double label_error = std::hypot(n_error, measured.noise.stddev / plan.label) / 2;
  const double positives = rows.n * rows.p;
  const bool enough = rows.n > 0 && rows.n >= measured.floor;
  const double least = std::max(measured.floor, kClear * label_error);
  std::optional<std::vector<Coefficient>> coefficients;
  if (enough && positives > least && rows.n - positives > least) {
    coefficients = CoefficientsWithErrors(measured, rows);
  }
  Answer answer;
  answer.methods = {
      "rows without a missing value; values cut to their bounds",
      "linear discriminant of the label's two classes: least squares of the label on the columns, "
      "from their noised moments, divided by the variance that is left (Haggstrom 1983)",
      "error of the noise by the delta method; no interval, since none would hold the coefficients "
      "of a logistic curve"};
  const auto add_count = [&](std::string quantity, double value, double error, bool shown) {
    const Estimate labels{.quantity = std::move(quantity)};
    answer.estimates.push_back(
        shown ? MakeEstimate(labels, value, error, error, measured.confidence, Range{0, kUnbounded})
              : labels);
  };
  add_count("count", rows.n, n_error, enough);
  add_count("positives", positives, label_error, enough && positives >= measured.floor);
  for (size_t i = 0; i <= plan.spec.columns.size(); ++i) {
    Estimate slope{.quantity = i == 0 ? "intercept" : "coefficient",
                   .group = i == 0 ? "" : plan.spec.columns[i - 1].column};
    if (coefficients.has_value()) {
      slope.value = (*coefficients)[i].value;
      slope.noise_error = (*coefficients)[i].noise_error;
    }
    answer.estimates.push_back(std::move(slope));
  }
  return answer;
}

}  // namespace tacet::statistics
