// Flags that unlock keys: a passphrase from the terminal or a file, or a key file.
#ifndef TACET_APPS_TACET_PROGRAM_UNLOCK_FLAGS_H_
#define TACET_APPS_TACET_PROGRAM_UNLOCK_FLAGS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "apps/tacet/program/options.h"
#include "tacet/crypto/locked_secret.h"
#include "tacet/storage/file/unlock_source.h"

namespace tacet::app::program {

class UnlockFlags {
 public:
  // `prefix` stands before the names of the flags: "new-" for keys that are encrypted again.
  void Register(Options& options, std::string_view prefix = "");

  // storage::file::UnlockSource
  absl::StatusOr<crypto::Unlocker> Existing(std::string_view what) const {
    return source_.Existing(what);
  }
  absl::StatusOr<crypto::Unlocker> New(std::string_view what) const { return source_.New(what); }

  // The flags that were given, as words of a command line.
  std::vector<std::string> Words() const;

 private:
  storage::file::UnlockSource source_;
};

}  // namespace tacet::app::program

#endif  // TACET_APPS_TACET_PROGRAM_UNLOCK_FLAGS_H_
