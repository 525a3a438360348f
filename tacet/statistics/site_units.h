// A site's units, and the vector of a query that they add up to.
#ifndef TACET_STATISTICS_SITE_UNITS_H_
#define TACET_STATISTICS_SITE_UNITS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/statistics/query.h"
#include "tacet/statistics/site_table.h"

namespace tacet::statistics {

// The rows of a table as the query sees them, grouped by unit. Immutable.
class SiteUnits {
 public:
  // `person_column` groups the rows for unit person. NotFound names a column that the table lacks;
  // ResourceExhausted when the site has more units than the query allows. Neither depends on the
  // data of one unit: neighbouring tables have the same columns and the same number of units.
  static absl::StatusOr<SiteUnits> Create(std::shared_ptr<const Query> query,
                                          const SiteTable& table,
                                          const std::string& person_column = "");

  // Rows (unit record), persons, or 1 for unit client.
  uint32_t units() const { return static_cast<uint32_t>(unit_rows_.size()); }

  // Rows that count in a question.
  uint64_t RowsOf(size_t question) const;
  // Units with more rows than that.
  uint64_t UnitsBeyond(uint64_t rows) const;

  // Sum of the vectors of `units`: increasing numbers below units(). `sum` has dimension() values.
  // Each is a multiple of the query's grid, at most its coordinate bound, and exact.
  void SumUnits(std::span<const uint32_t> units, std::span<float> sum) const;

 private:
  // The part of a row in one question: a place in its histogram, or values in [low, high].
  struct Entry {
    uint32_t question = 0;
    uint32_t place = 0;  // of the cell in the histogram; of the first moment of the column
    // t of moments, or x / largest. A regression has as many entries as columns and one, in a row:
    // y, then each t.
    double value = 0;
  };

  explicit SiteUnits(std::shared_ptr<const Query> query) : query_(std::move(query)) {}
  // Adds the rows of a unit, each with `weight`, to its histograms and its moments.
  void AddRows(uint32_t unit, double weight, std::span<double> histograms,
               std::span<double> moments) const;
  static void AddMoments(const QuestionPlan& plan, double t, double weight,
                         std::span<double> moments);
  static void AddRegressionRow(const QuestionPlan& plan, std::span<const Entry> row, double weight,
                               std::span<double> moments);
  // Adds what the strategies measure of the histograms.
  void AddMeasurements(std::span<const double> histograms, std::span<double> sum) const;

  std::shared_ptr<const Query> query_;
  std::vector<std::vector<uint32_t>> unit_rows_;
  std::vector<std::vector<Entry>> row_entries_;
};

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_SITE_UNITS_H_
