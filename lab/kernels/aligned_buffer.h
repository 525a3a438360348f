// Aligned memory for vector code.
#ifndef TACET_LAB_KERNELS_ALIGNED_BUFFER_H_
#define TACET_LAB_KERNELS_ALIGNED_BUFFER_H_

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace tacet::lab::kernels {

// `size` zeros, aligned to a page.
template <typename T>
class AlignedBuffer {
 public:
  explicit AlignedBuffer(size_t size) : size_(size), data_(Allocate(size)) { Clear(); }
  ~AlignedBuffer() { std::free(data_); }
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;

  T* data() { return data_; }
  size_t size() const { return size_; }
  void Clear() { std::fill_n(data_, size_, T{}); }

 private:
  static T* Allocate(size_t size) {
    constexpr size_t kAlignment = 4096;
    if (size > PTRDIFF_MAX / sizeof(T) - kAlignment) throw std::bad_alloc();
    const size_t bytes = std::max<size_t>(1, size * sizeof(T));
    void* data = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
    if (data == nullptr) throw std::bad_alloc();
    return static_cast<T*>(data);
  }

  size_t size_;
  T* data_;
};

}  // namespace tacet::lab::kernels

#endif  // TACET_LAB_KERNELS_ALIGNED_BUFFER_H_
