// A sketch of rows as it lies on disk, under a key of zeros.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "tacet/ledger/row_sketch.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tacet;
  static const crypto::SecretBytes key(ledger::kSketchKeyBytes);
  const std::span<const uint8_t> bytes(data, size);
  const auto sketch = ledger::ReadRowSketch(bytes, key);
  if (!sketch.ok()) return 0;
  // Accepted bytes are canonical and within their bounds.
  const base::Bytes again = ledger::WriteRowSketch(*sketch, key);
  if (!std::ranges::equal(again, bytes)) std::abort();
  if (sketch->digests().size() > ledger::kMaxSketchRows) std::abort();
  if (!sketch->digests().empty() && sketch->ShareIn(*sketch) != 1) std::abort();
  if (sketch->With(*sketch) != *sketch) std::abort();
  return 0;
}
