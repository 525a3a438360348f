// Bounded reading and writing of the little-endian formats in docs/formats.
#ifndef TACET_BASE_BYTES_H_
#define TACET_BASE_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tacet::base {

using Bytes = std::vector<uint8_t>;

// Reads a hostile message front to back. Every method names the field it reads, so that an error
// says which one is wrong: "upload: field `round` is cut short: 4 bytes needed, 2 left". Nothing
// is allocated before the length has been checked. Spans point into the message.
class ByteReader {
 public:
  // `what` names the message in errors and must outlive the reader (a string literal).
  ByteReader(std::span<const uint8_t> bytes, std::string_view what) : rest_(bytes), what_(what) {}

  absl::StatusOr<uint8_t> ReadU8(std::string_view field);
  absl::StatusOr<uint16_t> ReadU16(std::string_view field);
  absl::StatusOr<uint32_t> ReadU32(std::string_view field);
  absl::StatusOr<uint64_t> ReadU64(std::string_view field);
  // Any bit pattern, also NaN and infinities.
  absl::StatusOr<double> ReadF64(std::string_view field);
  // Exactly `size` bytes.
  absl::StatusOr<std::span<const uint8_t>> ReadBytes(size_t size, std::string_view field);
  // A u32 length, at most `max_size`, then that many bytes.
  absl::StatusOr<std::span<const uint8_t>> ReadBlob(size_t max_size, std::string_view field);
  // The same as text; the bytes are not checked to be UTF-8.
  absl::StatusOr<std::string> ReadString(size_t max_size, std::string_view field);
  // An error unless the next bytes are `expected` (a magic number or a constant).
  absl::Status Expect(std::span<const uint8_t> expected, std::string_view field);
  // An error when bytes are left over.
  absl::Status ExpectEnd() const;

  size_t remaining() const { return rest_.size(); }
  std::string_view what() const { return what_; }

 private:
  std::span<const uint8_t> rest_;
  std::string_view what_;
};

// Appends little-endian fields to a growing buffer.
class ByteWriter {
 public:
  void Reserve(size_t bytes) { bytes_.reserve(bytes); }
  void U8(uint8_t value) { bytes_.push_back(value); }
  void U16(uint16_t value);
  void U32(uint32_t value);
  void U64(uint64_t value);
  void F64(double value);
  void Raw(std::span<const uint8_t> bytes);
  void Raw(std::string_view text);
  // A u32 length, then the bytes. The caller keeps blobs below 4 GiB.
  void Blob(std::span<const uint8_t> bytes);
  void Blob(std::string_view text);

  const Bytes& bytes() const { return bytes_; }
  Bytes Take() { return std::move(bytes_); }

 private:
  Bytes bytes_;
};

std::span<const uint8_t> AsBytes(std::string_view text);
std::string_view AsText(std::span<const uint8_t> bytes);

// Unaligned little-endian access for code that has checked the bounds itself.
uint32_t LoadU32(const uint8_t* bytes);
uint64_t LoadU64(const uint8_t* bytes);
void StoreU32(uint32_t value, uint8_t* bytes);
void StoreU64(uint64_t value, uint8_t* bytes);

std::string ToHex(std::span<const uint8_t> bytes);
// InvalidArgument unless `text` is 2·n lower- or upper-case hexadecimal digits.
absl::StatusOr<Bytes> FromHex(std::string_view text);

}  // namespace tacet::base

#endif  // TACET_BASE_BYTES_H_
