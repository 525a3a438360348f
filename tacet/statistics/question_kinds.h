// Table of the kinds of questions: how each one is written, measured and answered.
#ifndef TACET_STATISTICS_QUESTION_KINDS_H_
#define TACET_STATISTICS_QUESTION_KINDS_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/statistics/prefix_strategy.h"

namespace tacet::statistics {

struct Answer;
struct Measurements;
struct QuestionPlan;

enum class QuestionKind {
  kCount,       // rows
  kSum,         // of a bounded column
  kMean,        // of a bounded column; also count and sum
  kVariance,    // mean, variance and standard deviation
  kNormalise,   // mean and standard deviation of several bounded columns
  kHistogram,   // rows in each cell of a column
  kCrosstab,    // rows in each pair of cells of two columns
  kQuantiles,   // of a column
  kSurvival,    // Kaplan-Meier, Nelson-Aalen; log-rank between groups
  kEvaluation,  // of scores against labels: accuracy, confusion, ROC, AUC, calibration, ...
  kRegression,  // linear discriminant of a label on several bounded columns
  kProportion,  // of rows with a value, among those with any
  kMedian,      // of a column
  kTable1,      // of a query's text: a table of several questions (table1.h)
  kGlm,         // generalised linear model of a formula
  kCox,         // proportional hazards of a formula
};

enum class PartForm {
  kCells,       // a histogram, a segment for each group and for yes and no
  kMoments,     // of each column on its own
  kRegression,  // moments of the label and all columns together
  kGlm,         // a model: moments up to the fourth of a design and its response, or its steps
};

// A row of the table. A question's keys in a file follow from it: docs/formats/query.md. An empty
// name of a key: the kind has no such key.
struct KindRow {
  QuestionKind kind;
  std::string_view name;
  Answer (*answer)(const Measurements& measured);  // null: its questions are answered

  PartForm form = PartForm::kCells;
  Measured measured = Measured::kCells;  // of cells
  size_t moments = 0;                    // values of each column
  // Whether a row is in one cell at most: what discrete Laplace noise is for.
  bool is_one_hot = false;
  // Whether its numbers are suppressed where their count is below the floor. A sum states no count.
  bool keeps_floor = true;
  bool may_have_dates = false;      // as edges
  bool has_cell_beyond = false;     // a last cell, of rows beyond the last interval
  size_t most_columns = 0;          // with bounds: `column`, `low` and `high`, or `columns`
  std::string_view cells = {};      // column of cells, whose keys are next to it or, with `across`,
  std::string_view across = {};     //   in tables
  bool needs_order = false;         // cells are intervals
  bool is_share = false;            // cells are of numbers in [0, 1], where `low` and `high` begin
  std::string_view yes = {};        // column of the field that says yes or no
  std::string_view yes_value = {};  // its value for yes
  bool takes_variables = false;     // `columns` with and without bounds
  bool takes_groups = false;        // `group` and `groups`
  bool takes_quantiles = false;
  bool takes_threshold = false;
  bool takes_formula = false;
  bool takes_family = false;   // and `exposure`
  bool takes_hazards = false;  // `strata`, `profiles`, `check`
  bool takes_risks = false;    // `formula`, `columns`, `coefficients` in place of scores
  // The demands of this kind alone.
  absl::Status (*check)(const QuestionPlan& plan) = nullptr;

  // Whether a field of a row can leave the row out, besides those of conditions.
  bool reads_fields() const { return form != PartForm::kCells || !cells.empty() || !yes.empty(); }
};

const KindRow& RowOf(QuestionKind kind);
// The names in `question.kind`: count, sum, mean, ...
std::string_view QuestionKindName(QuestionKind kind);
// InvalidArgument lists the names.
absl::StatusOr<QuestionKind> ParseQuestionKind(std::string_view name);
// "count, histogram, ...": those that discrete Laplace noise is for.
std::string OneHotKindNames();

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_QUESTION_KINDS_H_
