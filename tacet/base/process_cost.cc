#include "tacet/base/process_cost.h"

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include <unistd.h>

#include "tacet/base/status.h"

namespace tacet::base {
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

ProcessCost OwnCost() { return CostOf(::getpid()).value_or(ProcessCost{}); }

double ThreadCpuSeconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace tacet::base
