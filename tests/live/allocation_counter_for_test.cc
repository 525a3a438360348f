#include "tests/live/allocation_counter_for_test.h"

#include <atomic>
#include <cerrno>

// The allocator of the C library, below the functions that are replaced here.
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
}

namespace {

std::atomic<size_t> wanted = 0;
std::atomic<size_t> counted = 0;

void Note(size_t bytes) {
  const size_t least = wanted.load(std::memory_order_relaxed);
  if (least != 0 && bytes >= least && bytes < least + 64) ++counted;
}

}  // namespace

extern "C" {

void tacet_count_allocations(size_t bytes) {
  wanted = bytes;
  if (bytes != 0) counted = 0;
}
size_t tacet_counted_allocations() { return counted; }

void* malloc(size_t bytes) {
  Note(bytes);
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  Note(count * bytes);
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, size_t bytes) {
  Note(bytes);
  return __libc_realloc(memory, bytes);
}
void* memalign(size_t alignment, size_t bytes) {
  Note(bytes);
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  Note(bytes);
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  Note(bytes);
  *memory = __libc_memalign(alignment, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}

}  // extern "C"
