#include "apps/tacet/program/child_process.h"

#include <csignal>
#include <cstring>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tacet/base/status.h"

namespace tacet::app::program {

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(
    const std::filesystem::path& program, const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {program.filename().string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t id = 0;
  const int failed = ::posix_spawn(&id, program.c_str(), nullptr, nullptr, argv.data(), environ);
  if (failed != 0) {
    return base::Unavailable("cannot start {}: {}", program.string(), std::strerror(failed));
  }
  return std::unique_ptr<ChildProcess>(new ChildProcess(id));
}

bool ChildProcess::Runs() {
  if (!ended_ && ::waitpid(id_, nullptr, WNOHANG) == id_) ended_ = true;
  return !ended_;
}

ChildProcess::~ChildProcess() {
  if (!Runs()) return;
  ::kill(id_, SIGTERM);
  for (int i = 0; i < 200 && Runs(); ++i) ::usleep(100'000);
  if (!Runs()) return;
  ::kill(id_, SIGKILL);
  ::waitpid(id_, nullptr, 0);
}

}  // namespace tacet::app::program
