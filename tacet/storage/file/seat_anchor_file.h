// Anchor of a committee seat in a file outside its site's folder (docs/formats/site-state.md).
#ifndef TACET_STORAGE_FILE_SEAT_ANCHOR_FILE_H_
#define TACET_STORAGE_FILE_SEAT_ANCHOR_FILE_H_

#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/member/seat_anchor.h"
#include "tacet/storage/file/file_lock.h"
#include "tacet/storage/file/posix_file.h"

namespace tacet::storage::file {

// A file of mode 0600 that is replaced as a whole, and PATH.lock. A damaged file, and one of
// another start of the machine, count as none.
class SeatAnchorFile final : public member::SeatAnchor {
 public:
  // `start` is zeros where the file outlives the machine's starts. FailedPrecondition when another
  // process holds the anchor. `disk` must outlive it.
  static absl::StatusOr<std::unique_ptr<SeatAnchorFile>> Open(
      const std::filesystem::path& path, const member::MachineStart& start,
      DiskCalls& disk = DiskCalls::System());

  absl::StatusOr<std::optional<member::SeatWords>> Load() const override;
  absl::Status Save(const member::SeatWords& words) override;

 private:
  SeatAnchorFile(std::filesystem::path path, const member::MachineStart& start, FileLock lock,
                 DiskCalls& disk)
      : path_(std::move(path)), start_(start), lock_(std::move(lock)), disk_(disk) {}

  std::filesystem::path path_;
  member::MachineStart start_;
  FileLock lock_;
  DiskCalls& disk_;
};

// The folder for what ends with this start of the machine: `tacet` in $XDG_RUNTIME_DIR where that
// exists, or /dev/shm/tacet-UID. `tacet` and `tacet-UID` are made when they are missing. Nothing
// where neither can be used by this user alone.
std::optional<std::filesystem::path> VolatileFolder();

// The anchor `name`: next to `elsewhere`, a file that no copy of the machine holds, or in the
// VolatileFolder when that is empty. Where there is no such folder its words end with the process.
// Errors of SeatAnchorFile::Open.
absl::StatusOr<std::unique_ptr<member::SeatAnchor>> OpenSeatAnchor(
    std::string_view name, const std::filesystem::path& elsewhere);

}  // namespace tacet::storage::file

#endif  // TACET_STORAGE_FILE_SEAT_ANCHOR_FILE_H_
