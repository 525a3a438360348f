// Tables with clients. The first byte chooses the options; the rest is the text, which has the same
// records in memory and in pieces.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tacet/data/csv.h"
#include "tacet/data/csv_for_test.h"
#include "tacet/table/agreed_values.h"
#include "tacet/table/table_text.h"
#include "tacet/table/thousands.h"
#include "tacet/table/utf16_text.h"

namespace {

using namespace tacet::data;
using namespace tacet::table;

// Takes the first line from the text; false where it has no end.
bool TakeLine(std::string_view& text, std::string_view& line) {
  line = text.substr(0, text.find('\n'));
  if (line.size() + 1 > text.size()) return false;
  text.remove_prefix(line.size() + 1);
  return true;
}

// Options of the first byte. Spellings, and a described column, are first lines of the text.
bool ReadOptions(unsigned char choice, std::string_view& text, CsvOptions& options) {
  if ((choice & 1) == 0) {
    options.columns = {"site", "a", "b", "ill"};
    options.client = std::string("0");
  }
  if ((choice & 2) != 0) options.separator = '\t';
  if ((choice & 4) != 0) options.classes = 3;
  if ((choice & 16) != 0) options.decimal = DecimalMark::kComma;
  if ((choice & 4) != 0) {
    options.thousands = (choice & 16) != 0 ? Thousands::kBlank : Thousands::kComma;
  }
  if ((choice & 32) != 0) {
    options.classes = 0;
    options.labels = *CategoryList::Create({"no|nein|0", "yes|ja|1", "not known"});
  }
  std::string_view line;
  if ((choice & 128) != 0) {
    if (!TakeLine(text, line)) return false;
    const auto spellings = ParseAgreedValues(line);
    if (!spellings.ok()) return false;
    options.spellings = {*spellings};
  }
  if ((choice & 8) == 0) return true;
  options.client.clear();
  options.label_above = 0.5;
  options.missing = {"", "?"};
  if (!TakeLine(text, line)) return false;
  const auto feature = ParseCsvFeature(line);
  if (!feature.ok()) return false;
  options.features = {*feature};
  return true;
}

// Problems of the whole file. Each names it, and none is found where reading succeeds.
uint64_t CountProblems(std::string_view text, const CsvOptions& options) {
  uint64_t problems = 0;
  const auto count = [&problems](const TableProblem& problem) {
    if (problem.file != "fuzz.csv" || problem.fault.what.empty()) std::abort();
    ++problems;
  };
  CsvReader reader(options, {.of_rows = count, .of_files = count});
  if (!reader.Add(text, "fuzz.csv").ok()) std::abort();
  const auto dataset = reader.Finish("fuzz.csv");
  if (dataset.ok() && problems == 0 && dataset->readable_samples() != dataset->samples()) {
    std::abort();
  }
  return problems;
}

class TextInPieces final : public TextSource {
 public:
  explicit TextInPieces(std::string_view text) : rest_(text) {}
  std::optional<size_t> Read(std::span<char> piece) override {
    const std::string_view part = rest_.substr(0, piece.size());
    std::ranges::copy(part, piece.begin());
    rest_.remove_prefix(part.size());
    return part.size();
  }

 private:
  std::string_view rest_;
};

// `resume`: behind the first line of each record.
void CheckPieces(std::string_view text, char separator, size_t piece, bool resume) {
  TableRecords whole(text);
  TableRecords parts(std::make_unique<TextInPieces>(text), text.find('\n') != text.npos, piece);
  std::vector<std::string> fields, others;
  if (FindSeparator(whole, {"a"}, false) != FindSeparator(parts, {"a"}, false)) std::abort();
  while (true) {
    const TableRecords::Result result = whole.Next(separator, fields);
    if (parts.Next(separator, others) != result) std::abort();
    if (result == TableRecords::Result::kEnd) break;
    if (fields != others || whole.line() != parts.line()) std::abort();
    if (!resume) continue;
    whole.ResumeBehindFirstLine();
    parts.ResumeBehindFirstLine();
  }
  EncodingCheck check;
  std::string_view rest = text;
  for (std::string window; !check.is_wrong();) {
    const size_t size = std::min(piece, rest.size());
    window += rest.substr(0, size);
    rest.remove_prefix(size);
    window.erase(0, check.Take(window, rest.empty()));
    if (rest.empty()) break;
  }
  const std::optional<TableProblem> found = check.Problem("fuzz.csv");
  const std::optional<TableProblem> expected = EncodingProblem(text, "fuzz.csv");
  if (found.has_value() != expected.has_value()) std::abort();
  if (found.has_value() && ProblemText(*found) != ProblemText(*expected)) std::abort();
}

// UTF-16 in pieces of two sizes gives one text.
void CheckUtf16(std::string_view bytes, size_t piece) {
  const std::optional<ByteOrder> order = Utf16OrderOf(bytes.substr(0, 4));
  if (!order.has_value()) return;
  const auto decoded = [&](size_t size) {
    Utf16Source source(std::make_unique<TextInPieces>(bytes), *order);
    std::string text, part(size, '\0');
    while (true) {
      const std::optional<size_t> read = source.Read(part);
      if (!read.has_value() || *read > size) std::abort();
      text.append(part, 0, *read);
      if (*read < size) return text;
    }
  };
  const std::string text = decoded(piece);
  if (text != decoded(1 << 12) || text.size() > 2 * bytes.size()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  CsvOptions options;
  std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  CheckPieces(text, (data[0] & 64) != 0 ? ';' : ',', 1 + data[0] % 13, (data[0] & 128) != 0);
  CheckUtf16(text, 1 + data[0] % 13);
  if (!ReadOptions(data[0], text, options)) return 0;
  const uint64_t problems = CountProblems(text, options);
  const auto dataset = ParseCsv(text, "fuzz.csv", options);
  if (dataset.ok() != (problems == 0)) std::abort();
  if (!dataset.ok()) return 0;
  std::vector<float> input(dataset->input_size());
  uint64_t rows = 0;
  for (uint64_t client = 0; client < dataset->clients(); ++client) {
    for (const uint32_t row : dataset->rows(client)) {
      dataset->CopyInput(row, input);
      for (const float value : input) {
        if (!options.features.empty() && !(value >= -1 && value <= 1)) std::abort();
      }
      if (dataset->label(row) >= dataset->classes()) std::abort();
      ++rows;
    }
  }
  if (rows != dataset->samples() || rows == 0) std::abort();
  return 0;
}
