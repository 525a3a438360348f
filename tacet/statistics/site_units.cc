#include "tacet/statistics/site_units.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_map.h"

#include "tacet/base/status.h"
#include "tacet/statistics/row_reach.h"
#include "tacet/table/person_text.h"

namespace tacet::statistics {
namespace {

// Steps of a unit's values, in steps of the grid. A site's sum is at most 2^24 steps of the grid,
// so sums of units are exact in doubles.
constexpr double kStepOfUnits = 0x1p-28;
constexpr uint32_t kNobody = std::numeric_limits<uint32_t>::max();

// Persons of a column, numbered in the order of their first rows.
struct Persons {
  std::vector<uint32_t> of_row;  // kNobody where it is missing
  uint32_t count = 0;
};

Persons PersonsOf(const table::Column& column, uint32_t rows, const QuerySpec& query) {
  Persons persons{.of_row = std::vector<uint32_t>(rows)};
  if (column.is_numbers()) {
    absl::flat_hash_map<uint64_t, uint32_t> known;
    for (uint32_t row = 0; row < rows; ++row) {
      const double number = column.number(row);
      persons.of_row[row] =
          std::isnan(number)
              ? kNobody
              : known.try_emplace(std::bit_cast<uint64_t>(number), known.size()).first->second;
    }
    persons.count = static_cast<uint32_t>(known.size());
    return persons;
  }
  absl::flat_hash_map<std::string, uint32_t> known;
  std::vector<uint32_t> of_code;
  for (uint32_t code = 0; code < column.distinct(); ++code) {
    const std::string key = table::PersonKey(column.text(code));
    of_code.push_back(key.empty() || query.IsMissing(column.text(code))
                          ? kNobody
                          : known.try_emplace(key, known.size()).first->second);
  }
  for (uint32_t row = 0; row < rows; ++row) persons.of_row[row] = of_code[column.code(row)];
  persons.count = static_cast<uint32_t>(known.size());
  return persons;
}

}  // namespace

absl::StatusOr<SiteUnits> SiteUnits::Create(std::shared_ptr<const Query> query,
                                            const SiteTable& table,
                                            const std::string& person_column) {
  TACET_ASSIGN_OR_RETURN(const SiteTable derived, WithDerivedColumns(query->spec(), table));
  return OfDerived(std::move(query), derived, person_column);
}

absl::StatusOr<SiteUnits> SiteUnits::OfDerived(std::shared_ptr<const Query> query,
                                               const SiteTable& table,
                                               const std::string& person_column) {
  const QuerySpec& spec = query->spec();
  for (const std::string& column : query->columns()) {
    if (!table.Find(column).has_value()) {
      return base::NotFound("{}: the table has no column \"{}\", which the query reads", table.name,
                            column);
    }
  }
  if (table.rows > std::numeric_limits<uint32_t>::max()) {
    return base::ResourceExhausted("{}: the table has {} rows, at most {} are read", table.name,
                                   table.rows, std::numeric_limits<uint32_t>::max());
  }
  SiteUnits site(std::move(query), static_cast<uint32_t>(table.rows));
  TACET_RETURN_IF_ERROR(site.FindUnits(table, person_column));
  const std::vector<QuestionPlan>& plans = site.query_->questions();
  for (size_t place = 0; place < plans.size(); ++place) {
    if (plans[place].spec.Asks(table.name)) {
      site.questions_.emplace_back(*site.query_, place, table);
    }
  }
  if (site.units_ > spec.max_units) {
    return base::ResourceExhausted(
        "{}: the table has more units ({}s) than the query's max_units, which is {}: the query has "
        "to be made for larger sites",
        table.name, accounting::UnitName(spec.unit), spec.max_units);
  }
  return site;
}

absl::Status SiteUnits::FindUnits(const SiteTable& table, const std::string& person_column) {
  if (query_->spec().unit == accounting::Unit::kClient) units_ = 1;
  if (query_->spec().unit == accounting::Unit::kRecord) units_ = rows_;
  if (query_->spec().unit != accounting::Unit::kPerson) return absl::OkStatus();
  const std::optional<size_t> place = table.Find(person_column);
  if (!place.has_value()) {
    return base::NotFound(
        "{}: the table has no column \"{}\" with the person of each row: `data.person_column` "
        "names "
        "it",
        table.name, person_column);
  }
  // Persons in the order of their first rows, then the rows of each of them in order.
  const auto [person_of, count] = PersonsOf(table.cells[*place], rows_, query_->spec());
  units_ = count;
  first_row_.assign(units_ + 1, 0);
  for (const uint32_t person : person_of) {
    if (person != kNobody) ++first_row_[person + 1];
  }
  std::partial_sum(first_row_.begin(), first_row_.end(), first_row_.begin());
  person_rows_.resize(first_row_.back());
  std::vector<uint32_t> next(first_row_.begin(), first_row_.end() - 1);
  for (uint32_t row = 0; row < rows_; ++row) {
    if (person_of[row] != kNobody) person_rows_[next[person_of[row]]++] = row;
  }
  return absl::OkStatus();
}

uint32_t SiteUnits::RowsOfUnit(uint32_t unit) const {
  if (!first_row_.empty()) return first_row_[unit + 1] - first_row_[unit];
  return query_->spec().unit == accounting::Unit::kClient ? rows_ : 1;
}

uint32_t SiteUnits::RowOf(uint32_t unit, uint32_t place) const {
  if (!first_row_.empty()) return person_rows_[first_row_[unit] + place];
  return unit + place;
}

uint64_t SiteUnits::RowsOf(size_t question, RowUse use) const {
  const auto reading = std::ranges::find(questions_, question, &QuestionReading::place);
  uint64_t count = 0;
  if (reading == questions_.end()) return count;
  ForEachRow([&](uint32_t row) { count += reading->UseOf(row) == use ? 1 : 0; });
  return count;
}

uint64_t SiteUnits::UnitsBeyond(uint64_t rows) const {
  uint64_t count = 0;
  for (uint32_t unit = 0; unit < units_; ++unit) count += RowsOfUnit(unit) > rows ? 1 : 0;
  return count;
}

void SiteUnits::AddMeasurements(std::span<const double> histograms, std::span<double> sum) const {
  for (const QuestionPlan& plan : query_->questions()) {
    if (plan.is_moments()) continue;
    const size_t length = plan.strategy->cells();
    for (size_t segment = 0; segment < plan.segments; ++segment) {
      const size_t first = plan.first + segment * length;
      plan.strategy->AddMeasurements(histograms.subspan(first, length), sum.subspan(first, length));
    }
    for (size_t i = plan.first + plan.measured(); i < plan.first + plan.size; ++i) {
      sum[i] += plan.left_out * histograms[i];
    }
  }
}

void SiteUnits::SumUnits(std::span<const uint32_t> units, std::span<float> sum,
                         const ModelCoefficients& at) const {
  const bool weighted = query_->spec().unit != accounting::Unit::kRecord;
  const auto most = static_cast<double>(query_->spec().rows_per_unit);
  const double grid = query_->grid();
  // Norms in L1 allow for no rounding upwards, so each unit is rounded down to the grid itself.
  const bool is_laplace = query_->noise_law() == dp::NoiseLaw::kDiscreteLaplace;
  const double step = is_laplace ? grid : grid * kStepOfUnits;
  std::vector<double> total(sum.size(), 0.0);
  std::vector<double> histograms(sum.size(), 0.0);
  std::vector<double> of_unit(sum.size(), 0.0);
  for (const uint32_t unit : units) {
    const uint32_t count = RowsOfUnit(unit);
    const auto rows = static_cast<double>(count);
    const double weight = rows > most ? most / rows : 1;
    for (uint32_t place = 0; place < count; ++place) {
      for (const QuestionReading& question : questions_) {
        const QuestionPlan& plan = query_->questions()[question.place()];
        const std::span<double> all = plan.is_moments() ? of_unit : histograms;
        const std::span<const double> coefficients =
            at.empty() ? std::span<const double>() : at[question.place()];
        question.AddRow(plan, coefficients, RowOf(unit, place), weight,
                        all.subspan(plan.first, plan.size));
      }
    }
    // Single rows are measured together at the end: their measurements are multiples of the grid.
    if (weighted) {
      AddMeasurements(histograms, of_unit);
      std::ranges::fill(histograms, 0.0);
    }
    for (const QuestionPlan& plan : query_->questions()) {
      if (!weighted && !plan.is_moments()) continue;
      for (size_t i = plan.first; i < plan.first + plan.size; ++i) {
        total[i] += RoundedDown(of_unit[i], step);
        of_unit[i] = 0;
      }
    }
  }
  if (!weighted) AddMeasurements(histograms, total);
  const double bound = query_->coordinate_bound();
  for (size_t i = 0; i < total.size(); ++i) {
    const double rounded = RoundedDown(total[i] + (is_laplace ? 0 : grid / 2), grid);
    sum[i] = static_cast<float>(std::clamp(rounded, -bound, bound));
  }
}

}  // namespace tacet::statistics
