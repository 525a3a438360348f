#include "tacet/data/idx.h"

#include <fstream>
#include <span>

#include "tacet/base/status.h"
#include "tacet/data/inflating_reader.h"

namespace tacet::data {
namespace {

constexpr uint64_t kMaxDeflateRatio = 1032;

uint64_t ElementBytes(IdxType type) { return type == IdxType::kI32 ? 4 : 1; }

uint32_t BigEndian(const uint8_t* bytes) {
  return (uint32_t{bytes[0]} << 24) | (uint32_t{bytes[1]} << 16) | (uint32_t{bytes[2]} << 8) |
         bytes[3];
}

absl::Status ReadExactly(InflatingReader& reader, std::span<uint8_t> bytes, std::string_view name,
                         std::string_view what) {
  TACET_ASSIGN_OR_RETURN(const size_t got, reader.Read(bytes));
  if (got != bytes.size()) {
    return base::DataLoss("{}: {} cut short: {} bytes expected, {} found", name, what, bytes.size(),
                          got);
  }
  return absl::OkStatus();
}

}  // namespace

int32_t IdxArray::Int32(uint64_t index) const {
  return static_cast<int32_t>(BigEndian(bytes.data() + 4 * index));
}

absl::StatusOr<IdxArray> ReadIdx(std::istream& in, uint64_t stream_bytes, std::string_view name,
                                 IdxType type, size_t rank) {
  InflatingReader reader(in, name);
  uint8_t magic[4];
  TACET_RETURN_IF_ERROR(ReadExactly(reader, magic, name, "IDX header"));
  if (magic[0] != 0 || magic[1] != 0) {
    return base::DataLoss("{}: not an IDX file: it starts with {:02x} {:02x}, not 00 00", name,
                          magic[0], magic[1]);
  }
  if (magic[2] != static_cast<uint8_t>(type)) {
    return base::InvalidArgument("{}: IDX element type is 0x{:02x}, expected 0x{:02x}", name,
                                 magic[2], static_cast<uint8_t>(type));
  }
  if (magic[3] != rank) {
    return base::InvalidArgument("{}: IDX array has {} dimensions, expected {}", name, magic[3],
                                 rank);
  }
  IdxArray array;
  uint64_t total = ElementBytes(type);
  for (size_t dimension = 0; dimension < rank; ++dimension) {
    uint8_t field[4];
    TACET_RETURN_IF_ERROR(ReadExactly(reader, field, name, "IDX header"));
    const uint64_t size = BigEndian(field);
    if (size != 0 && total > kMaxIdxBytes / size) {
      return base::InvalidArgument("{}: IDX header announces more than {} bytes", name,
                                   kMaxIdxBytes);
    }
    total *= size;
    array.sizes.push_back(size);
  }
  const uint64_t most = reader.compressed() ? stream_bytes * kMaxDeflateRatio : stream_bytes;
  if (total > most) {
    return base::DataLoss("{}: IDX header announces {} bytes, which a {} of {} bytes cannot hold",
                          name, total, reader.compressed() ? "gzip file" : "file", stream_bytes);
  }
  array.bytes.resize(total);
  TACET_RETURN_IF_ERROR(ReadExactly(reader, array.bytes, name, "IDX data"));
  uint8_t surplus[1];
  TACET_ASSIGN_OR_RETURN(const size_t left, reader.Read(surplus));
  if (left != 0) {
    return base::DataLoss("{}: more data than the {} bytes that the IDX header announces", name,
                          total);
  }
  return array;
}

absl::StatusOr<IdxArray> ReadIdxFile(const std::filesystem::path& path, IdxType type, size_t rank) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  const std::streamoff bytes = in ? static_cast<std::streamoff>(in.tellg()) : -1;
  if (bytes < 0) return base::NotFound("{}: the file cannot be read", path.string());
  in.seekg(0);
  return ReadIdx(in, static_cast<uint64_t>(bytes), path.string(), type, rank);
}

}  // namespace tacet::data
