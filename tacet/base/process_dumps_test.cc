#include "tacet/base/process_dumps.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tacet/base/child_for_test.h"
#include "tacet/base/temporary_folder_for_test.h"

namespace tacet::base {
namespace {

// Whether a process dumps that aborts after `first`, where the system lets it.
template <typename First>
bool Dumps(const First& first) {
  const TemporaryFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    rlimit limit{};
    ::getrlimit(RLIMIT_CORE, &limit);
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_CORE, &limit);
    std::signal(SIGABRT, SIG_DFL);
    if (::chdir(folder.path().c_str()) != 0) ::_exit(1);
    first();
    std::abort();
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  return WCOREDUMP(status) || !std::filesystem::is_empty(folder.path());
}

TEST(ProcessDumpsTest, AProcessThatForbidsThemLeavesNone) {
  EXPECT_FALSE(Dumps([] { ForbidDumps(); }));
  // Its own child neither, and no limit that is raised afterwards brings them back.
  EXPECT_FALSE(Dumps([] {
    ForbidDumps();
    rlimit limit{};
    ::getrlimit(RLIMIT_CORE, &limit);
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_CORE, &limit);
    if (::fork() != 0) ::wait(nullptr);
  }));
  if (!Dumps([] {})) GTEST_SKIP() << "this system lets no process dump";
}

// A training program is nobody's keeper of keys: it can be traced, and can raise its limit again.
TEST(ProcessDumpsTest, AProgramThatIsStartedCanBeTracedAgain) {
  EXPECT_EQ(ExitCodeInChild([] {
              ForbidDumps();
              if (::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0) return 1;
              const char* const script =
                  "test \"$(ulimit -S -c)\" = 0 && test \"$(ulimit -H -c)\" = \"$1\" && "
                  "test -O /proc/self/environ";
              rlimit limit{};
              ::getrlimit(RLIMIT_CORE, &limit);
              const std::string hard = limit.rlim_max == RLIM_INFINITY
                                           ? "unlimited"
                                           : std::to_string(limit.rlim_max / 512);
              ::execl("/bin/sh", "sh", "-c", script, "sh", hard.c_str(), nullptr);
              return 2;
            }),
            0);
}

}  // namespace
}  // namespace tacet::base
