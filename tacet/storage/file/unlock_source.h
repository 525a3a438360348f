// Where the secret that unlocks keys comes from: a passphrase from the terminal or a file, or a key
// file.
#ifndef TACET_STORAGE_FILE_UNLOCK_SOURCE_H_
#define TACET_STORAGE_FILE_UNLOCK_SOURCE_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "tacet/crypto/locked_secret.h"

namespace tacet::storage::file {

// A process that asks for it leaves no core dump from then on (base::ForbidDumps).
struct UnlockSource {
  // Least length of a new passphrase.
  static constexpr size_t kMinPassphraseBytes = 12;

  std::optional<std::string> passphrase_file = {}, key_file = {};
  std::string prefix = {};  // of the names of the flags in messages

  // For keys that are there, or that are made now: then a passphrase is asked for twice, and a key
  // file that is not there is made. `what` names the keys in the question. InvalidArgument without
  // a terminal or files, for two passphrases that differ, or for a new one that is too short.
  absl::StatusOr<crypto::Unlocker> Existing(std::string_view what) const;
  absl::StatusOr<crypto::Unlocker> New(std::string_view what) const;
};

}  // namespace tacet::storage::file

#endif  // TACET_STORAGE_FILE_UNLOCK_SOURCE_H_
