#include "tacet/base/bytes.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "tacet/base/status.h"

namespace tacet::base {
namespace {

static_assert(std::endian::native == std::endian::little, "tacet runs on little-endian machines");

template <typename T>
T Load(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

template <typename T>
void Append(T value, Bytes& bytes) {
  const size_t at = bytes.size();
  bytes.resize(at + sizeof(T));
  std::memcpy(bytes.data() + at, &value, sizeof(T));
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

absl::StatusOr<std::span<const uint8_t>> ByteReader::ReadBytes(size_t size,
                                                               std::string_view field) {
  if (size > rest_.size()) {
    return DataLoss("{}: field `{}` is cut short: {} bytes needed, {} left", what_, field, size,
                    rest_.size());
  }
  const auto bytes = rest_.first(size);
  rest_ = rest_.subspan(size);
  return bytes;
}

absl::StatusOr<uint8_t> ByteReader::ReadU8(std::string_view field) {
  TACET_ASSIGN_OR_RETURN(const auto bytes, ReadBytes(1, field));
  return bytes[0];
}
absl::StatusOr<uint16_t> ByteReader::ReadU16(std::string_view field) {
  TACET_ASSIGN_OR_RETURN(const auto bytes, ReadBytes(2, field));
  return Load<uint16_t>(bytes.data());
}
absl::StatusOr<uint32_t> ByteReader::ReadU32(std::string_view field) {
  TACET_ASSIGN_OR_RETURN(const auto bytes, ReadBytes(4, field));
  return Load<uint32_t>(bytes.data());
}
absl::StatusOr<uint64_t> ByteReader::ReadU64(std::string_view field) {
  TACET_ASSIGN_OR_RETURN(const auto bytes, ReadBytes(8, field));
  return Load<uint64_t>(bytes.data());
}
absl::StatusOr<double> ByteReader::ReadF64(std::string_view field) {
  TACET_ASSIGN_OR_RETURN(const auto bytes, ReadBytes(8, field));
  return Load<double>(bytes.data());
}

absl::StatusOr<std::span<const uint8_t>> ByteReader::ReadBlob(size_t max_size,
                                                              std::string_view field) {
  TACET_ASSIGN_OR_RETURN(const uint32_t size, ReadU32(field));
  if (size > max_size) {
    return DataLoss("{}: field `{}` says it has {} bytes, at most {} are allowed", what_, field,
                    size, max_size);
  }
  return ReadBytes(size, field);
}

absl::StatusOr<std::string> ByteReader::ReadString(size_t max_size, std::string_view field) {
  TACET_ASSIGN_OR_RETURN(const auto bytes, ReadBlob(max_size, field));
  return std::string(AsText(bytes));
}

absl::Status ByteReader::Expect(std::span<const uint8_t> expected, std::string_view field) {
  TACET_ASSIGN_OR_RETURN(const auto bytes, ReadBytes(expected.size(), field));
  if (!std::equal(bytes.begin(), bytes.end(), expected.begin())) {
    return DataLoss("{}: field `{}` is {}, expected {}", what_, field, ToHex(bytes),
                    ToHex(expected));
  }
  return absl::OkStatus();
}

absl::Status ByteReader::ExpectEnd() const {
  if (rest_.empty()) return absl::OkStatus();
  return DataLoss("{}: {} bytes too many at the end", what_, rest_.size());
}

void ByteWriter::U16(uint16_t value) { Append(value, bytes_); }
void ByteWriter::U32(uint32_t value) { Append(value, bytes_); }
void ByteWriter::U64(uint64_t value) { Append(value, bytes_); }
void ByteWriter::F64(double value) { Append(value, bytes_); }
void ByteWriter::Raw(std::span<const uint8_t> bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}
void ByteWriter::Raw(std::string_view text) { Raw(AsBytes(text)); }
void ByteWriter::Blob(std::span<const uint8_t> bytes) {
  U32(static_cast<uint32_t>(bytes.size()));
  Raw(bytes);
}
void ByteWriter::Blob(std::string_view text) { Blob(AsBytes(text)); }

std::span<const uint8_t> AsBytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}
std::string_view AsText(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

uint32_t LoadU32(const uint8_t* bytes) { return Load<uint32_t>(bytes); }
uint64_t LoadU64(const uint8_t* bytes) { return Load<uint64_t>(bytes); }
void StoreU32(uint32_t value, uint8_t* bytes) { std::memcpy(bytes, &value, sizeof(value)); }
void StoreU64(uint64_t value, uint8_t* bytes) { std::memcpy(bytes, &value, sizeof(value)); }

std::string ToHex(std::span<const uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const uint8_t byte : bytes) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

absl::StatusOr<Bytes> FromHex(std::string_view text) {
  if (text.size() % 2 != 0) {
    return InvalidArgument("{} hexadecimal digits do not make whole bytes", text.size());
  }
  Bytes bytes;
  bytes.reserve(text.size() / 2);
  for (size_t i = 0; i < text.size(); i += 2) {
    const int high = HexDigit(text[i]);
    const int low = HexDigit(text[i + 1]);
    if (high < 0 || low < 0) {
      return InvalidArgument("characters {} and {} are not both hexadecimal digits", i, i + 1);
    }
    bytes.push_back(static_cast<uint8_t>(high << 4 | low));
  }
  return bytes;
}

}  // namespace tacet::base
