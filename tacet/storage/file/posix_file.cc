#include "tacet/storage/file/posix_file.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tacet/base/failure_cause.h"
#include "tacet/base/status.h"

namespace tacet::storage::file {

ssize_t DiskCalls::Write(int descriptor, std::span<const uint8_t> bytes) {
  return ::write(descriptor, bytes.data(), bytes.size());
}
int DiskCalls::Synchronise(int descriptor) { return ::fsync(descriptor); }
int DiskCalls::Truncate(int descriptor, off_t size) { return ::ftruncate(descriptor, size); }
int DiskCalls::Rename(const char* from, const char* to) { return ::rename(from, to); }

DiskCalls& DiskCalls::System() {
  static DiskCalls system;
  return system;
}

absl::Status SystemError(std::string_view what, const std::filesystem::path& path) {
  const int code = errno;
  std::string remedy;
  if (code == EACCES || code == EPERM) {
    remedy = fmt::format(". User {0} runs this program: `chown {0} {1}` lets it", ::geteuid(),
                         path.string());
  }
  return base::WithCauseOf(
      absl::Status(
          code == ENOENT ? absl::StatusCode::kNotFound : absl::StatusCode::kUnavailable,
          fmt::format("cannot {} {}: {}{}", what, path.string(), std::strerror(code), remedy)),
      code);
}

namespace {

// For a place to write to. It should be there, and may come back, such as a share that is absent.
absl::Status WriteError(std::string_view what, const std::filesystem::path& path) {
  const absl::Status error = SystemError(what, path);
  return base::WithCause(absl::UnavailableError(error.message()), base::CauseOf(error));
}

}  // namespace

File::File(const std::filesystem::path& path, int flags, mode_t mode)
    : descriptor_(::open(path.c_str(), flags | O_CLOEXEC, mode)) {}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

File::File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

File& File::operator=(File&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

bool File::WriteAll(std::span<const uint8_t> bytes, DiskCalls& disk) const {
  while (!bytes.empty()) {
    const ssize_t written = disk.Write(descriptor_, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return true;
}

absl::Status SyncDirectory(const std::filesystem::path& path, DiskCalls& disk) {
  const File directory(path.empty() ? "." : path, O_RDONLY | O_DIRECTORY);
  if (!directory.ok() || disk.Synchronise(directory.get()) != 0) {
    return WriteError("synchronise", path);
  }
  return absl::OkStatus();
}

absl::Status MakeFolders(const std::filesystem::path& path, mode_t mode, DiskCalls& disk) {
  if (!path.has_filename() && path.has_relative_path()) {  // ends with a slash
    return MakeFolders(path.parent_path(), mode, disk);
  }
  std::error_code error;
  if (path.empty() || std::filesystem::is_directory(path, error)) return absl::OkStatus();
  TACET_RETURN_IF_ERROR(MakeFolders(path.parent_path(), 0777, disk));
  if (::mkdir(path.c_str(), mode) != 0) {
    const int code = errno;
    if (std::filesystem::is_directory(path, error)) return absl::OkStatus();
    errno = code;
    return WriteError("make", path);
  }
  return SyncDirectory(path.parent_path(), disk);
}

absl::Status ReadInto(const File& file, const std::filesystem::path& path, uint64_t offset,
                      std::span<uint8_t> out) {
  size_t have = 0;
  while (have < out.size()) {
    const ssize_t got = ::pread(file.get(), out.data() + have, out.size() - have,
                                static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) return base::Unavailable("{} is shorter than it was", path.string());
    if (got < 0) return SystemError("read", path);
    have += static_cast<size_t>(got);
  }
  return absl::OkStatus();
}

absl::StatusOr<base::Bytes> ReadRange(const File& file, const std::filesystem::path& path,
                                      uint64_t offset, uint64_t size) {
  base::Bytes content(static_cast<size_t>(size));
  TACET_RETURN_IF_ERROR(ReadInto(file, path, offset, content));
  return content;
}

absl::StatusOr<base::Bytes> ReadWhole(const File& file, const std::filesystem::path& path) {
  struct stat info {};
  if (!file.ok() || ::fstat(file.get(), &info) != 0) return SystemError("read", path);
  return ReadRange(file, path, 0, static_cast<uint64_t>(info.st_size));
}

absl::StatusOr<base::Bytes> ReadFile(const std::filesystem::path& path) {
  return ReadWhole(File(path, O_RDONLY), path);
}

namespace {

std::filesystem::path Beside(const std::filesystem::path& path) {
  std::filesystem::path beside = path;
  beside += ".new";
  return beside;
}

absl::Status WriteBeside(const std::filesystem::path& path, std::span<const uint8_t> content,
                         DiskCalls& disk, mode_t mode) {
  const std::filesystem::path beside = Beside(path);
  // A file of this call's own: what another process left, or put there, is not written into.
  ::unlink(beside.c_str());
  const File file(beside, O_WRONLY | O_CREAT | O_EXCL, mode);
  if (file.ok() && file.WriteAll(content, disk) && disk.Synchronise(file.get()) == 0) {
    return absl::OkStatus();
  }
  absl::Status failed = WriteError("write", beside);
  ::unlink(beside.c_str());
  return failed;
}

absl::Status TakeBeside(const std::filesystem::path& path, DiskCalls& disk) {
  const std::filesystem::path beside = Beside(path);
  if (disk.Rename(beside.c_str(), path.c_str()) == 0) {
    return SyncDirectory(path.parent_path(), disk);
  }
  absl::Status failed = WriteError("replace", path);
  ::unlink(beside.c_str());
  return failed;
}

}  // namespace

absl::Status ReplaceFile(const std::filesystem::path& path, std::span<const uint8_t> content,
                         DiskCalls& disk, mode_t mode) {
  TACET_RETURN_IF_ERROR(WriteBeside(path, content, disk, mode));
  return TakeBeside(path, disk);
}

absl::Status ReplaceFileKeeping(const std::filesystem::path& path,
                                const std::filesystem::path& earlier,
                                std::span<const uint8_t> content, DiskCalls& disk, mode_t mode) {
  TACET_RETURN_IF_ERROR(WriteBeside(path, content, disk, mode));
  if (disk.Rename(path.c_str(), earlier.c_str()) != 0 && errno != ENOENT) {
    absl::Status failed = SystemError("keep", path);
    ::unlink(Beside(path).c_str());
    return failed;
  }
  return TakeBeside(path, disk);
}

}  // namespace tacet::storage::file
