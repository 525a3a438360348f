#include "tacet/statistics/site_units.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "tacet/base/status.h"

namespace tacet::statistics {
namespace {

// A row's fields by name; missing ones are absent.
class Fields {
 public:
  Fields(const SiteTable& table, const QuerySpec& query) : table_(table), query_(query) {
    for (size_t i = 0; i < table.columns.size(); ++i) places_[table.columns[i]] = i;
  }
  void Select(size_t row) { row_ = row; }
  std::optional<std::string_view> Of(const std::string& column) const {
    const std::string& text = table_.rows[row_][places_.at(column)];
    if (query_.IsMissing(text)) return std::nullopt;
    return text;
  }
  std::optional<uint32_t> CellIn(const ColumnCells& cells) const {
    const std::optional<std::string_view> field = Of(cells.column());
    return field.has_value() ? cells.CellOf(*field) : std::nullopt;
  }
  std::optional<bool> Equals(const FieldEquals& expected) const {
    const std::optional<std::string_view> field = Of(expected.column);
    if (!field.has_value()) return std::nullopt;
    return RowCondition{.column = expected.column, .value = expected.value}.Holds(*field);
  }

 private:
  const SiteTable& table_;
  const QuerySpec& query_;
  std::unordered_map<std::string, size_t> places_;
  size_t row_ = 0;
};

// The place of a row in the histogram of a question; absent when it does not count.
std::optional<uint32_t> PlaceOf(const QuestionPlan& plan, const Fields& fields) {
  switch (plan.spec.kind) {
    case QuestionKind::kCount:
      return 0;
    case QuestionKind::kCrosstab: {
      const std::optional<uint32_t> row = fields.CellIn(*plan.cells);
      const std::optional<uint32_t> column = fields.CellIn(*plan.across);
      if (!row.has_value() || !column.has_value()) return std::nullopt;
      return static_cast<uint32_t>(*row * plan.across->size() + *column);
    }
    case QuestionKind::kSurvival:
    case QuestionKind::kEvaluation: {
      const bool is_survival = plan.spec.kind == QuestionKind::kSurvival;
      std::optional<uint32_t> cell = fields.CellIn(*plan.cells);
      std::optional<bool> yes = fields.Equals(is_survival ? plan.spec.event : plan.spec.positive);
      if (is_survival && !cell.has_value()) {
        // Beyond the last interval a row was at risk in all of them.
        const std::optional<std::string_view> field = fields.Of(plan.cells->column());
        const std::optional<double> time = field.has_value() ? NumberOf(*field) : std::nullopt;
        if (!time.has_value() || *time < 0) return std::nullopt;
        cell = static_cast<uint32_t>(plan.cells->size());
        if (yes.has_value()) yes = false;
      }
      const std::optional<uint32_t> group =
          plan.groups.has_value() ? fields.CellIn(*plan.groups) : 0;
      if (!cell.has_value() || !yes.has_value() || !group.has_value()) return std::nullopt;
      const size_t segment = 2 * *group + (*yes ? 0 : 1);
      return static_cast<uint32_t>(segment * plan.strategy->cells() + *cell);
    }
    default:
      return fields.CellIn(*plan.cells);
  }
}

bool AllHold(const std::vector<RowCondition>& conditions, const Fields& fields) {
  return std::ranges::all_of(conditions, [&](const RowCondition& condition) {
    const std::optional<std::string_view> field = fields.Of(condition.column);
    return field.has_value() && condition.Holds(*field);
  });
}

bool AsksSite(const QuestionSpec& spec, const std::string& site) {
  return spec.sites.empty() || std::ranges::find(spec.sites, site) != spec.sites.end();
}

// The value in the question's units: t of moments, x / largest of a sum.
double Scaled(QuestionKind kind, const BoundedColumn& bounded, double value) {
  const double clamped = std::clamp(value, bounded.low, bounded.high);
  if (kind == QuestionKind::kSum) {
    return clamped / std::max(std::abs(bounded.low), std::abs(bounded.high));
  }
  const double t = (2 * clamped - bounded.low - bounded.high) / (bounded.high - bounded.low);
  return std::clamp(t, -1.0, 1.0);
}

}  // namespace

absl::StatusOr<SiteUnits> SiteUnits::Create(std::shared_ptr<const Query> query,
                                            const SiteTable& table,
                                            const std::string& person_column) {
  const QuerySpec& spec = query->spec();
  for (const std::string& column : query->columns()) {
    if (!table.Find(column).has_value()) {
      return base::NotFound("{}: the table has no column \"{}\", which the query reads", table.name,
                            column);
    }
  }
  SiteUnits site(std::move(query));
  Fields fields(table, spec);
  std::unordered_map<std::string, size_t> persons;
  const std::optional<size_t> person = table.Find(person_column);
  if (spec.unit == accounting::Unit::kPerson && !person.has_value()) {
    return base::NotFound(
        "{}: the table has no column \"{}\" with the person of each row: `data.person_column` "
        "names "
        "it",
        table.name, person_column);
  }
  if (spec.unit == accounting::Unit::kClient) site.unit_rows_.resize(1);
  for (size_t row = 0; row < table.rows.size(); ++row) {
    size_t unit = 0;
    if (spec.unit == accounting::Unit::kRecord) unit = row;
    if (spec.unit == accounting::Unit::kPerson) {
      unit = persons.try_emplace(table.rows[row][*person], persons.size()).first->second;
    }
    if (unit == site.unit_rows_.size()) site.unit_rows_.emplace_back();
    site.unit_rows_[unit].push_back(static_cast<uint32_t>(row));

    fields.Select(row);
    std::vector<Entry>& entries = site.row_entries_.emplace_back();
    const std::vector<QuestionPlan>& plans = site.query_->questions();
    for (uint32_t question = 0; question < plans.size(); ++question) {
      const QuestionPlan& plan = plans[question];
      if (!AsksSite(plan.spec, table.name) || !AllHold(plan.spec.where, fields)) continue;
      if (!plan.is_moments()) {
        const std::optional<uint32_t> place = PlaceOf(plan, fields);
        if (place.has_value()) entries.push_back({.question = question, .place = *place});
        continue;
      }
      const bool together = plan.spec.kind == QuestionKind::kRegression;
      std::vector<Entry> of_row;
      if (together) {
        const std::optional<bool> positive = fields.Equals(plan.spec.positive);
        if (!positive.has_value()) continue;
        of_row.push_back({.question = question, .value = *positive ? 1.0 : -1.0});
      }
      const auto values = static_cast<uint32_t>(MomentsOf(plan.spec.kind));
      for (uint32_t i = 0; i < plan.spec.columns.size(); ++i) {
        const BoundedColumn& bounded = plan.spec.columns[i];
        const std::optional<std::string_view> field = fields.Of(bounded.column);
        const std::optional<double> value = field.has_value() ? NumberOf(*field) : std::nullopt;
        if (!value.has_value()) continue;
        of_row.push_back({.question = question,
                          .place = i * values,
                          .value = Scaled(plan.spec.kind, bounded, *value)});
      }
      if (together && of_row.size() <= plan.spec.columns.size()) continue;
      entries.insert(entries.end(), of_row.begin(), of_row.end());
    }
  }
  if (site.unit_rows_.size() > spec.max_units) {
    return base::ResourceExhausted(
        "{}: the table has more units ({}s) than the query's max_units, which is {}: the query has "
        "to be made for larger sites",
        table.name, accounting::UnitName(spec.unit), spec.max_units);
  }
  return site;
}

uint64_t SiteUnits::RowsOf(size_t question) const {
  return static_cast<uint64_t>(std::ranges::count_if(row_entries_, [&](const auto& entries) {
    return std::ranges::any_of(entries,
                               [&](const Entry& entry) { return entry.question == question; });
  }));
}

uint64_t SiteUnits::UnitsBeyond(uint64_t rows) const {
  return static_cast<uint64_t>(std::ranges::count_if(
      unit_rows_, [rows](const auto& of_unit) { return of_unit.size() > rows; }));
}

void SiteUnits::AddMoments(const QuestionPlan& plan, double t, double weight,
                           std::span<double> moments) {
  const double scale = plan.amplitude * weight;
  if (plan.spec.kind == QuestionKind::kSum) {
    moments[0] += scale * t;
    return;
  }
  moments[0] += scale * kMomentCount;
  moments[1] += scale * t;
  const double even = 2 * t * t - 1;
  moments[2] += weight * plan.square * even;
  if (MomentsOf(plan.spec.kind) < 5) return;
  moments[3] += weight * plan.higher * t * (2 * even - 1);
  moments[4] += weight * plan.higher * (2 * even * even - 1);
}

void SiteUnits::AddRegressionRow(const QuestionPlan& plan, std::span<const Entry> row,
                                 double weight, std::span<double> moments) {
  const double y = row[0].value;
  const std::span<const Entry> columns = row.subspan(1);
  size_t place = 0;
  moments[place++] += weight * plan.count;
  moments[place++] += weight * plan.label * y;
  for (const Entry& column : columns) moments[place++] += weight * plan.amplitude * column.value;
  for (const Entry& column : columns) {
    moments[place++] += weight * plan.amplitude * y * column.value;
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    moments[place++] += weight * plan.square * columns[i].value * columns[i].value;
    for (size_t j = i + 1; j < columns.size(); ++j) {
      moments[place++] += weight * plan.cross * columns[i].value * columns[j].value;
    }
  }
}

void SiteUnits::AddRows(uint32_t unit, double weight, std::span<double> histograms,
                        std::span<double> moments) const {
  for (const uint32_t row : unit_rows_[unit]) {
    const std::vector<Entry>& entries = row_entries_[row];
    for (size_t i = 0; i < entries.size(); ++i) {
      const QuestionPlan& plan = query_->questions()[entries[i].question];
      if (!plan.is_moments()) {
        histograms[plan.first + entries[i].place] += weight;
        continue;
      }
      if (plan.spec.kind == QuestionKind::kRegression) {
        const size_t columns = plan.spec.columns.size();
        AddRegressionRow(plan, std::span(entries).subspan(i, columns + 1), weight,
                         moments.subspan(plan.first, plan.size));
        i += columns;
        continue;
      }
      AddMoments(plan, entries[i].value, weight, moments.subspan(plan.first + entries[i].place));
    }
  }
}

void SiteUnits::AddMeasurements(std::span<const double> histograms, std::span<double> sum) const {
  for (const QuestionPlan& plan : query_->questions()) {
    if (plan.is_moments()) continue;
    const size_t length = plan.strategy->cells();
    for (size_t segment = 0; segment < plan.segments; ++segment) {
      const size_t first = plan.first + segment * length;
      plan.strategy->AddMeasurements(histograms.subspan(first, length), sum.subspan(first, length));
    }
  }
}

void SiteUnits::SumUnits(std::span<const uint32_t> units, std::span<float> sum) const {
  const bool weighted = query_->spec().unit != accounting::Unit::kRecord;
  const auto most = static_cast<double>(query_->spec().rows_per_unit);
  const double grid = query_->grid();
  std::vector<double> total(sum.size(), 0.0);
  std::vector<double> histograms(sum.size(), 0.0);
  std::vector<double> of_unit(sum.size(), 0.0);
  for (const uint32_t unit : units) {
    const auto rows = static_cast<double>(unit_rows_[unit].size());
    AddRows(unit, rows > most ? most / rows : 1, histograms, of_unit);
    // Single rows are measured together at the end: their measurements are multiples of the grid.
    if (weighted) {
      AddMeasurements(histograms, of_unit);
      std::ranges::fill(histograms, 0.0);
    }
    for (const QuestionPlan& plan : query_->questions()) {
      if (!weighted && !plan.is_moments()) continue;
      for (size_t i = plan.first; i < plan.first + plan.size; ++i) {
        total[i] += std::nearbyint(of_unit[i] / grid) * grid;
        of_unit[i] = 0;
      }
    }
  }
  if (!weighted) AddMeasurements(histograms, total);
  const double bound = query_->coordinate_bound();
  for (size_t i = 0; i < total.size(); ++i) {
    sum[i] = static_cast<float>(std::clamp(total[i], -bound, bound));
  }
}

}  // namespace tacet::statistics
