// Table of one site as a query reads it: named columns of numbers and of texts.
#ifndef TACET_STATISTICS_SITE_TABLE_H_
#define TACET_STATISTICS_SITE_TABLE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tacet/crypto/hash.h"
#include "tacet/table/column.h"

namespace tacet::statistics {

struct SiteTable {
  std::string name;                  // of the site
  std::vector<std::string> columns;  // distinct names
  std::vector<table::Column> cells;  // of each column, `rows` of them
  size_t rows = 0;

  // Place of the column; absent when the table has none of that name.
  std::optional<size_t> Find(std::string_view column) const;
};

// SHA-256 of names and values, below. It is unkeyed: it stays in memory (ledger/data_digest.h).
//   u64 number of tables; of each its name, u64 number of columns, their names, u64 number of rows,
//   then each column: u8 0 and its numbers as binary64; or u8 1, u64 number of distinct texts, the
//   texts, u32 number of each row's text.
// Names and texts have their length in front, u32. Texts are numbered in the order of their first
// rows; a missing number is 0x7ff8000000000000.
crypto::Digest TablesDigest(const std::vector<SiteTable>& tables);

// The whole text as a decimal number that IsOrdinary; absent when it is none.
std::optional<double> NumberOf(std::string_view text);
// Whether a table may hold the number: from -3.4e38 to 3.4e38, as binary32; false for NaN.
bool IsOrdinary(double number);

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_SITE_TABLE_H_
