// A query: questions about tables, and the clipped vector with which a unit answers all of them.
#ifndef TACET_STATISTICS_QUERY_H_
#define TACET_STATISTICS_QUERY_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/accounting/privacy_event.h"
#include "tacet/dp/noise_law.h"
#include "tacet/statistics/column_cells.h"
#include "tacet/statistics/derived_column.h"
#include "tacet/statistics/design.h"
#include "tacet/statistics/prefix_strategy.h"
#include "tacet/statistics/question_kinds.h"
#include "tacet/statistics/row_condition.h"
#include "tacet/statistics/symmetric_moments.h"
#include "tacet/table/agreed_values.h"

namespace tacet::statistics {

// Values outside [low, high] count as the nearest bound.
struct BoundedColumn {
  std::string column;
  double low = 0;
  double high = 0;

  friend bool operator==(const BoundedColumn&, const BoundedColumn&) = default;
};

// A field equals this value (RowCondition, =).
struct FieldEquals {
  std::string column;
  std::string value;

  friend bool operator==(const FieldEquals&, const FieldEquals&) = default;
};

// A variable of a table 1 or a model: numbers with bounds, or agreed values.
struct TableVariable {
  std::string column;
  std::optional<BoundedColumn> bounds = {};

  friend bool operator==(const TableVariable&, const TableVariable&) = default;
};

// For a generalised linear model.
enum class GlmFamily {
  kGaussian,  // least squares, from one release
  kBinomial,  // logistic curve, by Newton steps on one release each
  kPoisson,   // rates, likewise
};

// One question, unchecked; fields that its kind does not use stay as they are here. A row is left
// out where no condition excludes it, and a field that decides about it or its place cannot be
// read: it is missing, no number, none of the agreed values, in no cell, or a time below 0.
struct QuestionSpec {
  std::string name;
  QuestionKind kind = QuestionKind::kCount;
  double share = 1;                         // of the query's privacy, relative to the others'
  std::vector<RowCondition> where = {};     // all must hold
  std::vector<std::string> sites = {};      // whose rows count, by name; empty: all
  std::vector<BoundedColumn> columns = {};  // sum, mean, variance: one; normalise, regression: more
  // Histogram: the column; crosstab: the rows; quantiles, median; survival, cox: intervals from 0;
  // evaluation: scores, in [0, 1].
  ColumnCellsSpec cells = {};
  ColumnCellsSpec across = {};  // crosstab: the columns
  ColumnCellsSpec groups = {};  // where the kind has them; without column: none
  // Survival, cox: the event happened, else the row is censored. Evaluation, regression: the label.
  // Proportion: the value.
  FieldEquals yes = {};
  double threshold = 0.5;                             // evaluation: an edge of the scores
  std::vector<double> quantiles = {0.25, 0.5, 0.75};  // in (0, 1)
  // Table1, glm, cox, risks; of a table's question: its own one.
  std::vector<TableVariable> variables = {};
  std::string formula = {};  // glm, cox, risks (formula.h)
  GlmFamily family = GlmFamily::kGaussian;
  std::string exposure = {};  // family Poisson: column of what the means are in proportion to
  bool by_site = false;       // cox: each of `sites` has hazards of its own
  // Cox: rows whose survival is told, as "age = 50, sex = f" (Design::RowOf).
  std::vector<std::string> profiles = {};
  bool checks_hazards = false;  // cox: whether hazards are proportional
  // Evaluation without a column of scores: those of a logistic model, the intercept first, whose
  // risks are the scores.
  std::vector<double> coefficients = {};
  // Name of the table that this is a question of (table1.h); empty: none.
  std::string table = {};

  bool Asks(std::string_view site) const {
    return sites.empty() || std::ranges::find(sites, site) != sites.end();
  }

  friend bool operator==(const QuestionSpec&, const QuestionSpec&) = default;
};

// Unchecked query.
struct QuerySpec {
  std::string name = "query";
  std::vector<QuestionSpec> questions = {};
  accounting::Unit unit = accounting::Unit::kRecord;
  accounting::Neighbouring neighbouring = accounting::Neighbouring::kReplaceOne;
  // Discrete Laplace: every question is one-hot, and the unit a record or a person.
  dp::NoiseLaw noise_law = dp::NoiseLaw::kGaussian;
  // Most units of a site, at least 1; ignored for unit client. It bounds a site's vector.
  uint64_t max_units = 10000;
  // r: most rows of one person, or client, that count in full; with n > r rows each counts r / n.
  // 1 for unit record.
  uint64_t rows_per_unit = 1;
  double floor = 0;  // estimated counts below it, and all that follows from them, are suppressed
  double confidence = 0.95;                            // of intervals, in (0, 1)
  std::vector<std::string> missing = {"", "?", "NA"};  // fields that mean "missing"; "" always does
  std::vector<table::AgreedValues> values = {};        // of columns that hold texts
  std::vector<table::AgreedNumbers> numbers = {};      // of columns of dates, limits and units
  std::vector<DerivedColumn> derived = {};

