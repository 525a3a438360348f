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

// Columns in which more pairs agree tell too few rows apart.
constexpr double kMostAgreeing = 0.75;

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
  // A draw by number, since rows may alternate; the same in every run (Fibonacci hashing).
  const uint64_t draw = (result_.rows++ * 0x9E3779B97F4A7C15U) >> 32;
  if (draw % stride_ != 0) return;
  Sampled& sampled = sample_.emplace_back(Sampled{.draw = draw, .row = row});
  std::ranges::transform(fields, std::back_inserter(sampled.fields), HashOfField);
  if (sample_.size() < kSample) return;
  stride_ *= 2;
  std::erase_if(sample_, [this](const Sampled& of) { return of.draw % stride_ != 0; });
}

std::vector<double> RowComparison::SharesThatAgree() const {
  double pairs = 0;
  std::vector<double> shares(sample_[0].fields.size(), 0.0);
  for (size_t i = 0; i < sample_.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (sample_[i].row == sample_[j].row) continue;
      ++pairs;
      for (size_t column = 0; column < shares.size(); ++column) {
        shares[column] += sample_[i].fields[column] == sample_[j].fields[column] ? 1 : 0;
      }
    }
  }
  for (double& share : shares) share = pairs > 0 ? share / pairs : 1;
  return shares;
}

bool RowComparison::ComeEquallyOften() const {
  const uint32_t count = seen_.begin()->second.count;
  return seen_.size() >= kDistinctOfTable &&
         std::ranges::all_of(seen_, [count](const auto& of) { return of.second.count == count; });
}

RepeatedRows RowComparison::Result() const {
  RepeatedRows result = result_;
  if (result.repeated == 0 || result.rows < kFewRows) return result;
  std::vector<double> shares = SharesThatAgree();
  std::ranges::sort(shares);
  double others = 1;  // share of pairs that agree in all columns but the most telling one
  for (size_t i = 1; i < shares.size(); ++i) others *= shares[i];
  const auto rows = static_cast<double>(result.rows);
  const double by_chance = rows * (rows - 1) / 2 * shares[0] * others;
  const bool are_few = 4 * result.repeated <= result.rows && others < kMostAgreeing;
  result.beyond_chance =
      (are_few || ComeEquallyOften()) && static_cast<double>(result.repeated) > kSlack * by_chance;
  return result;
}

absl::StatusOr<RepeatedRows> FindRepeatedRows(const std::filesystem::path& path,
                                              const RowFormat& format) {
  TACET_ASSIGN_OR_RETURN(const TableFile file, TableFile::Open(path));
  if (const auto& problem = file.encoding_problem(); problem.has_value() && problem->line == 0) {
    return RepeatedRows();
  }
  TableRecords records = file.Records();
  std::optional<char> separator = format.separator;
  if (!separator.has_value()) {
    separator = SeparatorOfRows([&file] { return file.Records(); }, format.columns);
  }
  separator =
      ChooseSeparator(records, path.string(), separator, format.known, format.has_decimal_comma);
  if (!separator.has_value()) return RepeatedRows();
  RowShape shape(format.columns, *separator);
  std::vector<std::string> fields;
  std::vector<size_t> nameless;
  if (format.columns == 0) {
    if (records.Next(*separator, fields) != TableRecords::Result::kRecord) return RepeatedRows();
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
