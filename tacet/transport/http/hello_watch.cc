#include "tacet/transport/http/hello_watch.h"

#include <algorithm>

namespace tacet::transport::http {
namespace {

constexpr uint8_t kHandshake = 22;

// The next `most` bytes, or those that there are.
std::span<const uint8_t> Take(std::span<const uint8_t>& bytes, size_t most) {
  const auto taken = bytes.first(std::min(most, bytes.size()));
  bytes = bytes.subspan(taken.size());
  return taken;
}

// Into a header of which `filled` bytes are there. True when it is complete.
template <size_t kSize>
bool Fill(std::array<uint8_t, kSize>& header, size_t& filled, std::span<const uint8_t>& bytes) {
  for (; !bytes.empty() && filled < kSize; bytes = bytes.subspan(1)) {
    header[filled++] = bytes.front();
  }
  return filled == kSize;
}

}  // namespace

bool HelloWatch::Admits(std::span<const uint8_t> bytes) {
  while (!bytes.empty() && !refused_) {
    if (record_left_ == 0) {
      if (!Fill(record_, record_bytes_, bytes)) break;
      record_left_ = size_t{record_[3]} << 8 | record_[4];
      record_bytes_ = 0;
    }
    const auto content = Take(bytes, record_left_);
    record_left_ -= content.size();
    if (record_[0] == kHandshake) refused_ = !AdmitsHandshake(content);
  }
  return !refused_;
}

bool HelloWatch::AdmitsHandshake(std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    if (message_left_ == 0) {
      if (!Fill(message_, message_bytes_, bytes)) break;
      message_left_ = size_t{message_[1]} << 16 | size_t{message_[2]} << 8 | message_[3];
      message_bytes_ = 0;
      if (message_left_ > kMaxHelloBytes) return false;
    }
    message_left_ -= Take(bytes, message_left_).size();
  }
  return true;
}

}  // namespace tacet::transport::http
