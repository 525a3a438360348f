// Table of one site as a query reads it: named columns, rows of text.
#ifndef TACET_STATISTICS_SITE_TABLE_H_
#define TACET_STATISTICS_SITE_TABLE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tacet::statistics {

struct SiteTable {
  std::string name;                            // of the site
  std::vector<std::string> columns;            // distinct names
  std::vector<std::vector<std::string>> rows;  // as many fields as there are columns

  // Place of the column; absent when the table has none of that name.
  std::optional<size_t> Find(std::string_view column) const;
};

// The whole text as a finite decimal number; absent when it is none.
std::optional<double> NumberOf(std::string_view text);

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_SITE_TABLE_H_