  bool IsMissing(std::string_view field) const {
    return field.empty() || std::ranges::find(missing, field) != missing.end();
  }

  // Null where the sites agreed on none: the column holds numbers, or categories of a question.
  const table::CategoryList* ValuesOf(std::string_view column) const {
    const auto found = std::ranges::find(values, column, &table::AgreedValues::column);
    return found == values.end() ? nullptr : &found->values;
  }
  // Null where a number is digits alone.
  const table::AgreedNumbers* NumbersOf(std::string_view column) const {
    const auto found = std::ranges::find(numbers, column, &table::AgreedNumbers::column);
    return found == numbers.end() ? nullptr : &*found;
  }
  bool HoldsDates(std::string_view column) const {
    const table::AgreedNumbers* agreed = NumbersOf(column);
    return agreed != nullptr && agreed->dates.has_value();
  }
  // The number that a text of the column is: a date is its days since 1970-01-01.
  std::optional<double> NumberIn(std::string_view column, std::string_view text) const;

  friend bool operator==(const QuerySpec&, const QuerySpec&) = default;
};

// Releases of a model that is fitted by Newton steps: docs/security/statistics.md, "Logistic
// model".
inline constexpr uint32_t kLikelihoodRounds = 4;
// For a rate model, in upper bounds of the response: no row's mean is larger.
inline constexpr double kMostPoissonMean = 0.5;
// For a proportional-hazards model: a row is followed until its hazard has added up to it.
inline constexpr double kMostHazard = 2;
// y log(y) is at least -1/e.
inline constexpr double kLeastSurprise = 0.36787944117144233;

// Place of a question in the vector, and its scale.
//
// Measured in cells: `segments` copies of the strategy, one after the other. There is one for each
// group, and where the kind reads a field that says yes or no, (group, yes), then (group, no),
// groups in turn. Of survival a last cell holds the rows whose time is beyond the last interval, as
// censored.
// Measured in moments: for each column with t = (2 x - low - high) / (high - low) in [-1, 1]
//   sum     a x / max(|low|, |high|)
//   mean    a (1.5, t, 0.83 (2 t^2 - 1))
//   others  the same, then 0.1 a (4 t^3 - 3 t, 8 t^4 - 8 t^2 + 1),
// and all columns of a group after those of the group before. Rows of two groups have no value in
// common, so they are at most sqrt 2 times the norm of one apart.
// The constants make the distance of two rows, 2 a, the largest there is: a row and none are at
// most 1.99 a apart. A mean costs no more for the square, which gives its sampling error. Powers
// three and four give that of a variance: they cost 1 % of the noise, and hold less than 2 in it.
// A regression on d columns measures, with y = 1 for the label and -1 without it,
//   (count, label y, a t, a y t, square t_i^2, sqrt 2 square t_i t_j for i < j),
//   square = a (2 d)^(-1/4), label = a (d/2)^(1/4), count = a R / sqrt 2,
//   R^2 = sqrt 2 d^1.5 + 4 d + 2 sqrt(2 d)
// each rounded down to the grid. Two rows, or a row and none, are at most a R apart: proof in
// docs/security/statistics.md.
//
// A linear model measures moments up to the fourth of its design and response
// (symmetric_moments.h), each scale rounded down to the grid.
//
// A logistic model measures, at coefficients b of x = (1, design) and with mu = 1 / (1 + exp(-b
// x)),
//   (count, a (y - mu) x, square mu (1 - mu) x_i^2, cross mu (1 - mu) x_i x_j for i < j),
// one release after the other, each at the coefficients that the earlier ones lead to
// (likelihood_steps.h). A Poisson model measures, with y and the exposure e as parts of their upper
// bounds and mu = min(e exp(b x), 1/2),
//   (count, a (y - mu) x, square mu x_i^2, cross mu x_i x_j,
//    dispersion (y - mu)^2, robust (y - mu)^2 x_i^2, robust_cross (y - mu)^2 x_i x_j,
//    cut where mu is 1/2, saturated y log(y / e)).
// A proportional-hazards model has a baseline for each interval of time, of each site where it is
// by site. With mu_j the hazard that a row adds up in interval j, d_j its event there, d and mu the
// sums, it measures
//   (count, a (d_j - mu_j), a (d - mu) x_i, square mu_j, cross mu_j x_i, square mu x_i^2,
//    cross mu x_i x_j),
// and where proportionality is checked, change (sum_j g_j (d_j - mu_j)) x_i, g_j from -1 to 1.
//
// The last values of a part count the rows that are left out, which are 0 elsewhere: `left_out` for
// each such row. There is one such value, or one a column where each column is measured by itself.
// A count without conditions has none, since it reads no field.
struct QuestionPlan {
  QuestionSpec spec;
  std::optional<ColumnCells> cells = {};
  std::optional<ColumnCells> across = {};
  std::optional<ColumnCells> groups = {};
  size_t first = 0;  // of `size` values
  size_t size = 0;
  size_t segments = 0;
  std::optional<PrefixStrategy> strategy = {};  // absent for moments
  double amplitude = 0;                         // a of moments, a multiple of two grid steps
  // Scales of other moments, rounded down to the grid. Of a column: 0.83 a and 0.1 a.
  double square = 0;
  double higher = 0;
  // For a regression, with `square`; `cross` of products of two columns.
  double count = 0;
  double label = 0;
  double cross = 0;
  double rows_per_unit = 1;  // of a model: the query's
  // For a model with several releases. Rates: the most mean; baselines have coefficients of their
  // own in place of one intercept.
  size_t baselines = 1;
  double most_mean = 0;
  double dispersion = 0;
  double robust = 0;
  double robust_cross = 0;
  double cut = 0;
  double saturated = 0;
  double change = 0;                               // cox: 0 where nothing is checked
  std::vector<std::vector<double>> profiles = {};  // of the design's factors
  // For a model, or of an evaluation whose scores are a model's risks.
  std::optional<Design> design = {};
  // For a linear model; `amplitude` is that of the second moments.
  std::optional<SymmetricMoments> moments = {};
  std::vector<double> scales = {};  // 0: not measured, since the grid is coarser
  double left_out = 0;              // a multiple of the grid
  size_t left_out_values = 0;       // of `size`
  // Their share of the part's squared charge; of its charge under discrete Laplace noise.
  double left_out_cost = 0;
  // The distance by which one unit can move this part, rounding included: in L2, in L1 under
  // discrete Laplace noise.
  double zero_out = 0;
  double replace_one = 0;

