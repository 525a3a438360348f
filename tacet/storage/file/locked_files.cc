#include "tacet/storage/file/locked_files.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>

#include "tacet/base/status.h"
#include "tacet/storage/file/posix_file.h"
#include "tacet/storage/file/secret_file.h"

namespace tacet::storage::file {
namespace {

namespace fs = std::filesystem;

// Other files that end in .key, like the key of a ledger's digests, are not locked secrets.
absl::StatusOr<bool> IsLocked(const fs::path& path) {
  const absl::StatusOr<crypto::SecretBytes> content = ReadSecretFile(path);
  if (!content.ok()) return base::Annotate(content.status(), "keys");
  return crypto::LockedPurpose(content->Expose()).ok();
}

absl::Status Collect(const fs::path& folder, std::vector<fs::path>& files) {
  std::error_code error;
  for (auto entry = fs::directory_iterator(folder, error);
       !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (entry->path().extension() != ".key") continue;
    TACET_ASSIGN_OR_RETURN(const bool locked, IsLocked(entry->path()));
    if (locked) files.push_back(entry->path());
  }
  if (!error || error == std::errc::no_such_file_or_directory) return absl::OkStatus();
  return base::Unavailable("cannot read the folder {}: {}", folder.string(), error.message());
}

// A second name keeps the old content in reach until the new content is durable.
fs::path SecondName(const fs::path& path) {
  fs::path old = path;
  old += ".old";
  return old;
}

struct Changed {
  fs::path path;
  base::Bytes locked;
};

}  // namespace

absl::StatusOr<std::vector<fs::path>> LockedFilesAt(const fs::path& path) {
  std::vector<fs::path> files;
  std::error_code error;
  if (fs::is_directory(path, error)) {
    TACET_RETURN_IF_ERROR(CheckKeyFolder(path));
    TACET_RETURN_IF_ERROR(Collect(path, files));
    TACET_RETURN_IF_ERROR(Collect(path / "epochs", files));
  } else {
    TACET_ASSIGN_OR_RETURN(const bool locked, IsLocked(path));
    if (locked) files.push_back(path);
  }
  if (files.empty()) {
    return base::NotFound(
        "{} holds no locked keys: give the folder of a site, of the server or of the coordinator, "
        "or the file of an officer's key",
        path.string());
  }
  std::ranges::sort(files);
  return files;
}

absl::Status ChangeUnlocker(std::span<const fs::path> files, const crypto::Unlocker& present,
                            const crypto::Unlocker& next, crypto::Entropy& entropy,
                            DiskCalls& disk) {
  std::vector<Changed> changes;
  for (const fs::path& path : files) {
    TACET_ASSIGN_OR_RETURN(const crypto::SecretBytes locked, ReadSecretFile(path));
    TACET_ASSIGN_OR_RETURN(const std::string purpose, crypto::LockedPurpose(locked.Expose()));
    const absl::StatusOr<crypto::SecretBytes> secret =
        crypto::UnlockSecret(locked.Expose(), purpose, present);
    if (!secret.ok()) {
      if (crypto::UnlockSecret(locked.Expose(), purpose, next).ok()) continue;
      return base::Annotate(secret.status(), path.string());
    }
    TACET_ASSIGN_OR_RETURN(base::Bytes again, crypto::LockSecret(*secret, purpose, next, entropy));
    changes.push_back({.path = path, .locked = std::move(again)});
  }
  for (const fs::path& path : files) TACET_RETURN_IF_ERROR(RemoveOldContent(path, disk));
  for (const Changed& change : changes) {
    std::error_code error;  // a file system without hard links has no second name
    fs::create_hard_link(change.path, SecondName(change.path), error);
    TACET_RETURN_IF_ERROR(ReplaceFile(change.path, change.locked, disk, kOwnerOnly));
    TACET_RETURN_IF_ERROR(RemoveOldContent(change.path, disk));
  }
  return absl::OkStatus();
}

absl::Status RemoveOldContent(const fs::path& path, DiskCalls& disk) {
  const fs::path old = SecondName(path);
  std::error_code error;
  if (!fs::exists(fs::symlink_status(old, error))) return absl::OkStatus();
  const bool is_the_file = fs::equivalent(path, old, error);
  if (!error && !is_the_file) TACET_RETURN_IF_ERROR(OverwriteSecretFile(old, disk));
  if (!error) fs::remove(old, error);
  if (error) return base::Unavailable("cannot remove {}: {}", old.string(), error.message());
  return SyncDirectory(path.parent_path(), disk);
}

}  // namespace tacet::storage::file
