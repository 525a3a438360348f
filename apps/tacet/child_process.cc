#include "apps/tacet/child_process.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tacet/base/status.h"

namespace tacet::app {
namespace {

// Kilobytes behind "NAME:" in /proc/PID/status, as bytes.
uint64_t BytesBehind(std::string_view name, const std::string& line) {
  if (!line.starts_with(name)) return 0;
  return std::strtoull(line.c_str() + name.size(), nullptr, 10) * 1024;
}

// utime + stime: fields 14 and 15, counted behind the name in parentheses, which may hold blanks.
double CpuSeconds(const std::string& stat) {
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(stat.substr(name_end + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace

absl::StatusOr<ProcessCost> CostOf(pid_t process) {
  const std::string folder = fmt::format("/proc/{}/", process);
  std::ifstream status(folder + "status"), stat(folder + "stat");
  std::string line;
  ProcessCost cost;
  if (!std::getline(stat, line)) return base::NotFound("process {} does not run", process);
  cost.cpu_seconds = CpuSeconds(line);
  while (std::getline(status, line)) {
    cost.memory += BytesBehind("VmRSS:", line);
    cost.memory_peak += BytesBehind("VmHWM:", line);
  }
  return cost;
}

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::StartSelf(
    const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {"tacet"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t id = 0;
  const int failed = ::posix_spawn(&id, "/proc/self/exe", nullptr, nullptr, argv.data(), environ);
  if (failed != 0) {
    return base::Unavailable("cannot start a process of this program: {}", std::strerror(failed));
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

}  // namespace tacet::app
