// Tables with clients. The first byte chooses the options; the rest is the text.
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "tacet/data/csv.h"

namespace {

using namespace tacet::data;

// Options of the first byte. With columns described, the first line of the text is taken for it.
bool ReadOptions(unsigned char choice, std::string_view& text, CsvOptions& options) {
  options.header = (choice & 1) != 0;
  if (!options.header) options.client = std::string("0");
  if ((choice & 2) != 0) options.separator = '\t';
  if ((choice & 4) != 0) options.classes = 3;
  if ((choice & 16) != 0) options.decimal = DecimalMark::kComma;
  if ((choice & 32) != 0) {
    options.classes = 0;
    options.labels = *CategoryList::Create({"no|nein|0", "yes|ja|1", "not known"});
  }
  if ((choice & 8) == 0) return true;
  options.client.clear();
  options.label_above = 0.5;
  options.missing = {"", "?"};
  const std::string_view line = text.substr(0, text.find('\n'));
  const auto feature = ParseCsvFeature(line);
  if (!feature.ok() || line.size() + 1 > text.size()) return false;
  options.features = {*feature};
  text.remove_prefix(line.size() + 1);
  return true;
}

// Problems of the whole file. Each names it, and none is found where reading succeeds.
uint64_t CountProblems(std::string_view text, const CsvOptions& options) {
  uint64_t problems = 0;
  CsvReader reader(options, [&problems](const TableProblem& problem) {
    if (problem.file != "fuzz.csv" || problem.fault.what.empty()) std::abort();
    ++problems;
  });
  if (!reader.Add(text, "fuzz.csv").ok()) std::abort();
  (void)reader.Finish("fuzz.csv");
  return problems;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  CsvOptions options;
  std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
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
