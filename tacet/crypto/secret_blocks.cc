#include "tacet/crypto/secret_blocks.h"

#include <array>
#include <bit>
#include <cstdint>
#include <new>
#include <span>

#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include "tacet/base/mutex.h"

namespace tacet::crypto {
namespace {

constexpr size_t kLeastBytes = 64;
constexpr size_t kRegionBytes = 64 << 10;

// Blocks have 64, 128, ..., 4096 bytes. Regions stay: keys come and go, their number hardly grows.
class SecretBlocks {
 public:
  static SecretBlocks& Get() {
    static SecretBlocks& blocks = *new SecretBlocks;
    return blocks;
  }

  void* Take(size_t bytes) {
    const size_t kind = KindOf(bytes);
    const base::MutexLock lock(mutex_);
    void* block = free_[kind];
    if (block != nullptr) {
      ASAN_UNPOISON_MEMORY_REGION(block, sizeof(Free));
      free_[kind] = free_[kind]->next;
      ASAN_POISON_MEMORY_REGION(block, sizeof(Free));
    } else {
      block = Cut(kLeastBytes << kind);
      if (block == nullptr) return nullptr;
    }
    ASAN_UNPOISON_MEMORY_REGION(block, bytes);
    return block;
  }

  void Return(void* block, size_t bytes) {
    const size_t kind = KindOf(bytes);
    const base::MutexLock lock(mutex_);
    ASAN_UNPOISON_MEMORY_REGION(block, sizeof(Free));
    free_[kind] = new (block) Free{free_[kind]};
    ASAN_POISON_MEMORY_REGION(block, kLeastBytes << kind);
  }

 private:
  struct Free {
    Free* next;
  };

  SecretBlocks() {
    ::pthread_atfork([]() ABSL_NO_THREAD_SAFETY_ANALYSIS { Get().mutex_.Lock(); },
                     []() ABSL_NO_THREAD_SAFETY_ANALYSIS { Get().mutex_.Unlock(); },
                     []() ABSL_NO_THREAD_SAFETY_ANALYSIS { Get().mutex_.Unlock(); });
  }

  static size_t KindOf(size_t bytes) { return std::bit_width((bytes - 1) / kLeastBytes); }

  // Null without memory.
  void* Cut(size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (rest_.size() < bytes) {
      void* const region =
          ::mmap(nullptr, kRegionBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (region == MAP_FAILED) return nullptr;
      (void)::madvise(region, kRegionBytes, MADV_DONTDUMP);
      (void)::mlock(region, kRegionBytes);
      rest_ = {static_cast<uint8_t*>(region), kRegionBytes};
      ASAN_POISON_MEMORY_REGION(region, kRegionBytes);
    }
    void* const block = rest_.data();
    rest_ = rest_.subspan(bytes);
    return block;
  }

  static constexpr size_t kKinds = std::bit_width(kMaxSecretBlockBytes / kLeastBytes);

  base::Mutex mutex_;
  std::array<Free*, kKinds> free_ ABSL_GUARDED_BY(mutex_) = {};
  std::span<uint8_t> rest_ ABSL_GUARDED_BY(mutex_);  // of the region mapped last
};

// Made before there are threads: a fork while one makes it would leave the child waiting for ever.
[[maybe_unused]] const SecretBlocks& kMadeAtStart = SecretBlocks::Get();

}  // namespace

void* TakeSecretBlock(size_t bytes) { return SecretBlocks::Get().Take(bytes); }
void ReturnSecretBlock(void* block, size_t bytes) { SecretBlocks::Get().Return(block, bytes); }

}  // namespace tacet::crypto
