// Whether a query uses each column as what the sites agreed that it holds.
#ifndef TACET_STATISTICS_COLUMN_USE_H_
#define TACET_STATISTICS_COLUMN_USE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

#include "tacet/statistics/query.h"

namespace tacet::statistics {

// Columns of a table that the questions read, sorted: in place of a derived column the dates from
// which it follows.
std::vector<std::string> ColumnsToRead(const Query& query);

// InvalidArgument names column, use and what to change, unless
//   each column has one line of agreed values or numbers at most, and a question reads it,
//   each value that a question compares is one of the agreed values, or a number; in a column of
//     dates a date,
//   a column with agreed values has neither bounds nor edges, one of dates has edges of dates at
//     most, and
//   each derived column has a name of its own, follows from columns of dates, and is read.
absl::Status CheckColumns(const Query& query);

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_COLUMN_USE_H_
