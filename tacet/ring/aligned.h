// 64-byte-aligned buffer for public integers.
#ifndef TACET_RING_ALIGNED_H_
#define TACET_RING_ALIGNED_H_

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

namespace tacet::ring {

// Starts on a cache line; elements that are given no value are left undefined, so that large
// vectors are not written twice.
template <typename T>
struct AlignedAllocator {
  using value_type = T;
  static constexpr std::align_val_t kAlignment{64};

  AlignedAllocator() = default;
  template <typename Other>
  explicit(false) AlignedAllocator(const AlignedAllocator<Other>&) {}

  T* allocate(size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), kAlignment));
  }
  void deallocate(T* memory, size_t /*count*/) { ::operator delete(memory, kAlignment); }
  template <typename Object>
  void construct(Object* object) {
    ::new (static_cast<void*>(object)) Object;
  }
  template <typename Object, typename... Args>
  void construct(Object* object, Args&&... args) {
    ::new (static_cast<void*>(object)) Object(std::forward<Args>(args)...);
  }
  bool operator==(const AlignedAllocator&) const { return true; }
};

using AlignedWords = std::vector<uint64_t, AlignedAllocator<uint64_t>>;

}  // namespace tacet::ring

#endif  // TACET_RING_ALIGNED_H_
