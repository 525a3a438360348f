// Another process of this program, and what it costs.
#ifndef TACET_APPS_TACET_CHILD_PROCESS_H_
#define TACET_APPS_TACET_CHILD_PROCESS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include <sys/types.h>

namespace tacet::app {

struct ProcessCost {
  double cpu_seconds = 0;    // user and system
  uint64_t memory = 0;       // resident bytes now
  uint64_t memory_peak = 0;  // resident bytes at most
};

// Of a running process on this machine; NotFound when there is none.
absl::StatusOr<ProcessCost> CostOf(pid_t process);

// Ends with the object: SIGTERM, and SIGKILL when that is not enough.
class ChildProcess {
 public:
  // Runs this program again with these arguments; standard output and error are this process's.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> StartSelf(
      const std::vector<std::string>& arguments);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t id() const { return id_; }
  bool Runs();

 private:
  explicit ChildProcess(pid_t id) : id_(id) {}

  pid_t id_;
  bool ended_ = false;
};

}  // namespace tacet::app

#endif  // TACET_APPS_TACET_CHILD_PROCESS_H_
