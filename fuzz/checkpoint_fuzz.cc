#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "tacet/federation/checkpoint.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tacet;
  const std::span<const uint8_t> bytes(data, size);
  const auto read = federation::ReadCheckpoint(bytes, base::Digest{}, 3);
  if (read.ok() && !std::ranges::equal(federation::WriteCheckpoint(*read), bytes)) std::abort();
  return 0;
}
