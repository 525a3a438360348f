// An anchor of a committee seat as it lies on disk.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "tacet/member/seat_anchor.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tacet;
  const std::span<const uint8_t> bytes(data, size);
  const auto anchored = member::ReadSeatAnchor(bytes);
  // Accepted bytes are canonical.
  if (anchored.ok() && !std::ranges::equal(member::WriteSeatAnchor(*anchored), bytes)) std::abort();
  return 0;
}
