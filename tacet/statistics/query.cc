#include "tacet/statistics/query.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/statistics/column_use.h"
#include "tacet/statistics/row_reach.h"
#include "tacet/statistics/site_table.h"
#include "tacet/statistics/table1.h"

namespace tacet::statistics {
namespace {

using accounting::Neighbouring;
using accounting::Unit;

constexpr uint64_t kMaxDimension = 65536;
constexpr size_t kMaxOrderedCells = 1024;
constexpr size_t kMaxQuestions = 64;
constexpr uint64_t kMaxUnits = 10'000'000;
constexpr uint64_t kMaxRowsPerUnit = 1'000'000;

absl::Status CheckBounds(const QuestionSpec& spec, size_t most) {
  if (spec.columns.empty() || spec.columns.size() > most) {
    return base::InvalidArgument("{} columns, expected from 1 to {}", spec.columns.size(), most);
  }
  for (const BoundedColumn& bounded : spec.columns) {
    if (bounded.column.empty()) return base::InvalidArgument("the name of a column is missing");
    if (!std::isfinite(bounded.high - bounded.low) || !(bounded.low < bounded.high)) {
      return base::InvalidArgument(
          "column \"{}\" has the bounds {} and {}, expected finite numbers, the lower first",
          bounded.column, bounded.low, bounded.high);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckOrdered(const ColumnCells& cells) {
  if (!cells.is_ordered()) {
    return base::InvalidArgument("column \"{}\" needs edges, not categories", cells.column());
  }
  if (cells.size() > kMaxOrderedCells) {
    return base::InvalidArgument("column \"{}\" has {} cells, expected at most {}", cells.column(),
                                 cells.size(), kMaxOrderedCells);
  }
  return absl::OkStatus();
}

// Whether the question has what its kind needs.
absl::Status CheckPart(const QuestionPlan& plan) {
  const KindRow& kind = plan.kind();
  const QuestionSpec& spec = plan.spec;
  if (kind.most_columns > 0) TACET_RETURN_IF_ERROR(CheckBounds(spec, kind.most_columns));
  if (!kind.yes.empty() && (spec.yes.column.empty() || spec.yes.value.empty())) {
    return base::InvalidArgument("`{}` and `{}` are needed: a column, and its value for yes",
                                 kind.yes, kind.yes_value);
  }
  if (kind.needs_order) TACET_RETURN_IF_ERROR(CheckOrdered(*plan.cells));
  return kind.check == nullptr ? absl::OkStatus() : kind.check(plan);
}

// Whether a field of a row can leave it out. A count without conditions reads none.
bool ReadsFields(const QuestionSpec& spec) {
  return RowOf(spec.kind).reads_fields() || !spec.where.empty();
}

// A row of a one-hot question in L1, at amplitude 1: it counts in one cell, or is left out.
RowReach PlanOneHotRow(bool by_distance, QuestionPlan& plan) {
  const bool is_single = !plan.kind().reads_fields();
  const RowReach row{.norm = 1, .distance = is_single ? 1.0 : 2.0, .largest = 1};
  if (plan.left_out_values == 0) return row;
  return PlanLeftOut(row, by_distance, dp::NoiseLaw::kDiscreteLaplace, plan);
}

// The largest power of two that is at most `value`.
double PowerOfTwoBelow(double value) { return std::exp2(std::floor(std::log2(value))); }

}  // namespace

std::vector<std::string> QuestionPlan::columns() const {
  std::set<std::string> names;
  for (const RowCondition& condition : conditions()) names.insert(condition.column);
  for (const BoundedColumn& bounded : spec.columns) {
    if (is_moments()) names.insert(bounded.column);
  }
  for (const auto* of : {&cells, &across, &groups}) {
    if (of->has_value() && !(of == &cells && has_risks())) names.insert((*of)->column());
  }
  if (design.has_value()) {
    for (const DesignFactor& factor : design->factors()) names.insert(factor.factor.column);
  }
  return {names.begin(), names.end()};
}

std::vector<RowCondition> QuestionPlan::conditions() const {
  std::vector<RowCondition> all = spec.where;
  if (!kind().yes.empty()) all.push_back({.column = spec.yes.column, .value = spec.yes.value});
  return all;
}

bool Query::by_distance() const {
  return spec_.neighbouring == Neighbouring::kReplaceOne && spec_.unit != Unit::kClient;
}

absl::Status Query::TooSmall() const {
  return base::InvalidArgument(
      "its share of the query is too small for sites of {} units: lower max_units, or ask fewer "
      "questions",
      spec_.max_units);
}

absl::Status Query::PlanMoments(double budget, QuestionPlan& plan) {
  const QuestionSpec& spec = plan.spec;
  TACET_RETURN_IF_ERROR(CheckPart(plan));
  const size_t values = plan.kind().moments;
  plan.left_out_values = spec.columns.size();
  plan.size = (values * plan.group_count() + 1) * spec.columns.size();
  // For one column, or for a sum.
  const double higher = values == 5 ? 2 * kMomentHigher * kMomentHigher : 0;
  RowReach row{
      .norm = std::sqrt(kMomentCount * kMomentCount + 1 + kMomentSquare * kMomentSquare + higher),
      .distance = 2 * std::sqrt(1 + higher),
      .largest = kMomentCount};
  if (values == 1) {
    const double low = spec.columns[0].low, high = spec.columns[0].high;
    const double largest = std::max(std::abs(low), std::abs(high));
    row = {.norm = 1, .distance = std::max(largest, high - low) / largest, .largest = 1};
  }
  // Rows of two groups have no value in common.
  if (plan.group_count() > 1) row.distance = std::max(row.distance, std::sqrt(2.0) * row.norm);
  row = PlanLeftOut(row, by_distance(), dp::NoiseLaw::kGaussian, plan);
  // Each value of a site's sum is rounded to the nearest multiple of the grid: two sums may come
  // one step nearer or farther in each.
  const double rounding = grid_ * std::sqrt(static_cast<double>(plan.size));
  const auto rows = static_cast<double>(spec_.rows_per_unit);
  const double reach = rows * std::sqrt(static_cast<double>(spec.columns.size()));
  plan.amplitude =
      (budget * kRoom - rounding) / (reach * (by_distance() ? row.distance : row.norm));
  // Counts and values at a bound are multiples of the grid, which rounding leaves unchanged.
  if (values > 1) plan.amplitude = 2 * grid_ * std::floor(plan.amplitude / (2 * grid_));
  plan.left_out = RoundedDown(plan.left_out * plan.amplitude, grid_);
  if (!(plan.amplitude > 2 * grid_) || !(plan.left_out > 0)) return TooSmall();
  plan.square = RoundedDown(kMomentSquare * plan.amplitude, grid_);
  plan.higher = RoundedDown(kMomentHigher * plan.amplitude, grid_);
  plan.replace_one = plan.amplitude * reach * row.distance + rounding;
  plan.zero_out = plan.amplitude * reach * row.norm + rounding;
  coordinate_bound_ = std::max(coordinate_bound_, kMomentCount * plan.amplitude * rows + grid_);
  return absl::OkStatus();
}

absl::Status Query::PlanRegression(double budget, QuestionPlan& plan) {
  TACET_RETURN_IF_ERROR(CheckPart(plan));
  const size_t columns = plan.spec.columns.size();
  const auto d = static_cast<double>(columns);
  plan.left_out_values = 1;
  plan.size = 3 + 2 * columns + columns * (columns + 1) / 2;
  const double distance_square = std::sqrt(2.0) * std::pow(d, 1.5) + 4 * d + 2 * std::sqrt(2 * d);
  const double distance = std::sqrt(distance_square);
  const RowReach row = PlanLeftOut({.norm = std::sqrt(distance_square - std::sqrt(d / 2)),
                                    .distance = distance,
                                    .largest = distance / std::sqrt(2.0)},
                                   by_distance(), dp::NoiseLaw::kGaussian, plan);
  const double rounding = grid_ * std::sqrt(static_cast<double>(plan.size));
  const auto rows = static_cast<double>(spec_.rows_per_unit);
  const double most =
      (budget * kRoom - rounding) / (rows * (by_distance() ? row.distance : row.norm));
  plan.amplitude = RoundedDown(most, grid_);
  plan.left_out = RoundedDown(most * plan.left_out, grid_);
  plan.count = RoundedDown(most * distance / std::sqrt(2.0), grid_);
  plan.label = RoundedDown(most * std::pow(d / 2, 0.25), grid_);
  plan.square = RoundedDown(most * std::pow(2 * d, -0.25), grid_);
  plan.cross = RoundedDown(most * std::pow(2 * d, -0.25) * std::sqrt(2.0), grid_);
  if (!(std::min(plan.amplitude, plan.square) > 2 * grid_)) return TooSmall();
  plan.replace_one = most * rows * row.distance + rounding;
  plan.zero_out = most * rows * row.norm + rounding;
  const double largest = std::max({plan.count, plan.label, plan.amplitude, plan.cross});
  coordinate_bound_ = std::max(coordinate_bound_, largest * rows + grid_);
  return absl::OkStatus();
}

absl::Status Query::CheckRounds() const {
  for (const QuestionPlan& plan : questions_) {
    if (plan.rounds() == questions_[0].rounds()) continue;
    return base::InvalidArgument(
        "question \"{}\" needs {} and question \"{}\" {} releases: ask models of several releases "
        "and "
        "other questions in queries of their own",
        questions_[0].spec.name, questions_[0].rounds(), plan.spec.name, plan.rounds());
  }
  if (dimension() <= kMaxDimension) return absl::OkStatus();
  return base::InvalidArgument("the query has {} values in {} releases, expected at most {}",
                               dimension(), rounds(), kMaxDimension);
}

absl::Status Query::PlanCells(double budget, QuestionPlan& plan) {
  const QuestionSpec& spec = plan.spec;
  const KindRow& kind = plan.kind();
  TACET_RETURN_IF_ERROR(PlanRisks(plan));
  if (!kind.cells.empty()) {
    ColumnCellsSpec cells = spec.cells;
    if (plan.has_risks()) cells.column = spec.formula;
    const table::CategoryList* const values =
        plan.has_risks() ? nullptr : spec_.ValuesOf(spec.cells.column);
    TACET_ASSIGN_OR_RETURN(plan.cells, ColumnCells::Create(std::move(cells), values));
  }
  size_t length = plan.cells.has_value() ? plan.cells->size() : 1;
  if (!kind.across.empty()) {
    TACET_ASSIGN_OR_RETURN(plan.across,
                           ColumnCells::Create(spec.across, spec_.ValuesOf(spec.across.column)));
    length *= plan.across->size();
  }
  plan.segments = (kind.yes.empty() ? 1 : 2) * plan.group_count();
  if (kind.has_cell_beyond) ++length;
  TACET_RETURN_IF_ERROR(CheckPart(plan));
  if (length * plan.segments > kMaxDimension) {
    return base::InvalidArgument("{} cells, expected at most {}", length * plan.segments,
                                 kMaxDimension);
  }
  plan.left_out_values = ReadsFields(spec) ? 1 : 0;
  plan.size = length * plan.segments + plan.left_out_values;
  if (is_laplace()) return PlanLaplaceCells(budget, length, plan);
  // The measurements of single rows are multiples of the grid, those of weighted rows are rounded.
  const double rounding =
      spec_.unit == Unit::kRecord ? 0 : grid_ * std::sqrt(static_cast<double>(plan.size));
  // A single value is a or 0.
  const double apart = plan.measured() == 1 ? 1 : std::sqrt(2.0);
  const double norm = UnitNorm(kind.measured, length);
  RowReach row{.norm = norm, .distance = apart * norm, .largest = 1};
  if (plan.left_out_values > 0) {
    row = PlanLeftOut(row, by_distance(), dp::NoiseLaw::kGaussian, plan);
  }
  const auto rows = static_cast<double>(spec_.rows_per_unit);
  const double amplitude =
      (budget * kRoom - rounding) / (rows * (by_distance() ? row.distance : row.norm));
  plan.left_out = RoundedDown(plan.left_out * amplitude, grid_);
  if (!(amplitude >= grid_) || (plan.left_out_values > 0 && !(plan.left_out > 0))) {
    return TooSmall();
  }
  plan.strategy.emplace(kind.measured, length, amplitude, grid_);
  plan.zero_out = rows * plan.strategy->norm() + rounding;
  plan.replace_one = rows * std::max(apart * plan.strategy->norm(),
                                     std::hypot(plan.strategy->norm(), plan.left_out)) +
                     rounding;
  coordinate_bound_ = std::max(coordinate_bound_, plan.strategy->largest_entry() * rows + grid_);
  return absl::OkStatus();
}

absl::Status Query::PlanLaplaceCells(double amplitude, size_t length, QuestionPlan& plan) {
  PlanOneHotRow(by_distance(), plan);
  plan.left_out = RoundedDown(plan.left_out * amplitude, grid_);
  if (plan.left_out_values > 0 && !(plan.left_out > 0)) return TooSmall();
  plan.strategy.emplace(Measured::kCells, length, amplitude, grid_);
  const auto rows = static_cast<double>(spec_.rows_per_unit);
  const double norm = plan.strategy->largest_entry();
  plan.zero_out = rows * norm;
  plan.replace_one = rows * std::max(plan.measured() == 1 ? norm : 2 * norm, norm + plan.left_out);
  coordinate_bound_ = std::max(coordinate_bound_, rows * norm);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<double>> Query::LaplaceAmplitudes() {
  if (spec_.unit == Unit::kClient) {
    return base::InvalidArgument(
        "noise_law is discrete-laplace with unit client: expected gaussian, or unit record or "
        "person");
  }
  std::vector<double> amplitudes, left_out;
  for (const QuestionSpec& question : spec_.questions) {
    if (!RowOf(question.kind).is_one_hot) {
      return base::InvalidArgument(
          "noise_law is discrete-laplace, but question \"{}\" is of kind {}: expected one of "
          "{}, or noise_law gaussian",
          question.name, QuestionKindName(question.kind), OneHotKindNames());
    }
    QuestionPlan plan{.spec = question, .left_out_values = ReadsFields(question) ? 1u : 0u};
    const RowReach row = PlanOneHotRow(by_distance(), plan);
    amplitudes.push_back(question.share / (by_distance() ? row.distance : row.norm));
    left_out.push_back(plan.left_out);
  }
  const double least = *std::ranges::min_element(amplitudes);
  constexpr double kNearly = 1 + 0x1p-40;  // ratios of shares are rounded
  for (double& amplitude : amplitudes) amplitude /= least;
  // Weights are fractions, which lose half a step on average. Those of records are 1: the coarsest
  // grid that makes no value more than a hundredth smaller.
  const auto loses_value = [&](double value, double grid) {
    return RoundedDown(value * kNearly, grid) < 0.99 * value;
  };
  const auto loses = [&](double grid) {
    for (size_t i = 0; i < amplitudes.size(); ++i) {
      if (loses_value(amplitudes[i], grid)) return true;
      if (loses_value(amplitudes[i] * left_out[i], grid)) return true;
    }
    return false;
  };
  grid_ = 1;
  const double finest = spec_.unit == Unit::kRecord ? 0x1p-6 : 0x1p-8;
  while (grid_ > finest && (spec_.unit != Unit::kRecord || loses(grid_))) grid_ /= 2;
  const double largest_sum = *std::ranges::max_element(amplitudes) *
                             static_cast<double>(spec_.rows_per_unit) *
                             static_cast<double>(spec_.max_units);
  while (grid_ < 1 && largest_sum > 0x1p24 * grid_) grid_ *= 2;
  if (largest_sum > 0x1p24 * grid_) {
    return base::InvalidArgument(
        "noise_law is discrete-laplace, and sums of max_units {} and rows_per_unit {} with these "
        "shares reach {:.3g}, above 2^24: lower max_units or rows_per_unit, make the shares more "
        "alike, or choose noise_law gaussian",
        spec_.max_units, spec_.rows_per_unit, largest_sum);
  }
  for (double& amplitude : amplitudes) amplitude = RoundedDown(amplitude * kNearly, grid_);
  return amplitudes;
}

absl::Status Query::PlanQuestion(const QuestionSpec& spec, double budget) {
  QuestionPlan plan{.spec = spec, .first = dimension_};
  if (plan.kind().takes_groups && !spec.groups.column.empty()) {
    TACET_ASSIGN_OR_RETURN(plan.groups,
                           ColumnCells::Create(spec.groups, spec_.ValuesOf(spec.groups.column)));
  }
  switch (plan.kind().form) {
    case PartForm::kCells:
      TACET_RETURN_IF_ERROR(PlanCells(budget, plan));
      break;
    case PartForm::kMoments:
      TACET_RETURN_IF_ERROR(PlanMoments(budget, plan));
      break;
    case PartForm::kRegression:
      TACET_RETURN_IF_ERROR(PlanRegression(budget, plan));
      break;
    case PartForm::kGlm:
      if (!plan.kind().cells.empty()) {
        TACET_ASSIGN_OR_RETURN(plan.cells,
                               ColumnCells::Create(spec.cells, spec_.ValuesOf(spec.cells.column)));
        TACET_RETURN_IF_ERROR(CheckPart(plan));
      }
      TACET_RETURN_IF_ERROR(PlanGlm(budget, plan));
      break;
  }
  dimension_ += plan.size;
  if (dimension_ > kMaxDimension) {
    return base::InvalidArgument("the query has more than {} values so far: use fewer cells",
                                 kMaxDimension);
  }
  questions_.push_back(std::move(plan));
  return absl::OkStatus();
}

std::optional<double> QuerySpec::NumberIn(std::string_view column, std::string_view text) const {
  const table::AgreedNumbers* agreed = NumbersOf(column);
  if (agreed == nullptr) return NumberOf(text);
  const std::optional<double> number = agreed->Find(text, table::DecimalMark::kPoint);
  return number.has_value() && IsOrdinary(*number) ? number : std::nullopt;
}

absl::Status Query::PrepareQuestions(QuerySpec& spec) {
  std::vector<QuestionSpec> questions;
  std::set<std::string> names;
  const auto check_name = [&names](const std::string& name) {
    if (!name.empty() && names.insert(name).second) return absl::OkStatus();
    return base::InvalidArgument("question \"{}\": each question needs a name of its own", name);
  };
  for (QuestionSpec& question : spec.questions) {
    TACET_RETURN_IF_ERROR(check_name(question.name));
    if (!(question.share > 0 && std::isfinite(question.share))) {
      return base::InvalidArgument("question \"{}\": share is {}, expected a positive number",
                                   question.name, question.share);
    }
    const std::set<std::string> sites(question.sites.begin(), question.sites.end());
    if (sites.size() < question.sites.size() || sites.contains("")) {
      return base::InvalidArgument("question \"{}\": sites needs distinct names of sites",
                                   question.name);
    }
    if (question.kind != QuestionKind::kTable1) {
      questions.push_back(std::move(question));
      continue;
    }
    auto of_table = QuestionsOfTable(question, spec);
    if (!of_table.ok()) {
      return base::Annotate(of_table.status(), fmt::format("question \"{}\"", question.name));
    }
    for (QuestionSpec& one : *of_table) {
      TACET_RETURN_IF_ERROR(check_name(one.name));
      questions.push_back(std::move(one));
    }
  }
  if (questions.empty() || questions.size() > kMaxQuestions) {
    return base::InvalidArgument("the query has {} questions, expected from 1 to {}",
                                 questions.size(), kMaxQuestions);
  }
  spec.questions = std::move(questions);
  return absl::OkStatus();
}

absl::StatusOr<Query> Query::Create(QuerySpec spec) {
  const bool is_client = spec.unit == Unit::kClient;
  if (is_client) spec.max_units = 1;
  if (spec.max_units < 1 || spec.max_units > kMaxUnits) {
    return base::InvalidArgument("max_units is {}, expected from 1 to {}", spec.max_units,
                                 kMaxUnits);
  }
  if (spec.rows_per_unit < 1 || spec.rows_per_unit > kMaxRowsPerUnit ||
      (spec.unit == Unit::kRecord && spec.rows_per_unit != 1)) {
    return base::InvalidArgument("rows_per_unit is {}, expected {}", spec.rows_per_unit,
                                 spec.unit == Unit::kRecord
                                     ? "1 for unit record, where a row is a unit"
                                     : fmt::format("from 1 to {}", kMaxRowsPerUnit));
  }
  if (!(spec.floor >= 0 && std::isfinite(spec.floor))) {
    return base::InvalidArgument("floor is {}, expected a number that is not negative", spec.floor);
  }
  if (!(spec.confidence > 0 && spec.confidence < 1)) {
    return base::InvalidArgument("confidence is {}, expected above 0 and below 1", spec.confidence);
  }
  TACET_RETURN_IF_ERROR(PrepareQuestions(spec));
  double shares = 0;
  for (const QuestionSpec& question : spec.questions) shares += question.share;
  Query query;
  query.spec_ = std::move(spec);
  // A value of a unit is at most 2 S, and a site's at most 2 S max_units.
  query.grid_ = 2 * PowerOfTwoBelow(2 * static_cast<double>(query.spec_.max_units) * 0x1p-24);
  const double total =
      query.spec_.neighbouring == Neighbouring::kReplaceOne && !is_client ? 2.0 : 1.0;
  std::vector<double> amplitudes;
  if (query.is_laplace()) {
    TACET_ASSIGN_OR_RETURN(amplitudes, query.LaplaceAmplitudes());
  }
  for (size_t i = 0; i < query.spec_.questions.size(); ++i) {
    const QuestionSpec& question = query.spec_.questions[i];
    const double budget =
        query.is_laplace() ? amplitudes[i] : total * std::sqrt(question.share / shares);
    TACET_RETURN_IF_ERROR(base::Annotate(query.PlanQuestion(question, budget),
                                         fmt::format("question \"{}\"", question.name)));
  }
  if (query.is_laplace()) {
    query.clip_norm_ = 0;
    for (const QuestionPlan& plan : query.questions_) {
      query.clip_norm_ += query.by_distance() ? plan.replace_one / 2 : plan.zero_out;
    }
  }
  query.coordinate_bound_ *= static_cast<double>(query.spec_.max_units);
  TACET_RETURN_IF_ERROR(query.CheckRounds());
  query.columns_ = ColumnsToRead(query);
  TACET_RETURN_IF_ERROR(CheckColumns(query));
  return query;
}

absl::Status Query::CheckSites(const std::vector<std::string>& names) const {
  for (const QuestionPlan& plan : questions_) {
    for (const std::string& site : plan.spec.sites) {
      if (std::ranges::find(names, site) != names.end()) continue;
      return base::NotFound("question \"{}\": there is no site \"{}\"", plan.spec.name, site);
    }
  }
  return absl::OkStatus();
}

}  // namespace tacet::statistics
