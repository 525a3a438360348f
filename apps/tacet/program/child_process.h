// Child process that runs this program again.
#ifndef TACET_APPS_TACET_PROGRAM_CHILD_PROCESS_H_
#define TACET_APPS_TACET_PROGRAM_CHILD_PROCESS_H_

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include <sys/types.h>

namespace tacet::app::program {

// Ends with the object: SIGTERM, and SIGKILL when that is not enough.
class ChildProcess {
 public:
  // Runs `program` with these arguments; standard output and error are this process's.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(
      const std::filesystem::path& program, const std::vector<std::string>& arguments);
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

}  // namespace tacet::app::program

#endif  // TACET_APPS_TACET_PROGRAM_CHILD_PROCESS_H_
