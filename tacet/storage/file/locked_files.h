// Locked secrets in a folder of keys, and their change to another passphrase or key file.
#ifndef TACET_STORAGE_FILE_LOCKED_FILES_H_
#define TACET_STORAGE_FILE_LOCKED_FILES_H_

#include <filesystem>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/crypto/locked_secret.h"
#include "tacet/crypto/random.h"
#include "tacet/storage/file/posix_file.h"

namespace tacet::storage::file {

// The locked secrets at `path`, by name: the file itself, or the files NAME.key of a site's,
// server's or coordinator's folder and of its epochs/. NotFound when there is none.
absl::StatusOr<std::vector<std::filesystem::path>> LockedFilesAt(const std::filesystem::path& path);

// Locks each file with `next` in place of `present`, and overwrites the old content with zeros. A
// file that opens with `next` already is left unchanged, so a repeated call ends one that a crash
// interrupted. Nothing is changed when a file opens with neither: errors of UnlockSecret.
absl::Status ChangeUnlocker(std::span<const std::filesystem::path> files,
                            const crypto::Unlocker& present, const crypto::Unlocker& next,
                            crypto::Entropy& entropy, DiskCalls& disk = DiskCalls::System());

// Removes what an interrupted change of the file at `path` left: NAME.old, overwritten with zeros
// where it is not the file itself. OK when there is none.
absl::Status RemoveOldContent(const std::filesystem::path& path,
                              DiskCalls& disk = DiskCalls::System());

}  // namespace tacet::storage::file

#endif  // TACET_STORAGE_FILE_LOCKED_FILES_H_
