// A fuzz target's input as a source of words.
#ifndef TACET_FUZZ_BYTE_SOURCE_H_
#define TACET_FUZZ_BYTE_SOURCE_H_

#include <cstddef>
#include <cstdint>

namespace tacet::fuzz {

// The input's bytes, over and over; zeros when there are none.
class ByteSource {
 public:
  ByteSource(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  uint64_t Next() {
    uint64_t word = 0;
    for (int i = 0; i < 8 && size_ > 0; ++i) word = word << 8 | data_[next_++ % size_];
    return word;
  }

 private:
  const uint8_t* data_;
  size_t size_;
  size_t next_ = 0;
};

}  // namespace tacet::fuzz

#endif  // TACET_FUZZ_BYTE_SOURCE_H_
