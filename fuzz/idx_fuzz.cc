// IDX files, plain and gzip. The first byte chooses what the reader expects; the rest is the file.
#include <cstdlib>
#include <sstream>
#include <string>

#include "tacet/data/idx.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using tacet::data::IdxType;
  if (size < 1) return 0;
  const IdxType type = (data[0] & 4) != 0 ? IdxType::kI32 : IdxType::kU8;
  const size_t rank = 1 + (data[0] & 3);
  const std::string file(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::istringstream in(file);
  const auto array = tacet::data::ReadIdx(in, file.size(), "fuzz.idx", type, rank);
  if (!array.ok()) return 0;
  uint64_t bytes = type == IdxType::kI32 ? 4 : 1;
  for (const uint64_t extent : array->sizes) bytes *= extent;
  if (array->sizes.size() != rank || bytes != array->bytes.size()) std::abort();
  if (type == IdxType::kI32 && bytes > 0) array->Int32(bytes / 4 - 1);
  return 0;
}
