// Tables with owners. The first byte chooses the options; the rest is the text.
#include <cstdlib>
#include <string_view>
#include <vector>

#include "tacet/learning/csv.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  tacet::learning::CsvOptions options;
  options.header = (data[0] & 1) != 0;
  if (!options.header) options.owner = "0";
  if ((data[0] & 2) != 0) options.delimiter = '\t';
  if ((data[0] & 4) != 0) options.classes = 3;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto dataset = tacet::learning::ParseCsv(text, "fuzz.csv", options);
  if (!dataset.ok()) return 0;
  std::vector<float> input(dataset->input_size());
  uint64_t rows = 0;
  for (uint64_t owner = 0; owner < dataset->owners(); ++owner) {
    for (const uint32_t row : dataset->rows(owner)) {
      dataset->CopyInput(row, input);
      if (dataset->label(row) >= dataset->classes()) std::abort();
      ++rows;
    }
  }
  if (rows != dataset->samples() || rows == 0) std::abort();
  return 0;
}
