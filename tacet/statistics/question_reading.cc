#include "tacet/statistics/question_reading.h"

#include <algorithm>
#include <array>
#include <limits>

#include "tacet/base/status.h"
#include "tacet/statistics/likelihood_rows.h"

namespace tacet::statistics {
namespace {

// Most columns of a regression (query.cc) and its label.
constexpr size_t kMaxRegressionValues = 33;

const table::Column& ColumnOf(const SiteTable& table, std::string_view name) {
  return table.cells[*table.Find(name)];
}

// Numbers of a column, as `use` turns them. A column of dates holds texts: nobody knows which day a
// number in it is.
template <typename T>
CellReading<T> ReadNumbersAs(const table::Column& column, const QuerySpec& query,
                             const std::string& name, std::function<std::optional<T>(double)> use) {
  const table::AgreedNumbers* agreed = query.NumbersOf(name);
  std::function<std::optional<T>(double)> of_number = use;
  if (query.HoldsDates(name)) of_number = [](double) { return std::optional<T>(); };
  if (agreed != nullptr && agreed->range.has_value()) {
    of_number = [use, range = *agreed->range](double number) {
      return range.Holds(number) ? use(number) : std::optional<T>();
    };
  }
  return CellReading<T>(
      column, query,
      [&](std::string_view text) {
        const std::optional<double> number = query.NumberIn(name, text);
        return number.has_value() ? use(*number) : std::nullopt;
      },
      of_number);
}

// The value in the question's units: t of moments, x / largest of a sum.
double Scaled(const KindRow& kind, const BoundedColumn& bounded, double value) {
  const double clamped = std::clamp(value, bounded.low, bounded.high);
  if (kind.moments == 1) {
    return clamped / std::max(std::abs(bounded.low), std::abs(bounded.high));
  }
  const double t = (2 * clamped - bounded.low - bounded.high) / (bounded.high - bounded.low);
  return std::clamp(t, -1.0, 1.0);
}

void AddMoments(const QuestionPlan& plan, double t, double weight, std::span<double> moments) {
  const double scale = plan.amplitude * weight;
  const size_t values = plan.kind().moments;
  if (values == 1) {
    moments[0] += scale * t;
    return;
  }
  moments[0] += scale * kMomentCount;
  moments[1] += scale * t;
  const double even = 2 * t * t - 1;
  moments[2] += weight * plan.square * even;
  if (values < 5) return;
  moments[3] += weight * plan.higher * t * (2 * even - 1);
  moments[4] += weight * plan.higher * (2 * even * even - 1);
}

}  // namespace

CellReading<double> ReadNumbers(const table::Column& column, const QuerySpec& query,
                                const std::string& name) {
  return ReadNumbersAs<double>(column, query, name,
                               [](double number) { return std::optional(number); });
}

absl::StatusOr<SiteTable> WithDerivedColumns(const QuerySpec& query, SiteTable table) {
  for (const DerivedColumn& derived : query.derived) {
    if (table.Find(derived.name).has_value()) {
      return base::InvalidArgument(
          "{}: the table has a column \"{}\", and `data.derived` of the query makes one: one of "
          "them needs another name",
          table.name, derived.name);
    }
    for (const std::string& date : {derived.from, derived.to}) {
      if (date.empty() || table.Find(date).has_value()) continue;
      return base::NotFound("{}: the table has no column \"{}\", which the query reads", table.name,
                            date);
    }
    const auto from = ReadNumbers(ColumnOf(table, derived.from), query, derived.from);
    std::optional<CellReading<double>> to;
    if (!derived.to.empty()) to = ReadNumbers(ColumnOf(table, derived.to), query, derived.to);
    table::ColumnBuilder cells;
    for (uint32_t row = 0; row < table.rows; ++row) {
      const std::optional<double> number =
          derived.Of(from(row), to.has_value() ? (*to)(row) : std::nullopt);
      cells.AddNumber(number.value_or(std::numeric_limits<double>::quiet_NaN()));
    }
    table.columns.push_back(derived.name);
    table.cells.push_back(std::move(cells).Finish());
  }
  return table;
}

CellReading<uint32_t> ReadCells(const table::Column& column, const QuerySpec& query,
                                const ColumnCells& cells) {
  if (cells.is_ordered()) {
    return ReadNumbersAs<uint32_t>(column, query, cells.column(),
                                   [&cells](double number) { return cells.CellOf(number); });
  }
  return CellReading<uint32_t>(
      column, query, [&cells](std::string_view text) { return cells.CellOf(text); },
      [&cells](double number) { return cells.CellOf(number); });
}

// t of a number, or the place of a category.
CellReading<double> ReadFactor(const table::Column& column, const QuerySpec& query,
                               const DesignFactor& factor) {
  if (factor.is_number()) {
    return ReadNumbersAs<double>(column, query, factor.factor.column, [factor](double number) {
      return std::optional(factor.Scaled(number));
    });
  }
  const auto place = [](std::optional<size_t> found) {
    return found.has_value() ? std::optional(static_cast<double>(*found)) : std::nullopt;
  };
  return CellReading<double>(
      column, query,
      [&](std::string_view text) {
        return place(factor.values.Find(text, table::DecimalMark::kPoint));
      },
      [values = factor.values, place](double number) { return place(values.Find(number)); });
}

CellReading<bool> ReadCondition(const table::Column& column, const QuerySpec& query,
                                const RowCondition& condition) {
  const table::CategoryList* values = query.ValuesOf(condition.column);
  if (values != nullptr) {
    const bool is_equal = condition.comparison == Comparison::kEqual;
    const std::optional<size_t> wanted = values->Find(condition.value, table::DecimalMark::kPoint);
    const auto compare = [wanted, is_equal](std::optional<size_t> found) {
      return found.has_value() ? std::optional((found == wanted) == is_equal) : std::nullopt;
    };
    return CellReading<bool>(
        column, query,
        [&](std::string_view text) {
          return compare(values->Find(text, table::DecimalMark::kPoint));
        },
        [values = *values, compare](double number) { return compare(values.Find(number)); });
  }
  const double right = *query.NumberIn(condition.column, condition.value);
  return ReadNumbersAs<bool>(column, query, condition.column,
                             [comparison = condition.comparison, right](double number) {
                               return std::optional(Holds(comparison, number, right));
                             });
}

QuestionReading::QuestionReading(const Query& query, size_t place, const SiteTable& table)
    : place_(place), plan_(&query.questions()[place]) {
  const QuestionPlan& plan = query.questions()[place];
  const QuerySpec& spec = query.spec();
  for (const RowCondition& condition : plan.spec.where) {
    where_.push_back(ReadCondition(ColumnOf(table, condition.column), spec, condition));
  }
  for (const auto* cells : {&plan.cells, &plan.across}) {
    if (!cells->has_value() || plan.is_cox() || plan.has_risks()) continue;
    cells_.push_back(ReadCells(ColumnOf(table, (*cells)->column()), spec, **cells));
    last_cells_ = (*cells)->size();
  }
  if (plan.groups.has_value()) {
    groups_.push_back(ReadCells(ColumnOf(table, plan.groups->column()), spec, *plan.groups));
  }
  const FieldEquals& yes = plan.spec.yes;
  if (!plan.kind().yes.empty()) {
    is_yes_.push_back(ReadCondition(ColumnOf(table, yes.column), spec,
                                    {.column = yes.column, .value = yes.value}));
  }
  if (plan.kind().has_cell_beyond || plan.is_cox()) {
    const std::string& time = plan.cells->column();
    times_.push_back(ReadNumbers(ColumnOf(table, time), spec, time));
    horizon_ = plan.cells->edges().back();
  }
  if (plan.spec.by_site) {
    stratum_ = std::ranges::find(plan.spec.sites, table.name) - plan.spec.sites.begin();
  }
  if (plan.design.has_value()) {
    for (const DesignFactor& factor : plan.design->factors()) {
      values_.push_back(ReadFactor(ColumnOf(table, factor.factor.column), spec, factor));
    }
  }
  if (!plan.is_moments()) {
    strategy_cells_ = plan.strategy->cells();
    return;
  }
  for (const BoundedColumn& bounded : plan.spec.columns) {
    values_.push_back(ReadNumbersAs<double>(ColumnOf(table, bounded.column), spec, bounded.column,
                                            [kind = &plan.kind(), bounded](double value) {
                                              return std::optional(Scaled(*kind, bounded, value));
                                            }));
  }
}

std::optional<bool> QuestionReading::IsAsked(uint32_t row) const {
  std::optional<bool> asked = true;
  for (const CellReading<bool>& condition : where_) {
    const std::optional<bool> holds = condition(row);
    if (holds.has_value() && !*holds) return false;
    if (!holds.has_value()) asked = std::nullopt;
  }
  return asked;
}

std::optional<uint32_t> QuestionReading::GroupOf(uint32_t row) const {
  return groups_.empty() ? 0 : groups_[0](row);
}

std::optional<std::vector<double>> QuestionReading::FactorsOf(uint32_t row) const {
  std::vector<double> of_factors;
  for (const CellReading<double>& value : values_) {
    const std::optional<double> found = value(row);
    if (!found.has_value()) return std::nullopt;
    of_factors.push_back(*found);
  }
  return of_factors;
}

std::optional<uint32_t> QuestionReading::CellOfRisk(uint32_t row) const {
  const std::optional<std::vector<double>> of_factors = FactorsOf(row);
  if (!of_factors.has_value()) return std::nullopt;
  const std::vector<double>& coefficients = plan_->spec.coefficients;
  std::vector<double> columns(coefficients.size() - 1);
  plan_->design->FillColumns(*of_factors, columns);
  const double linear =
      std::inner_product(columns.begin(), columns.end(), coefficients.begin() + 1, coefficients[0]);
  // Not a number only where infinite terms cancel.
  return std::isnan(linear) ? std::nullopt : plan_->cells->CellOf(1 / (1 + std::exp(-linear)));
}

std::optional<uint32_t> QuestionReading::PlaceOf(uint32_t row) const {
  std::optional<uint32_t> cell = 0;
  if (plan_->has_risks()) cell = CellOfRisk(row);
  if (!cells_.empty()) cell = cells_[0](row);
  if (cells_.size() == 2) {
    const std::optional<uint32_t> across = cells_[1](row);
    if (!cell.has_value() || !across.has_value()) return std::nullopt;
    cell = static_cast<uint32_t>(*cell * last_cells_ + *across);
  }
  std::optional<bool> yes = is_yes_.empty() ? true : is_yes_[0](row);
  if (!times_.empty()) {
    const std::optional<double> time = times_[0](row);
    if (!time.has_value() || *time < 0) return std::nullopt;
    // A row was at risk in all intervals where its time is beyond the last one, or where it is
    // censored at its end, as studies end.
    if (*time > horizon_ || (*time == horizon_ && yes.has_value() && !*yes)) {
      cell = static_cast<uint32_t>(last_cells_);
      if (yes.has_value()) yes = false;
    }
  }
  const std::optional<uint32_t> group = GroupOf(row);
  if (!cell.has_value() || !yes.has_value() || !group.has_value()) return std::nullopt;
  const size_t segment = is_yes_.empty() ? *group : 2 * *group + (*yes ? 0 : 1);
  return static_cast<uint32_t>(segment * strategy_cells_ + *cell);
}

RowUse QuestionReading::UseOf(uint32_t row) const {
  const std::optional<bool> asked = IsAsked(row);
  if (!asked.has_value()) return RowUse::kLeftOut;
  if (!*asked) return RowUse::kOther;
  const auto has_value = [row](const CellReading<double>& value) { return value(row).has_value(); };
  bool counts = false;
  if (strategy_cells_ > 0) {
    counts = PlaceOf(row).has_value();
  } else if (plan_->kind().form == PartForm::kRegression) {
    counts = is_yes_[0](row).has_value() && std::ranges::all_of(values_, has_value);
  } else if (plan_->kind().form == PartForm::kGlm) {
    counts = std::ranges::all_of(values_, has_value) && (times_.empty() || EndOf(row).has_value());
  } else {
    counts = GroupOf(row).has_value() && std::ranges::any_of(values_, has_value);
  }
  return counts ? RowUse::kCounts : RowUse::kLeftOut;
}

void QuestionReading::AddRow(const QuestionPlan& plan, std::span<const double> coefficients,
                             uint32_t row, double weight, std::span<double> part) const {
  const std::optional<bool> asked = IsAsked(row);
  if (asked.has_value() && !*asked) return;
  if (strategy_cells_ > 0) {
    const std::optional<uint32_t> place = asked.has_value() ? PlaceOf(row) : std::nullopt;
    part[place.value_or(plan.measured())] += weight;
    return;
  }
  const std::span<double> left_out = part.subspan(plan.measured());
  if (plan_->kind().form == PartForm::kRegression) {
    const bool counts = asked.has_value() && AddRegressionRow(plan, row, weight, part);
    if (!counts) left_out[0] += weight * plan.left_out;
    return;
  }
  if (plan_->kind().form == PartForm::kGlm) {
    const bool counts = asked.has_value() && AddDesignRow(plan, coefficients, row, weight, part);
    if (!counts) left_out[0] += weight * plan.left_out;
    return;
  }
  const size_t size = plan_->kind().moments;
  const std::optional<uint32_t> group = asked.has_value() ? GroupOf(row) : std::nullopt;
  for (size_t i = 0; i < values_.size(); ++i) {
    const std::optional<double> t = group.has_value() ? values_[i](row) : std::nullopt;
    if (t.has_value()) {
      AddMoments(plan, *t, weight, part.subspan((*group * values_.size() + i) * size, size));
    } else {
      left_out[i] += weight * plan.left_out;
    }
  }
}

std::optional<QuestionReading::End> QuestionReading::EndOf(uint32_t row) const {
  const std::optional<double> time = times_[0](row);
  const std::optional<bool> event = is_yes_[0](row);
  if (!time.has_value() || *time < 0 || !event.has_value()) return std::nullopt;
  return End{.time = *time, .event = *event};
}

bool QuestionReading::AddRegressionRow(const QuestionPlan& plan, uint32_t row, double weight,
                                       std::span<double> part) const {
  const std::optional<bool> positive = is_yes_[0](row);
  if (!positive.has_value()) return false;
  std::array<double, kMaxRegressionValues> all{};
  const std::span<double> columns = std::span(all).first(values_.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    const std::optional<double> t = values_[i](row);
    if (!t.has_value()) return false;
    columns[i] = *t;
  }
  const double y = *positive ? 1 : -1;
  size_t place = 0;
  part[place++] += weight * plan.count;
  part[place++] += weight * plan.label * y;
  for (const double t : columns) part[place++] += weight * plan.amplitude * t;
  for (const double t : columns) part[place++] += weight * plan.amplitude * y * t;
  for (size_t i = 0; i < columns.size(); ++i) {
    part[place++] += weight * plan.square * columns[i] * columns[i];
    for (size_t j = i + 1; j < columns.size(); ++j) {
      part[place++] += weight * plan.cross * columns[i] * columns[j];
    }
  }
  return true;
}

bool QuestionReading::AddDesignRow(const QuestionPlan& plan, std::span<const double> coefficients,
                                   uint32_t row, double weight, std::span<double> part) const {
  const std::optional<std::vector<double>> of_factors = FactorsOf(row);
  if (!of_factors.has_value()) return false;
  std::array<double, Design::kMaxColumns + 2> all{1};  // the constant, the design, the response
  plan.design->Fill(*of_factors, std::span(all).subspan(1));
  if (plan.has_steps()) {
    const std::vector<double> first =
        coefficients.empty() ? FirstCoefficients(plan) : std::vector<double>();
    const LikelihoodRow part_of{.plan = plan,
                                .x = std::span(all).first(plan.design->columns() + 1),
                                .coefficients = coefficients.empty() ? first : coefficients,
                                .weight = weight,
                                .part = part};
    const double y = (all[plan.design->columns() + 1] + 1) / 2;
    if (plan.is_cox()) {
      const std::optional<End> end = EndOf(row);
      if (!end.has_value()) return false;
      AddCoxRow(part_of, end->time, end->event, stratum_);
    } else if (plan.is_poisson()) {
      AddPoissonRow(part_of, y, plan.design->ExposureOf(*of_factors));
    } else {
      AddLogisticRow(part_of, y);
    }
    return true;
  }
  for (size_t i = 0; i < plan.moments->size(); ++i) {
    const auto [a, b, c, d] = plan.moments->products()[i];
    part[i] += weight * plan.scales[i] * (all[a] * all[b] * all[c] * all[d]);
  }
  return true;
}

}  // namespace tacet::statistics