  const KindRow& kind() const { return RowOf(spec.kind); }
  // For a table's question: the table's.
  QuestionKind asked_kind() const { return spec.table.empty() ? spec.kind : QuestionKind::kTable1; }
  bool is_moments() const { return kind().form != PartForm::kCells; }
  bool is_cox() const { return spec.kind == QuestionKind::kCox; }
  // Whether its scores are the risks of `spec.coefficients`, not a column.
  bool has_risks() const { return !is_moments() && design.has_value(); }
  // A model that is fitted by Newton steps.
  bool has_steps() const {
    return kind().form == PartForm::kGlm && (is_cox() || spec.family != GlmFamily::kGaussian);
  }
  bool is_poisson() const {
    return kind().form == PartForm::kGlm && spec.family == GlmFamily::kPoisson;
  }
  bool is_rate() const { return is_cox() || is_poisson(); }
  // Releases that it needs.
  uint32_t rounds() const { return has_steps() ? kLikelihoodRounds : 1; }
  // Values of rows that count.
  size_t measured() const { return size - left_out_values; }
  // The columns that it reads: its own, those of groups, labels, events and conditions. Sorted.
  std::vector<std::string> columns() const;
  // Those of `where`, then the field that says yes.
  std::vector<RowCondition> conditions() const;
  size_t group_count() const { return groups.has_value() ? groups->size() : 1; }
  // Empty where the kind measures one column at most on its own.
  std::string column_label(size_t column) const {
    return kind().moments > 0 && kind().most_columns > 1 ? spec.columns[column].column : "";
  }
  // Empty where the question has no groups.
  std::string group_label(size_t group) const {
    return groups.has_value() ? groups->Label(group) : "";
  }
};

// A checked query. Immutable.
//
// The vector v_u of a unit u is the weighted sum of its rows' vectors, weights w >= 0 with
// sum w <= r. So v_u is in r conv(V, 0), V the set of row vectors, and for the parts j of the
// questions, each scaled on its own,
//   zero-out     |v_u|       <= sqrt(sum_j N_j^2) <= S,
//   replace-one  |v_u - v'_u| <= sqrt(sum_j D_j^2) <= 2 S,
// N_j and D_j the largest norm and distance in r (V_j, 0). Measurements of cells have entries >= 0,
// so D_j <= sqrt(2) N_j (N_j for a single value), which makes them 1.41 times larger than a ball of
// radius S would. S = 1. For unit client, which takes part in sampled rounds, |v_u| <= S holds for
// either relation.
//
// Every value of a site's sum is rounded to a multiple of grid(), which moves two sums by one step
// at most: N_j and D_j allow for it. Sums are at most 2^24 grid() large: they are exact in floats.
//
// Under discrete Laplace noise N_j and D_j are L1 norms, which add: every cell is measured by
// itself as a_j x, so N_j = r a_j and D_j = 2 r a_j; a count has D_j = r a_j, and 81/64 r a_j
// with its rows that are left out. The amplitudes are in the proportion of share / D_j, the least
// is 1, and all are rounded down to multiples of grid(), a power of two. S is half of the sum of
// the D_j (replace-one), or the sum of the N_j. Weighted rows are rounded down to the grid, value
// by value, which makes no norm larger.
class Query {
 public:
  // InvalidArgument names question, value and range.
  static absl::StatusOr<Query> Create(QuerySpec spec);

