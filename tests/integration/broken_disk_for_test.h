// Processes whose disk breaks, or whose work waits at it (broken_disk_for_test.cc).
#ifndef TACET_TESTS_INTEGRATION_BROKEN_DISK_FOR_TEST_H_
#define TACET_TESTS_INTEGRATION_BROKEN_DISK_FOR_TEST_H_

#include <filesystem>
#include <string>
#include <vector>

#include <sys/types.h>
#include <sys/wait.h>

namespace tacet::app {

// Arguments of `env` for a process whose changes below `root` are steps; `how` are variables.
inline std::vector<std::string> BrokenDiskOf(const std::filesystem::path& root,
                                             std::vector<std::string> how) {
  how.insert(how.begin(), {"LD_PRELOAD=" TACET_BROKEN_DISK, "BROKEN_ROOT=" + root.string()});
  return how;
}

// Waits until a child that stops before a step does; false when it ends before, with its status.
inline bool AwaitStop(pid_t child, int& status) {
  return ::waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status);
}

}  // namespace tacet::app

#endif  // TACET_TESTS_INTEGRATION_BROKEN_DISK_FOR_TEST_H_
