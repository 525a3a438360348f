// Flags that unlock keys: a passphrase from the terminal or a file, or a key file.
#ifndef TACET_APPS_TACET_PROGRAM_UNLOCK_FLAGS_H_
#define TACET_APPS_TACET_PROGRAM_UNLOCK_FLAGS_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"

#include "apps/tacet/program/options.h"
#include "tacet/crypto/locked_secret.h"

namespace tacet::app::program {

class UnlockFlags {
 public:
  UnlockFlags() = default;
  // As if the flags had been given.
  UnlockFlags(std::optional<std::string> passphrase_file, std::optional<std::string> key_file)
      : passphrase_file_(std::move(passphrase_file)), key_file_(std::move(key_file)) {}

  // Least length of a new passphrase.
  static constexpr size_t kMinPassphraseBytes = 12;

  // `prefix` stands before the names of the flags: "new-" for keys that are encrypted again.
  void Register(Options& options, std::string_view prefix = "");

  // For keys that are there, or that are made now: then a passphrase is asked for twice, and a key
  // file that is not there is made. `what` names the keys in the question. InvalidArgument without
  // a terminal or flags, for two passphrases that differ, or for a new one that is too short.
  absl::StatusOr<crypto::Unlocker> Existing(std::string_view what) const;
  absl::StatusOr<crypto::Unlocker> New(std::string_view what) const;

 private:
  // Nothing when no flag was given.
  absl::StatusOr<std::optional<crypto::Unlocker>> FromFlags(bool is_new) const;

  std::optional<std::string> passphrase_file_, key_file_;
  std::string prefix_;
};

}  // namespace tacet::app::program

#endif  // TACET_APPS_TACET_PROGRAM_UNLOCK_FLAGS_H_
