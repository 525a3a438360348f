#include "apps/tacet/program/unlock_flags.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include "tacet/base/status.h"
#include "tacet/crypto/random.h"
#include "tacet/storage/file/posix_file.h"
#include "tacet/storage/file/secret_file.h"

namespace tacet::app::program {
namespace {

constexpr size_t kMaxPassphraseBytes = 1024;

// The terminal does not show what is typed as long as this lives.
class WithoutEcho {
 public:
  explicit WithoutEcho(int terminal) : terminal_(terminal) {
    if (::tcgetattr(terminal_, &before_) != 0) return;
    termios silent = before_;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    changed_ = ::tcsetattr(terminal_, TCSAFLUSH, &silent) == 0;
  }
  ~WithoutEcho() {
    if (changed_) ::tcsetattr(terminal_, TCSAFLUSH, &before_);
  }
  WithoutEcho(const WithoutEcho&) = delete;
  WithoutEcho& operator=(const WithoutEcho&) = delete;

 private:
  int terminal_;
  termios before_{};
  bool changed_ = false;
};

absl::StatusOr<crypto::SecretBytes> Ask(const std::string& question) {
  const storage::file::File terminal("/dev/tty", O_RDWR);
  if (!terminal.ok()) {
    return base::InvalidArgument(
        "there is no terminal on which to ask for a passphrase: give --passphrase-file or "
        "--key-file");
  }
  const WithoutEcho silence(terminal.get());
  terminal.WriteAll(base::AsBytes(question));
  crypto::SecretBytes line(kMaxPassphraseBytes);
  size_t size = 0;
  while (size < line.size()) {
    uint8_t& byte = line.Expose()[size];
    if (::read(terminal.get(), &byte, 1) != 1 || byte == '\n') break;
    ++size;
  }
  terminal.WriteAll(base::AsBytes("\n"));
  return crypto::SecretBytes::CopyOf(line.Expose().first(size));
}

absl::Status MakeKeyFile(const std::string& path) {
  std::error_code error;
  if (std::filesystem::exists(path, error)) return absl::OkStatus();
  crypto::SystemEntropy entropy;
  return storage::file::WriteSecretFile(path,
                                        entropy.Draw(crypto::Unlocker::kMinKeyFileBytes).Expose());
}

// Guesses cost half a second each, so 12 bytes resist them unless they are a common phrase.
absl::Status CheckNewPassphrase(const crypto::SecretBytes& passphrase) {
  if (passphrase.size() >= UnlockFlags::kMinPassphraseBytes) return absl::OkStatus();
  return base::InvalidArgument(
      "the new passphrase has {} bytes, expected {} or more: take four unrelated words",
      passphrase.size(), UnlockFlags::kMinPassphraseBytes);
}

}  // namespace

void UnlockFlags::Register(Options& options, std::string_view prefix) {
  prefix_ = prefix;
  options.AddString(
      fmt::format("{}passphrase-file", prefix),
      fmt::format("file whose first line is the {}passphrase of the keys (readable by you alone); "
                  "asked for on the terminal when neither this nor --{}key-file is given",
                  prefix.empty() ? "" : "new ", prefix),
      &passphrase_file_);
  options.AddString(
      fmt::format("{}key-file", prefix),
      "file of random bytes that encrypts the keys instead of a passphrase (readable by you "
      "alone); a command that makes keys creates it when it is missing",
      &key_file_);
}

absl::StatusOr<std::optional<crypto::Unlocker>> UnlockFlags::FromFlags(bool is_new) const {
  if (passphrase_file_.has_value() && key_file_.has_value()) {
    return base::InvalidArgument("--{}passphrase-file and --{}key-file exclude each other", prefix_,
                                 prefix_);
  }
  if (key_file_.has_value()) {
    TACET_ASSIGN_OR_RETURN(crypto::SecretBytes content, storage::file::ReadSecretFile(*key_file_));
    return crypto::Unlocker::FromKeyFile(std::move(content));
  }
  if (!passphrase_file_.has_value()) return std::nullopt;
  TACET_ASSIGN_OR_RETURN(const crypto::SecretBytes content,
                         storage::file::ReadSecretFile(*passphrase_file_));
  const auto line = content.Expose();
  const size_t size = base::AsText(line).find('\n');
  crypto::SecretBytes passphrase =
      crypto::SecretBytes::CopyOf(line.first(std::min(size, line.size())));
  if (is_new) TACET_RETURN_IF_ERROR(CheckNewPassphrase(passphrase));
  return crypto::Unlocker::FromPassphrase(std::move(passphrase));
}

absl::StatusOr<crypto::Unlocker> UnlockFlags::Existing(std::string_view what) const {
  TACET_ASSIGN_OR_RETURN(std::optional<crypto::Unlocker> given, FromFlags(false));
  if (given.has_value()) return *std::move(given);
  TACET_ASSIGN_OR_RETURN(crypto::SecretBytes passphrase,
                         Ask(fmt::format("Passphrase of the {}: ", what)));
  return crypto::Unlocker::FromPassphrase(std::move(passphrase));
}

absl::StatusOr<crypto::Unlocker> UnlockFlags::New(std::string_view what) const {
  if (key_file_.has_value()) TACET_RETURN_IF_ERROR(MakeKeyFile(*key_file_));
  TACET_ASSIGN_OR_RETURN(std::optional<crypto::Unlocker> given, FromFlags(true));
  if (given.has_value()) return *std::move(given);
  TACET_ASSIGN_OR_RETURN(crypto::SecretBytes passphrase,
                         Ask(fmt::format("New passphrase for the {}: ", what)));
  TACET_RETURN_IF_ERROR(CheckNewPassphrase(passphrase));
  TACET_ASSIGN_OR_RETURN(const crypto::SecretBytes again, Ask("The same again: "));
  if (!crypto::ConstantTimeEqual(passphrase.Expose(), again.Expose())) {
    return base::InvalidArgument("the two passphrases differ");
  }
  return crypto::Unlocker::FromPassphrase(std::move(passphrase));
}

}  // namespace tacet::app::program
