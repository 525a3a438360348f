#include "tacet/table/repeated_rows.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/hash/hash.h"

#include "tacet/base/status.h"
#include "tacet/table/row_shape.h"
#include "tacet/table/table_file.h"
#include "tacet/table/table_text.h"

namespace tacet::table {
namespace {

// Least number of different rows of a table that was appended to itself. The rows of a smaller one
// may come equally often by chance.
constexpr size_t kDistinctOfTable = 10;

uint64_t HashOfField(const std::string& field) { return absl::HashOf(field); }

}  // namespace

void RowComparison::Add(const std::vector<std::string>& fields, uint64_t line) {
  const uint64_t row = absl::HashOf(fields);
  const auto [seen, is_new] = seen_.try_emplace(row, Seen{.line = static_cast<uint32_t>(line)});
  ++seen->second.count;
  if (!is_new) {
    ++result_.repeated;
    if (result_.examples.size() < RepeatedRows::kMaxExamples) {
      result_.examples.push_back({.line = line, .earlier = seen->second.line});
    }
  }
  if (result_.rows++ % stride_ != 0) return;
  Sampled& sampled = sample_.emplace_back(Sampled{.row = row});
  std::ranges::transform(fields, std::back_inserter(sampled.fields), HashOfField);
  if (sample_.size() < kSample) return;
  for (size_t i = 1; i < kSample / 2; ++i) sample_[i] = std::move(sample_[2 * i]);
  sample_.resize(kSample / 2);
  stride_ *= 2;
}

double RowComparison::CopiesByChance() const {
  double pairs = 0;
  std::vector<double> agree(sample_.empty() ? 0 : sample_[0].fields.size(), 0.0);
  for (size_t i = 0; i < sample_.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (sample_[i].row == sample_[j].row) continue;
      ++pairs;
      for (size_t column = 0; column < agree.size(); ++column) {
        agree[column] += sample_[i].fields[column] == sample_[j].fields[column] ? 1 : 0;
      }
    }
  }
  const auto rows = static_cast<double>(result_.rows);
  double copies = rows * (rows - 1) / 2;
  for (const double of_column : agree) copies *= pairs > 0 ? of_column / pairs : 1;
  return copies;
}

bool RowComparison::ComeEquallyOften() const {
  const uint32_t count = seen_.begin()->second.count;
  return seen_.size() >= kDistinctOfTable &&
         std::ranges::all_of(seen_, [count](const auto& of) { return of.second.count == count; });
}

RepeatedRows RowComparison::Result() const {
  RepeatedRows result = result_;
  if (result.repeated == 0 || result.rows < kFewRows) return result;
  result.beyond_chance = (4 * result.repeated <= result.rows || ComeEquallyOften()) &&
                         static_cast<double>(result.repeated) > kSlack * CopiesByChance();
  return result;
}

absl::StatusOr<RepeatedRows> FindRepeatedRows(const std::filesystem::path& path,
                                              const RowFormat& format) {
  TACET_ASSIGN_OR_RETURN(const TableFile file, TableFile::Open(path));
  if (const auto& problem = file.encoding_problem(); problem.has_value() && problem->line == 0) {
    return RepeatedRows();
  }
  TableRecords records = file.Records();
  const std::optional<char> separator = ChooseSeparator(records, path.string(), format.separator,
                                                        format.known, format.has_decimal_comma);
  std::vector<std::string> fields;
  const TableRecords::Result first =
      separator.has_value() ? records.Peek(*separator, fields) : TableRecords::Result::kEnd;
  if (first != TableRecords::Result::kRecord) return RepeatedRows();
  RowShape shape(fields.size(), *separator);
  std::vector<size_t> nameless;
  if (format.has_header) {
    records.Next(*separator, fields);
    shape = RowShape::OfHeader(fields, *separator);
    for (size_t i = fields.size(); i-- > 0;) {
      if (IsNameless(fields[i])) nameless.push_back(i);
    }
  }
  RowComparison comparison;
  while (true) {
    const TableRecords::Result result = records.Next(*separator, fields);
    if (result == TableRecords::Result::kEnd || result == TableRecords::Result::kTooLong ||
        result == TableRecords::Result::kUnreadable) {
      return comparison.Result();
    }
    if (result != TableRecords::Result::kRecord ||
        shape.Fit(fields, records.first_is_quoted()).has_value()) {
      records.ResumeBehindFirstLine();
      continue;
    }
    for (const size_t column : nameless) {
      fields.erase(fields.begin() + static_cast<ptrdiff_t>(column));
    }
    comparison.Add(fields, records.line());
  }
}

}  // namespace tacet::table
