// LEAF's JSON.
#include <cstdlib>
#include <string_view>
#include <vector>

#include "tacet/data/leaf.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tacet::data::LeafReader reader;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (!reader.Add(text, "fuzz.json").ok()) return 0;
  const auto dataset = reader.Finish("fuzz.json");
  if (!dataset.ok()) return 0;
  // Every number takes at least two bytes of text.
  if (dataset->samples() * dataset->input_size() * 2 > size) std::abort();
  uint64_t rows = 0;
  std::vector<float> input(dataset->input_size());
  for (uint64_t client = 0; client < dataset->clients(); ++client) {
    for (const uint32_t row : dataset->rows(client)) {
      dataset->CopyInput(row, input);
      if (dataset->label(row) >= dataset->classes()) std::abort();
      ++rows;
    }
  }
  if (rows != dataset->samples() || rows == 0) std::abort();
  return 0;
}
