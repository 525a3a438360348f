// Newton steps of a logistic model on noised gradients and informations.
#ifndef TACET_STATISTICS_LOGISTIC_STEPS_H_
#define TACET_STATISTICS_LOGISTIC_STEPS_H_

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "tacet/statistics/cholesky.h"
#include "tacet/statistics/query.h"

namespace tacet::statistics {

// Coefficients of the design columns of each question, the intercept first; empty where a question
// has no steps. An empty list: zeros everywhere.
using ModelCoefficients = std::vector<std::vector<double>>;

// Adds what a row gives at these coefficients (empty: zeros), times `weight`. `x` is 1 and the
// design, `y` in [0, 1] the outcome. `part` begins with the question's.
void AddLogisticRow(const QuestionPlan& plan, std::span<const double> x, double y,
                    std::span<const double> coefficients, double weight, std::span<double> part);

// One release of a logistic model.
class LogisticRelease {
 public:
  // `values` are the question's, without those of rows that are left out.
  LogisticRelease(const QuestionPlan& plan, std::span<const double> values)
      : plan_(plan), values_(values) {}

  size_t size() const { return plan_.design->columns() + 1; }
  double rows() const { return values_[0] / plan_.count; }
  double Gradient(size_t i) const { return values_[1 + i] / plan_.amplitude; }
  // Row by row.
  std::vector<double> Information() const;

 private:
  const QuestionPlan& plan_;
  std::span<const double> values_;
};

// Outcome of the releases of a logistic model so far.
struct LogisticSteps {
  std::vector<double> coefficients;  // after the last step
  std::vector<double> step;          // the last one
  // Of all coefficients, as many rows as the last release has: the mean over the releases but the
  // first, whose coefficients are zeros. `pooled` is the factor of its noise. Empty before the
  // second.
  std::vector<double> information;
  double pooled = 1;
};

// Newton steps from zeros. A step is at most kLongestStep long in each coordinate, and its
// information is raised to kLeastInformation of the intercept's in each direction, as noise may
// leave less than nothing. In the last round of the question it is raised only where it has to be.
LogisticSteps StepsOf(const QuestionPlan& plan,
                      const std::vector<std::span<const double>>& releases);

inline constexpr double kLongestStep = 2;
inline constexpr double kLeastInformation = 0.02;

// Of a query whose model, the list of its releases, is `model`: how many there are, and the
// coefficients at which the next one is summed. A release of zeros is none yet.
struct QueryState {
  uint32_t released = 0;
  ModelCoefficients coefficients = {};
};
QueryState StateAfter(const Query& query, std::span<const float> model);

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_LOGISTIC_STEPS_H_
