// Log of a member in a file of JSON lines (docs/formats/node-log.md).
#ifndef TACET_STORAGE_FILE_NODE_LOG_FILE_H_
#define TACET_STORAGE_FILE_NODE_LOG_FILE_H_

#include <cstdint>
#include <filesystem>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/unix_clock.h"
#include "tacet/member/node_log.h"
#include "tacet/storage/file/posix_file.h"

namespace tacet::storage::file {

// Appended to by whole lines, mode 0600, never shortened but by a line that a crash or a full disk
// cut short. One process at a time.
class NodeLogFile final : public member::NodeLog {
 public:
  // FailedPrecondition when another process writes it. `disk` must outlive it.
  static absl::StatusOr<std::unique_ptr<NodeLogFile>> Open(
      const std::filesystem::path& path, base::UnixClock clock = base::SystemUnixSeconds,
      DiskCalls& disk = DiskCalls::System());

  // Unavailable when the line could not be written whole: the next one begins where it began.
  absl::Status Write(const member::NodeEvent& event) override;

 private:
  NodeLogFile(std::filesystem::path path, File file, uint64_t size, base::UnixClock clock,
              DiskCalls& disk)
      : path_(std::move(path)),
        file_(std::move(file)),
        size_(size),
        clock_(std::move(clock)),
        disk_(disk) {}

  std::filesystem::path path_;
  File file_;
  uint64_t size_;  // of whole lines
  base::UnixClock clock_;
  DiskCalls& disk_;
  bool torn_ = false;  // bytes may follow them
};

}  // namespace tacet::storage::file

#endif  // TACET_STORAGE_FILE_NODE_LOG_FILE_H_
