// Tables with clients. The first byte chooses the options; the rest is the text.
#include <cstdlib>
#include <string_view>
#include <vector>

#include "tacet/data/csv.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  tacet::data::CsvOptions options;
  options.header = (data[0] & 1) != 0;
  if (!options.header) options.client = "0";
  if ((data[0] & 2) != 0) options.delimiter = '\t';
  if ((data[0] & 4) != 0) options.classes = 3;
  if ((data[0] & 8) != 0) {  // columns described by the first line of the text
    options.client = "";
    options.label_above = 0.5;
    options.missing = {"", "?"};
    const std::string_view whole(reinterpret_cast<const char*>(data) + 1, size - 1);
    const std::string_view line = whole.substr(0, whole.find('\n'));
    const auto feature = tacet::data::ParseCsvFeature(line);
    if (feature.ok()) options.features = {*feature};
    if (!feature.ok() || line.size() + 1 > whole.size()) return 0;
    data += line.size() + 1;
    size -= line.size() + 1;
  }
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto dataset = tacet::data::ParseCsv(text, "fuzz.csv", options);
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
