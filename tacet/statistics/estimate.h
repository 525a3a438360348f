// Estimates with their errors, as answers hold them.
#ifndef TACET_STATISTICS_ESTIMATE_H_
#define TACET_STATISTICS_ESTIMATE_H_

#include <optional>
#include <string>
#include <vector>

#include "tacet/statistics/query.h"

namespace tacet::statistics {

// For an interval, or for the values that a quantity can have. `high` may be infinite.
struct Range {
  double low = 0;
  double high = 0;
};

// One number of an answer. Without `value` it is suppressed: a count that it follows from is below
// the floor, or the noise leaves it undefined.
struct Estimate {
  std::string quantity;    // "count", "mean", "survival", ...
  std::string group = {};  // subgroup or column; empty: all
  std::string at = {};     // cell, quantile or edge; empty: one number
  std::optional<double> value = {};
  // Standard deviation that the release's noise alone gives it, and with sampling: of the rows as a
  // sample from a population. For counts and sums, which are about these rows, the same. An error
  // that nobody can state is absent.
  std::optional<double> noise_error = {};
  std::optional<double> standard_error = {};
  std::optional<Range> interval = {};  // of the query's confidence; absent: none holds
  // For rows that are left out: they are more than kManyLeftOut of all that were asked for, and
  // more than the noise explains.
  bool too_many = false;
};

inline constexpr double kManyLeftOut = 0.05;

// A line of a table in print.
struct TableRow {
  std::string name;                     // "n", "age, mean (sd)", "sex = F, n (%)"
  std::vector<std::string> cells = {};  // one for each group
  std::string noise = {};  // error of the noise in the first number, the largest of the groups'
};

struct PrintedTable {
  std::string by = {};  // column of the groups; empty: none
  std::vector<std::string> groups = {};
  std::vector<TableRow> rows = {};
};

struct Answer {
  std::string question;
  QuestionKind kind = QuestionKind::kCount;
  std::vector<Estimate> estimates = {};
  std::vector<std::string> methods = {};  // estimators and post-processing, by name
  std::vector<double> edges = {};         // of the question's one list of ordered cells
  // The covariances of the estimates `intercept` and `coefficient`, row by row: of noise and
  // sampling, with the squares of their standard errors on the diagonal. Empty where a question has
  // no coefficients with errors, or they are suppressed.
  std::vector<double> covariance = {};
  std::optional<PrintedTable> table = {};  // of kind table1
};

// value +- z standard_error, cut to `range`; z for the confidence. Not a number: suppressed.
Estimate MakeEstimate(const Estimate& labels, double value, double noise_error,
                      double standard_error, double confidence,
                      std::optional<Range> range = std::nullopt);

// The same with an interval of its own, for estimates that are far from normal. The ends of `range`
// may be infinite; the interval is widened to hold the value.
Estimate MakeEstimate(const Estimate& labels, double value, double noise_error,
                      double standard_error, Range interval, Range range);

// A count, with the error that the noise gives it.
struct NoisedCount {
  double value = 0;
  double noise_error = 0;
};

// Share of `yes` in `yes` and `no`, unbiased counts with noise of their own, and its interval as
// Wilson's with noise (Fieller): all shares s with
//   ((1 - s) y - s n)^2 <= z^2 ((1 - s)^2 e_y^2 + s^2 e_n^2 + (y + n) s (1 - s)).
// A ratio's error is far from normal where its counts are small. Without rows: suppressed.
Estimate ShareEstimate(const Estimate& labels, NoisedCount yes, NoisedCount no, double deviate);

// c of an interval [low - c e, high + c e] that holds, with the given confidence, a number anywhere
// between two others, `apart` errors e from each other, of which low and high are estimates: z at
// 0, and the deviate of one side where they are far apart (Imbens and Manski 2004).
double CriticalValue(double apart, double confidence);

// That interval, for counts in cells that leave a number open between `bounds`. An upper bound may
// be infinite: the interval then has one side.
Range IntervalOfBounds(Range bounds, double low_error, double high_error, double confidence);

// z with P(|N(0, 1)| <= z) = confidence, to 1e-12; confidence in (0, 1).
double NormalDeviate(double confidence);

// P(X > x) for X chi-squared with `freedom` >= 1 degrees.
double ChiSquaredTail(double x, size_t freedom);

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_ESTIMATE_H_
