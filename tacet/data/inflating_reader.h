// Reader of a stream that may be gzip-compressed; the caller sees the decompressed bytes.
#ifndef TACET_DATA_INFLATING_READER_H_
#define TACET_DATA_INFLATING_READER_H_

#include <cstddef>
#include <cstdint>
#include <istream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tacet::data {

// Expands straight into the caller's memory, never more than was asked for. Several gzip members
// one after the other are one stream, as in RFC 1952.
class InflatingReader {
 public:
  // `in` must outlive the reader; `name` begins every message.
  InflatingReader(std::istream& in, std::string_view name);
  ~InflatingReader();
  InflatingReader(const InflatingReader&) = delete;
  InflatingReader& operator=(const InflatingReader&) = delete;

  bool compressed() const { return inflater_ != nullptr; }

  // Fills as much of `bytes` as the stream has; returns how much. DataLoss when the compressed data
  // are malformed or end within a member.
  absl::StatusOr<size_t> Read(std::span<uint8_t> bytes);

 private:
  struct Inflater;

  bool Refill();  // false at the end of the stream
  absl::StatusOr<size_t> Inflate(std::span<uint8_t> bytes);

  std::istream& in_;
  std::string name_;
  std::vector<uint8_t> buffer_;
  std::span<const uint8_t> rest_;  // of buffer_
  std::unique_ptr<Inflater> inflater_;
};

}  // namespace tacet::data

#endif  // TACET_DATA_INFLATING_READER_H_
