// A table of experiments: rows that are trained, each with a configuration and a record of its own.
#ifndef TACET_LAB_REPRODUCE_REPRODUCE_ROWS_H_
#define TACET_LAB_REPRODUCE_REPRODUCE_ROWS_H_

#include <optional>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"

#include "lab/reproduce/reproduce.h"

namespace tacet::app::reproduce {

struct Row {
  std::string_view name;  // of its records, and of its configuration unless `configuration` has one
  std::string_view title;
  std::optional<double> published;  // accuracy in the paper, in [0, 1]
  std::string_view configuration = {};

  std::string_view ConfigurationName() const {
    return configuration.empty() ? name : configuration;
  }
};

struct RowTable {
  std::string_view name;     // of the experiment and of its folder: "table1"
  std::string_view id;       // in its table.json: "1"
  std::string_view subject;  // in words: "table 1"
  std::span<const Row> rows;
};

// Trains the rows that have a configuration in configs/NAME, or the one that `flags` name, then
// lists every record in the folder: also those that an earlier command made. With `flags.show` it
// trains nothing. InvalidArgument for a row that the table lacks; NotFound without a configuration
// or, with `flags.show`, without a record.
absl::StatusOr<Reproduced> ReproduceRows(const RowTable& table, const ReproduceFlags& flags);

}  // namespace tacet::app::reproduce

#endif  // TACET_LAB_REPRODUCE_REPRODUCE_ROWS_H_
