// The IDX array format of MNIST, plain or gzip-compressed. docs/formats/datasets.md.
#ifndef TACET_DATA_IDX_H_
#define TACET_DATA_IDX_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <istream>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tacet::data {

// The third byte of the header: the type of an element. Others exist and are not read here.
enum class IdxType : uint8_t { kU8 = 0x08, kI32 = 0x0C };

struct IdxArray {
  std::vector<uint64_t> sizes;  // one a dimension, slowest first
  std::vector<uint8_t> bytes;   // the elements, row-major, big-endian

  int32_t Int32(uint64_t index) const;  // of an array of kI32, index < bytes.size() / 4
};

// No array of more than 4 GiB is read.
inline constexpr uint64_t kMaxIdxBytes = uint64_t{1} << 32;

// Reads an array of `rank` (1 to 4) dimensions and elements of `type` from `in`, which has
// `stream_bytes` bytes left and is gzip when it starts with 1f 8b. Sizes are checked against the
// length of the stream (for gzip: against 1032 times that, the most deflate can expand) before
// memory is taken, and no more is expanded than the header announces. DataLoss for bytes that are
// truncated, surplus or malformed, InvalidArgument for another type or rank; messages start with
// `name`.
absl::StatusOr<IdxArray> ReadIdx(std::istream& in, uint64_t stream_bytes, std::string_view name,
                                 IdxType type, size_t rank);

// The same from a file; NotFound when it cannot be opened.
absl::StatusOr<IdxArray> ReadIdxFile(const std::filesystem::path& path, IdxType type, size_t rank);

}  // namespace tacet::data

#endif  // TACET_DATA_IDX_H_
