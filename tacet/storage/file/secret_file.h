// Files and folders that only their owner may use: keys, passphrases, and the homes of keys.
#ifndef TACET_STORAGE_FILE_SECRET_FILE_H_
#define TACET_STORAGE_FILE_SECRET_FILE_H_

#include <cstddef>
#include <filesystem>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <sys/types.h>

#include "tacet/crypto/secret.h"
#include "tacet/storage/file/posix_file.h"

namespace tacet::storage::file {

inline constexpr size_t kMaxSecretFileBytes = size_t{1} << 20;

// Mode of a folder that nobody else may enter.
inline constexpr mode_t kOwnersFolder = 0700;

// PermissionDenied when a folder of keys belongs to another user, or group or others may do
// anything in it; NotFound.
absl::Status CheckKeyFolder(const std::filesystem::path& path);

// Makes a file with mode 0600, durable when this returns OK. AlreadyExists when there is one: a key
// is never written over.
absl::Status WriteSecretFile(const std::filesystem::path& path, std::span<const uint8_t> content,
                             DiskCalls& disk = DiskCalls::System());

// PermissionDenied when the file belongs to another user, or group or others may do anything with
// it; InvalidArgument when it is not a regular file or has more than kMaxSecretFileBytes; NotFound.
absl::StatusOr<crypto::SecretBytes> ReadSecretFile(const std::filesystem::path& path);

// The first line of such a file, which somebody wrote as text: without its end (LF or CR LF) and
// without the byte order mark of UTF-8. Blanks at its ends belong to it. InvalidArgument for
// UTF-16, and the errors of ReadSecretFile.
absl::StatusOr<crypto::SecretBytes> ReadSecretLine(const std::filesystem::path& path);

// Writes zeros over a file that is about to be deleted; OK when there is none. File systems that
// write to new places, snapshots and solid-state disks may keep the old content all the same.
absl::Status OverwriteSecretFile(const std::filesystem::path& path,
                                 DiskCalls& disk = DiskCalls::System());

}  // namespace tacet::storage::file

#endif  // TACET_STORAGE_FILE_SECRET_FILE_H_
