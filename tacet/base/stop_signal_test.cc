#include "tacet/base/stop_signal.h"

#include <csignal>

#include "gtest/gtest.h"
#include <sys/wait.h>
#include <unistd.h>

namespace tacet::base {
namespace {

TEST(StopSignalTest, TheFirstIsRememberedAndTheSecondEndsTheProcess) {
  for (const int first : {SIGINT, SIGTERM}) {
    for (const int second : {SIGINT, SIGTERM}) {
      const pid_t child = ::fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        const StopSignal stop("");
        if (StopSignal::Arrived()) ::_exit(1);
        ::raise(first);
        if (!StopSignal::Arrived()) ::_exit(2);
        ::raise(second);
        ::_exit(3);
      }
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      ASSERT_TRUE(WIFSIGNALED(status)) << first << " " << second << ": " << WEXITSTATUS(status);
      EXPECT_EQ(WTERMSIG(status), second);
    }
  }
}

}  // namespace
}  // namespace tacet::base
