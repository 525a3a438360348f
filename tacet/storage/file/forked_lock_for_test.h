// Test of a lock while processes that were forked from its holder live and end.
#ifndef TACET_STORAGE_FILE_FORKED_LOCK_FOR_TEST_H_
#define TACET_STORAGE_FILE_FORKED_LOCK_FOR_TEST_H_

#include "absl/status/status.h"
#include <gtest/gtest.h>
#include <unistd.h>

#include "tacet/base/child_for_test.h"

namespace tacet::storage::file {

// `held`: a pointer to what holds a lock that `open` needs. A training function may fork workers
// that outlive it.
template <typename Pointer, typename Open>
void ExpectForksNeitherKeepNorGiveUp(Pointer held, const Open& open) {
  base::Child lasting([](int) -> int {
    for (;;) ::pause();
  });
  EXPECT_EQ(base::ExitCodeInChild([&] {
              held.reset();
              return 0;
            }),
            0);
  EXPECT_EQ(open().status().code(), absl::StatusCode::kFailedPrecondition);
  held.reset();
  EXPECT_TRUE(open().ok());
  lasting.Kill();
  EXPECT_EQ(lasting.ExitCode(), -1);
}

}  // namespace tacet::storage::file

#endif  // TACET_STORAGE_FILE_FORKED_LOCK_FOR_TEST_H_
