// Test of a lock while processes that were forked from its holder live and end.
#ifndef TACET_STORAGE_FILE_FORKED_LOCK_FOR_TEST_H_
#define TACET_STORAGE_FILE_FORKED_LOCK_FOR_TEST_H_

#include "absl/status/status.h"
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tacet::storage::file {

// `held`: a pointer to what holds a lock that `open` needs. A training function may fork workers
// that outlive it.
template <typename Pointer, typename Open>
void ExpectForksNeitherKeepNorGiveUp(Pointer held, const Open& open) {
  const pid_t lasting = fork();
  if (lasting == 0) {
    for (;;) pause();
  }
  const pid_t ending = fork();
  if (ending == 0) {
    held.reset();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(ending, &status, 0), ending);
  EXPECT_EQ(open().status().code(), absl::StatusCode::kFailedPrecondition);
  held.reset();
  EXPECT_TRUE(open().ok());
  kill(lasting, SIGKILL);
  ASSERT_EQ(waitpid(lasting, &status, 0), lasting);
}

}  // namespace tacet::storage::file

#endif  // TACET_STORAGE_FILE_FORKED_LOCK_FOR_TEST_H_
