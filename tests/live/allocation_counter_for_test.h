// Hook of the allocator of the whole process, which counts memory of one size: copies of an update.
#ifndef TACET_TESTS_LIVE_ALLOCATION_COUNTER_FOR_TEST_H_
#define TACET_TESTS_LIVE_ALLOCATION_COUNTER_FOR_TEST_H_

#include <cstddef>

extern "C" {
// Counts from now on each allocation of `bytes`, or of up to 63 more for its alignment, by any
// thread. 0 ends the count.
void tacet_count_allocations(size_t bytes);
// Number since the last call of tacet_count_allocations with another size than 0.
size_t tacet_counted_allocations();
}

#endif  // TACET_TESTS_LIVE_ALLOCATION_COUNTER_FOR_TEST_H_