  // A table 1 is in its questions there and here.
  const QuerySpec& spec() const { return spec_; }
  const std::vector<QuestionPlan>& questions() const { return questions_; }
  // Releases that the query needs: as many as each of its questions.
  uint32_t rounds() const { return questions_[0].rounds(); }
  // Values of one release.
  uint64_t round_dimension() const { return dimension_; }
  // For all releases, one after the other.
  uint64_t dimension() const { return dimension_ * rounds(); }
  double grid() const { return grid_; }
  dp::NoiseLaw noise_law() const { return spec_.noise_law; }
  // S. The norm (unit client, zero-out) or half the distance (replace-one) of contributions. 1 with
  // Gaussian noise.
  double clip_norm() const { return clip_norm_; }
  // b: no coordinate of a site's sum is larger.
  double coordinate_bound() const { return coordinate_bound_; }
  // The columns of a table that the query reads, sorted.
  const std::vector<std::string>& columns() const { return columns_; }
  // OK when every site that a question names is one of `names`, else NotFound names it.
  absl::Status CheckSites(const std::vector<std::string>& names) const;

 private:
  Query() = default;
  // Names, shares and sites of the questions, and tables in their questions.
  static absl::Status PrepareQuestions(QuerySpec& spec);
  // Appends the plan of a question whose unit moves it by at most `budget`.
  absl::Status PlanQuestion(const QuestionSpec& spec, double budget);
  absl::Status PlanMoments(double budget, QuestionPlan& plan);
  absl::Status PlanRegression(double budget, QuestionPlan& plan);
  absl::Status PlanGlm(double budget, QuestionPlan& plan);
  absl::Status PlanLikelihood(double budget, QuestionPlan& plan);
  absl::Status PlanCells(double budget, QuestionPlan& plan);
  absl::Status PlanRisks(QuestionPlan& plan) const;
  absl::Status PlanLaplaceCells(double amplitude, size_t length, QuestionPlan& plan);
  // Amplitudes of the questions under discrete Laplace noise, and the grid that they are multiples
  // of.
  absl::StatusOr<std::vector<double>> LaplaceAmplitudes();
  bool is_laplace() const { return spec_.noise_law == dp::NoiseLaw::kDiscreteLaplace; }
  // Whether the distance of two units is what counts, not the norm of one.
  bool by_distance() const;
  // Whether all questions need as many releases.
  absl::Status CheckRounds() const;
  // Error: the share of the query leaves less than a step of the grid.
  absl::Status TooSmall() const;

  QuerySpec spec_;
  std::vector<QuestionPlan> questions_;
  uint64_t dimension_ = 0;
  double grid_ = 0;
  double clip_norm_ = 1;
  double coordinate_bound_ = 0;
  std::vector<std::string> columns_;
};

// Constants of the moments above.
inline constexpr double kMomentCount = 1.5;
inline constexpr double kMomentSquare = 0.83;
inline constexpr double kMomentHigher = 0.1;

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_QUERY_H_
