// Memory for secrets: move-only, wiped on destruction, read through one greppable call.
#ifndef TACET_CRYPTO_SECRET_H_
#define TACET_CRYPTO_SECRET_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

namespace tacet::crypto {

// Overwrites memory in a way the compiler may not remove.
void Wipe(void* memory, size_t bytes);

// True when both have the same length and content; takes the same time wherever they differ.
bool ConstantTimeEqual(std::span<const uint8_t> a, std::span<const uint8_t> b);

// Zeroed memory for `count` objects of `size` bytes, 64-byte aligned; aborts on exhaustion and when
// count * size overflows.
void* AllocateSecret(size_t count, size_t size);
void FreeSecret(void* memory, size_t bytes);  // wipes first

// A fixed number of `T` that never leaves a copy behind: no copying, wiped on destruction and on
// being moved from. Starts as zeros.
template <typename T>
class SecretVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  SecretVector() = default;
  explicit SecretVector(size_t size)
      : data_(size == 0 ? nullptr : static_cast<T*>(AllocateSecret(size, sizeof(T)))),
        size_(size) {}
  ~SecretVector() { Reset(); }

  SecretVector(SecretVector&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  SecretVector& operator=(SecretVector&& other) noexcept {
    if (this != &other) {
      Reset();
      data_ = std::exchange(other.data_, nullptr);
      size_ = std::exchange(other.size_, 0);
    }
    return *this;
  }
  SecretVector(const SecretVector&) = delete;
  SecretVector& operator=(const SecretVector&) = delete;

  // A deliberate copy: of a slice handed over by a library, or of another secret.
  static SecretVector CopyOf(std::span<const T> values) {
    SecretVector copy(values.size());
    for (size_t i = 0; i < copy.size_; ++i) copy.data_[i] = values[i];
    return copy;
  }

  // The only way to the content: every use of a secret can be found by searching for this name.
  std::span<T> Expose() { return {data_, size_}; }
  std::span<const T> Expose() const { return {data_, size_}; }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  void Reset() {
    if (data_ != nullptr) FreeSecret(data_, size_ * sizeof(T));
    data_ = nullptr;
    size_ = 0;
  }

  T* data_ = nullptr;
  size_t size_ = 0;
};

using SecretBytes = SecretVector<uint8_t>;

}  // namespace tacet::crypto

#endif  // TACET_CRYPTO_SECRET_H_
