// A site's units, and the vector of a query that they add up to.
#ifndef TACET_STATISTICS_SITE_UNITS_H_
#define TACET_STATISTICS_SITE_UNITS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/statistics/likelihood_steps.h"
#include "tacet/statistics/query.h"
#include "tacet/statistics/question_reading.h"
#include "tacet/statistics/site_table.h"

namespace tacet::statistics {

// The rows of a table as the query sees them, grouped by unit. Immutable.
class SiteUnits {
 public:
  // `person_column` groups the rows for unit person: rows with equal table::PersonKey are one. Rows
  // without it are nobody's: they could be anybody's, so they count nowhere. NotFound names a
  // column that the table lacks; ResourceExhausted when the site has more units than the query
  // allows. Neither depends on the data of one unit: neighbouring tables have the same columns and
  // the same number of units.
  static absl::StatusOr<SiteUnits> Create(std::shared_ptr<const Query> query,
                                          const SiteTable& table,
                                          const std::string& person_column = "");
  // The same of a table that has the derived columns of the query already (WithDerivedColumns).
  static absl::StatusOr<SiteUnits> OfDerived(std::shared_ptr<const Query> query,
                                             const SiteTable& table,
                                             const std::string& person_column = "");

  // Rows (unit record), persons, or 1 for unit client.
  uint32_t units() const { return units_; }

  // Rows that a question counts, or another use of them; 0 where it does not ask this site.
  uint64_t RowsOf(size_t question, RowUse use = RowUse::kCounts) const;
  // Units with more rows than that.
  uint64_t UnitsBeyond(uint64_t rows) const;

  // Sum of the vectors of `units`, numbers below units(): a repeated one counts again. `sum` has
  // round_dimension() values. Models with several releases are summed `at` these coefficients.
  // Each is a multiple of the query's grid, at most its coordinate bound, and exact.
  void SumUnits(std::span<const uint32_t> units, std::span<float> sum,
                const ModelCoefficients& at = {}) const;

 private:
  SiteUnits(std::shared_ptr<const Query> query, uint32_t rows)
      : query_(std::move(query)), rows_(rows) {}
  absl::Status FindUnits(const SiteTable& table, const std::string& person_column);
  uint32_t RowsOfUnit(uint32_t unit) const;
  // The `place`-th of them.
  uint32_t RowOf(uint32_t unit, uint32_t place) const;
  // Adds what the strategies measure of the histograms, and their rows that are left out.
  void AddMeasurements(std::span<const double> histograms, std::span<double> sum) const;

  std::shared_ptr<const Query> query_;
  uint32_t rows_ = 0;
  uint32_t units_ = 0;
  // Calls `visit` with each row that belongs to a unit.
  template <typename Visit>
  void ForEachRow(Visit visit) const {
    if (first_row_.empty()) {
      for (uint32_t row = 0; row < rows_; ++row) visit(row);
    } else {
      for (const uint32_t row : person_rows_) visit(row);
    }
  }

  // Unit person: person u has person_rows_[first_row_[u] .. first_row_[u + 1]).
  std::vector<uint32_t> first_row_, person_rows_;
  std::vector<QuestionReading> questions_;  // that ask this site
};

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_SITE_UNITS_H_
