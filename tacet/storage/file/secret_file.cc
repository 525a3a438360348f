#include "tacet/storage/file/secret_file.h"

#include <cerrno>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/base/utf8.h"
#include "tacet/storage/file/posix_file.h"

namespace tacet::storage::file {
namespace {

constexpr mode_t kOthers = 0077;

// `wanted` is the mode of the command that repairs another one.
absl::Status CheckOwnerOnly(const struct stat& info, const std::filesystem::path& path,
                            mode_t wanted) {
  if (info.st_uid != ::geteuid()) {
    return base::PermissionDenied(
        "{} belongs to user {}, and this process runs as user {}: run it as the user to whom the "
        "keys belong",
        path.string(), info.st_uid, ::geteuid());
  }
  if ((info.st_mode & kOthers) == 0) return absl::OkStatus();
  return base::PermissionDenied(
      "{} has mode {:04o}, others than its owner may use it: run `chmod {:o} {}`, and think of "
      "what it holds as known to them",
      path.string(), info.st_mode & 07777, wanted, path.string());
}

absl::Status CheckSecretFile(const File& file, const std::filesystem::path& path) {
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return SystemError("read", path);
  if (!S_ISREG(info.st_mode))
    return base::InvalidArgument("{} is not a regular file", path.string());
  TACET_RETURN_IF_ERROR(CheckOwnerOnly(info, path, kOwnerOnly));
  if (static_cast<uint64_t>(info.st_size) > kMaxSecretFileBytes) {
    return base::InvalidArgument("{} has {} bytes, at most {} are read", path.string(),
                                 info.st_size, kMaxSecretFileBytes);
  }
  return absl::OkStatus();
}

// With a byte order mark, or at least two characters of which each has a byte of zeros.
bool IsUtf16(std::string_view text) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) return true;
  if (text.size() < 4) return false;
  return (text[0] == 0 && text[2] == 0) || (text[1] == 0 && text[3] == 0);
}

}  // namespace

absl::Status CheckKeyFolder(const std::filesystem::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return SystemError("open", path);
  return CheckOwnerOnly(info, path, kOwnersFolder);
}

absl::Status WriteSecretFile(const std::filesystem::path& path, std::span<const uint8_t> content,
                             DiskCalls& disk) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) == 0) {
    return base::AlreadyExists("{} is there already: it is not written over", path.string());
  }
  if (errno != ENOENT) return SystemError("write", path);
  return ReplaceFile(path, content, disk, kOwnerOnly);
}

absl::StatusOr<crypto::SecretBytes> ReadSecretFile(const std::filesystem::path& path) {
  const File file(path, O_RDONLY);
  if (!file.ok()) return SystemError("read", path);
  TACET_RETURN_IF_ERROR(CheckSecretFile(file, path));
  crypto::SecretBytes content(kMaxSecretFileBytes);
  size_t have = 0;
  for (;;) {
    const ssize_t got = ::read(file.get(), content.Expose().data() + have, content.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError("read", path);
    if (got == 0) break;
    have += static_cast<size_t>(got);
  }
  return crypto::SecretBytes::CopyOf(content.Expose().first(have));
}

absl::StatusOr<crypto::SecretBytes> ReadSecretLine(const std::filesystem::path& path) {
  TACET_ASSIGN_OR_RETURN(const crypto::SecretBytes content, ReadSecretFile(path));
  std::string_view line = base::AsText(content.Expose());
  if (IsUtf16(line)) {
    return base::InvalidArgument(
        "{} is text in UTF-16, expected UTF-8: convert it, for example by `iconv -f UTF-16 -t "
        "UTF-8`, into another file that you alone may read",
        path.string());
  }
  if (line.starts_with(base::kUtf8Mark)) line.remove_prefix(base::kUtf8Mark.size());
  line = line.substr(0, line.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return crypto::SecretBytes::CopyOf(base::AsBytes(line));
}

absl::Status OverwriteSecretFile(const std::filesystem::path& path, DiskCalls& disk) {
  const File file(path, O_WRONLY);
  if (!file.ok() && errno == ENOENT) return absl::OkStatus();
  if (!file.ok()) return SystemError("overwrite", path);
  TACET_RETURN_IF_ERROR(CheckSecretFile(file, path));
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return SystemError("overwrite", path);
  const base::Bytes zeros(static_cast<size_t>(info.st_size));
  if (!file.WriteAll(zeros, disk) || disk.Synchronise(file.get()) != 0) {
    return SystemError("overwrite", path);
  }
  return absl::OkStatus();
}

}  // namespace tacet::storage::file
