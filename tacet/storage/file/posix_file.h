// System calls that storage makes, one method for each, so that a test can fail any of them.
#ifndef TACET_STORAGE_FILE_POSIX_FILE_H_
#define TACET_STORAGE_FILE_POSIX_FILE_H_

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <sys/types.h>

#include "tacet/base/bytes.h"

namespace tacet::storage::file {

// Mode of a file that nobody else may read.
inline constexpr mode_t kOwnerOnly = 0600;

// The calls that change a disk; each returns what the system call returns and sets errno.
class DiskCalls {
 public:
  virtual ~DiskCalls() = default;

  virtual ssize_t Write(int descriptor, std::span<const uint8_t> bytes);
  virtual int Synchronise(int descriptor);
  virtual int Truncate(int descriptor, off_t size);
  virtual int Rename(const char* from, const char* to);

  // The operating system itself.
  static DiskCalls& System();
};

// Made from errno: NotFound when there is no such file, otherwise Unavailable.
absl::Status SystemError(std::string_view what, const std::filesystem::path& path);

// A file descriptor that closes itself; -1 when there is none.
class File {
 public:
  File() = default;
  // `mode` is for a file that is made.
  File(const std::filesystem::path& path, int flags, mode_t mode = 0644);
  ~File();
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;

  bool ok() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }
  // Repeats short writes and interruptions.
  bool WriteAll(std::span<const uint8_t> bytes, DiskCalls& disk = DiskCalls::System()) const;

 private:
  int descriptor_ = -1;
};

absl::Status SyncDirectory(const std::filesystem::path& path,
                           DiskCalls& disk = DiskCalls::System());

// Makes a folder and those above it that are missing, and synchronises each new entry: else a loss
// of power could take the folder with every file that was synchronised in it. The innermost one
// gets `mode` when it is new.
absl::Status MakeFolders(const std::filesystem::path& path, mode_t mode = 0777,
                         DiskCalls& disk = DiskCalls::System());

// The bytes from `offset` on of an open file, whose name is for messages; Unavailable when it is
// shorter.
absl::Status ReadInto(const File& file, const std::filesystem::path& path, uint64_t offset,
                      std::span<uint8_t> out);
absl::StatusOr<base::Bytes> ReadRange(const File& file, const std::filesystem::path& path,
                                      uint64_t offset, uint64_t size);

// Everything from the beginning of an open file.
absl::StatusOr<base::Bytes> ReadWhole(const File& file, const std::filesystem::path& path);

// Everything in a file; NotFound when there is none.
absl::StatusOr<base::Bytes> ReadFile(const std::filesystem::path& path);

// Written next to it as `path`.new, synchronised, renamed; the directory synchronised. An error
// before the renaming leaves everything unchanged.
absl::Status ReplaceFile(const std::filesystem::path& path, std::span<const uint8_t> content,
                         DiskCalls& disk = DiskCalls::System(), mode_t mode = 0644);
// The same; what was there until then becomes `earlier`. A process that ends in between leaves it
// there, and nothing at `path`.
absl::Status ReplaceFileKeeping(const std::filesystem::path& path,
                                const std::filesystem::path& earlier,
                                std::span<const uint8_t> content,
                                DiskCalls& disk = DiskCalls::System(), mode_t mode = 0644);

}  // namespace tacet::storage::file

#endif  // TACET_STORAGE_FILE_POSIX_FILE_H_
