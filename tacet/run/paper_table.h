// Answers as the tables of a paper: baseline characteristics, and the effects of a model.
#ifndef TACET_RUN_PAPER_TABLE_H_
#define TACET_RUN_PAPER_TABLE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/statistics/estimate.h"

namespace tacet::run {

// Texts without markup. Each row has as many cells as there are titles; the first names the row.
struct PaperTable {
  std::string caption = {};
  std::vector<std::string> titles = {};
  std::vector<std::vector<std::string>> rows = {};
  std::string note = {};
};

// Whether `answer` has a table: it is a table1, or it has coefficients with intervals.
bool HasPaperTable(const tacet::statistics::Answer& answer);

// The table of a table1 as the console prints it. Of a model, whatever its kind: the ratios, or
// where it has none intercept and coefficients, with intervals of `confidence` and the error of the
// noise. InvalidArgument where `answer` has none.
absl::StatusOr<PaperTable> PaperTableOf(const tacet::statistics::Answer& answer, double confidence);

}  // namespace tacet::run

#endif  // TACET_RUN_PAPER_TABLE_H_
