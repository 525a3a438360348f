// Process that a test forks: for crashes, kills, and several processes that share files.
#ifndef TACET_BASE_CHILD_FOR_TEST_H_
#define TACET_BASE_CHILD_FOR_TEST_H_

#include <csignal>
#include <optional>
#include <utility>

#include "gtest/gtest.h"
#include <sys/wait.h>
#include <unistd.h>

namespace tacet::base {

class Child {
 public:
  // `work(pipe)` returns the exit code; what it writes to the pipe is for Read.
  template <typename Work>
  explicit Child(Work&& work) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    id_ = ::fork();
    if (id_ == 0) {
      ::close(ends[0]);
      ::_exit(std::forward<Work>(work)(ends[1]));
    }
    ::close(ends[1]);
    pipe_ = ends[0];
  }
  Child(Child&& other) noexcept
      : id_(std::exchange(other.id_, -1)), pipe_(std::exchange(other.pipe_, -1)) {}
  Child& operator=(Child&&) = delete;
  // A child that nobody has waited for is killed.
  ~Child() {
    if (id_ > 0) {
      Kill();
      (void)ExitCode();
    }
    if (pipe_ >= 0) ::close(pipe_);
  }

  // The next value that the child wrote; nothing at the end of what it wrote.
  template <typename T>
  std::optional<T> Read() const {
    T value{};
    if (::read(pipe_, &value, sizeof value) != sizeof value) return std::nullopt;
    return value;
  }
  void Kill() const { ::kill(id_, SIGKILL); }
  // Waits for the child's end; -1 when it was killed.
  int ExitCode() {
    int status = 0;
    EXPECT_EQ(::waitpid(id_, &status, 0), id_);
    id_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t id_ = -1;
  int pipe_ = -1;
};

// Runs `work()` in a child, and returns the exit code that `work` returned; -1 when it was killed.
template <typename Work>
int ExitCodeInChild(const Work& work) {
  return Child([&](int) { return work(); }).ExitCode();
}

}  // namespace tacet::base

#endif  // TACET_BASE_CHILD_FOR_TEST_H_
