// Columns of a table: where label, client, person and features are.
#ifndef TACET_DATA_CSV_COLUMNS_H_
#define TACET_DATA_CSV_COLUMNS_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

#include "tacet/table/table_problem.h"

namespace tacet::data {

struct CsvOptions;

// Columns that the options name, to recognise the separator by.
std::vector<std::string> NamedColumns(const CsvOptions& options);

// Those of them that are names and no positions.
std::vector<std::string> NamesInHeader(const CsvOptions& options);

// Features of the first of several tables without described features, which all must have.
struct SharedFeatures {
  std::string table;  // empty: no table yet
  std::vector<std::string> names;
};

class CsvColumns {
 public:
  // Takes a fault, with a column where it belongs to one. Its error ends the search.
  using Report = std::function<absl::Status(std::optional<size_t> column, table::ValueFault fault)>;

  // Finds every column in a table whose columns have these names. What is not there is reported and
  // left out. Sets `shared` by the first table, and compares the others with it.
  absl::Status Find(const CsvOptions& options, std::vector<std::string> names, char separator,
                    std::string_view table, SharedFeatures& shared, const Report& report);

  size_t count() const { return names_.size(); }
  std::optional<size_t> label() const { return label_; }
  std::optional<size_t> client() const { return client_; }
  std::optional<size_t> person() const { return person_; }
  // In the order of the features; none where one was not found.
  const std::vector<std::optional<size_t>>& features() const { return features_; }
  // Columns without a name (table::IsNameless), which are left out where features are not
  // described.
  const std::vector<size_t>& nameless() const { return nameless_; }
  // Empty behind the last column.
  std::string_view Name(size_t column) const;

 private:
  absl::Status FindOne(std::string_view wanted, std::string_view role, const Report& report,
                       std::optional<size_t>& found) const;
  absl::Status FindNames(const CsvOptions& options, const Report& report);
  absl::Status FindFeatures(const CsvOptions& options, std::string_view table,
                            SharedFeatures& shared, const Report& report);
  absl::Status Compare(std::string_view table, SharedFeatures& shared, const Report& report) const;
  table::ValueFault NotThere(std::string_view wanted, std::string_view role) const;
  std::string InWords(size_t column) const;

  std::vector<std::string> names_;
  char separator_ = ',';
  std::optional<size_t> label_, client_, person_;
  std::vector<std::optional<size_t>> features_;
  std::vector<size_t> nameless_;
};

}  // namespace tacet::data

#endif  // TACET_DATA_CSV_COLUMNS_H_
