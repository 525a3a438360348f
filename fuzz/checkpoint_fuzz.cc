// Checkpoints, plain as in a folder or encrypted: the first byte picks the format of the rest.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "fuzz/fuzz_checkpoint.h"
#include "tacet/protocol/checkpoint.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tacet;
  if (size == 0) return 0;
  const std::span<const uint8_t> bytes(data + 1, size - 1);
  if (data[0] % 2 == 0) {
    for (const uint64_t velocity : {0, 3}) {
      const auto read = protocol::ReadCheckpoint(bytes, crypto::Digest{}, 0,
                                                 {.parameters = 3, .velocity = velocity});
      if (read.ok() && !std::ranges::equal(protocol::WriteCheckpoint(*read), bytes)) std::abort();
    }
    return 0;
  }
  static const fuzz::FuzzCheckpoint& known = *new fuzz::FuzzCheckpoint;
  const auto opened =
      protocol::DecryptCheckpoint(bytes, known.manifest, known.start, known.epoch_key);
  if (opened.ok() && opened->model != known.state.model) std::abort();
  return 0;
}
