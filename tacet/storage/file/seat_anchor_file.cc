#include "tacet/storage/file/seat_anchor_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include "fmt/core.h"
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/storage/file/secret_file.h"

namespace tacet::storage::file {
namespace {

namespace fs = std::filesystem;

using member::MachineStart;
using member::SeatWords;

// Words that end with the process.
class ProcessSeatAnchor final : public member::SeatAnchor {
 public:
  absl::StatusOr<std::optional<SeatWords>> Load() const override { return words_; }
  absl::Status Save(const SeatWords& words) override {
    words_ = words;
    return absl::OkStatus();
  }

 private:
  std::optional<SeatWords> words_;
};

// Linux draws a UUID at each start.
std::optional<MachineStart> StartOfMachine() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string digits;
  if (!std::getline(file, digits)) return std::nullopt;
  std::erase(digits, '-');
  const absl::StatusOr<base::Bytes> id = base::FromHex(digits);
  MachineStart start{};
  if (!id.ok() || id->size() != start.size()) return std::nullopt;
  std::ranges::copy(*id, start.begin());
  return start;
}

bool IsOwnFolder(const fs::path& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type() == fs::file_type::directory &&
         CheckKeyFolder(path).ok();
}

}  // namespace

absl::StatusOr<std::unique_ptr<SeatAnchorFile>> SeatAnchorFile::Open(const fs::path& path,
                                                                     const MachineStart& start,
                                                                     DiskCalls& disk) {
  const fs::path lock_path = path.string() + ".lock";
  File lock(lock_path, O_RDWR | O_CREAT | O_NOFOLLOW, kOwnerOnly);
  if (!lock.ok()) return SystemError("open", lock_path);
  // A file system without locks gives another error.
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return base::FailedPrecondition(
        "another process speaks for this site's committee seat, and holds {}: stop the second copy "
        "of this site's folder",
        lock_path.string());
  }
  return std::unique_ptr<SeatAnchorFile>(
      new SeatAnchorFile(path, start, FileLock(std::move(lock)), disk));
}

absl::StatusOr<std::optional<SeatWords>> SeatAnchorFile::Load() const {
  const absl::StatusOr<base::Bytes> bytes = ReadFile(path_);
  if (bytes.status().code() == absl::StatusCode::kNotFound) return std::nullopt;
  TACET_RETURN_IF_ERROR(bytes.status());
  const absl::StatusOr<member::AnchoredWords> anchored = member::ReadSeatAnchor(*bytes);
  if (!anchored.ok() || anchored->start != start_) return std::nullopt;
  return anchored->words;
}

absl::Status SeatAnchorFile::Save(const SeatWords& words) {
  return ReplaceFile(path_, member::WriteSeatAnchor({.start = start_, .words = words}), disk_,
                     kOwnerOnly);
}

std::optional<fs::path> VolatileFolder() {
  std::error_code error;
  // A folder that is made in its place, or above it, may be on a disk, and shadows the later one.
  if (const char* runtime = std::getenv("XDG_RUNTIME_DIR");
      runtime != nullptr && *runtime != 0 && fs::is_directory(runtime, error)) {
    const fs::path own = fs::path(runtime) / "tacet";
    if (MakeFolders(own, kOwnersFolder).ok() && IsOwnFolder(own)) return own;
  }
  const fs::path shared = fmt::format("/dev/shm/tacet-{}", ::geteuid());
  if (!fs::is_directory(shared.parent_path(), error)) return std::nullopt;
  if (MakeFolders(shared, kOwnersFolder).ok() && IsOwnFolder(shared)) return shared;
  return std::nullopt;
}

absl::StatusOr<std::unique_ptr<member::SeatAnchor>> OpenSeatAnchor(std::string_view name,
                                                                   const fs::path& elsewhere) {
  if (!elsewhere.empty()) {
    return SeatAnchorFile::Open(fmt::format("{}.{}.seat", elsewhere.string(), name), {});
  }
  const std::optional<fs::path> folder = VolatileFolder();
  const std::optional<MachineStart> start = StartOfMachine();
  if (!folder.has_value() || !start.has_value()) return std::make_unique<ProcessSeatAnchor>();
  return SeatAnchorFile::Open(*folder / fmt::format("{}.seat", name), *start);
}

}  // namespace tacet::storage::file
