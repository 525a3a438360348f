#include "tacet/storage/file/unlock_source.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include "tacet/base/process_dumps.h"
#include "tacet/base/status.h"
#include "tacet/crypto/random.h"
#include "tacet/storage/file/posix_file.h"
#include "tacet/storage/file/secret_file.h"

namespace tacet::storage::file {
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
  const File terminal("/dev/tty", O_RDWR);
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
  return WriteSecretFile(path, entropy.Draw(crypto::Unlocker::kMinKeyFileBytes).Expose());
}

// Guesses cost half a second each, so 12 bytes resist them unless they are a common phrase.
absl::Status CheckNewPassphrase(const crypto::SecretBytes& passphrase) {
  if (passphrase.size() >= UnlockSource::kMinPassphraseBytes) return absl::OkStatus();
  return base::InvalidArgument(
      "the new passphrase has {} bytes, expected {} or more: take four unrelated words",
      passphrase.size(), UnlockSource::kMinPassphraseBytes);
}

// Nothing when no file is named.
absl::StatusOr<std::optional<crypto::Unlocker>> Given(const UnlockSource& source, bool is_new) {
  if (source.passphrase_file.has_value() && source.key_file.has_value()) {
    return base::InvalidArgument("--{}passphrase-file and --{}key-file exclude each other",
                                 source.prefix, source.prefix);
  }
  if (source.key_file.has_value()) {
    TACET_ASSIGN_OR_RETURN(crypto::SecretBytes content, ReadSecretFile(*source.key_file));
    return crypto::Unlocker::FromKeyFile(std::move(content));
  }
  if (!source.passphrase_file.has_value()) return std::nullopt;
  TACET_ASSIGN_OR_RETURN(crypto::SecretBytes passphrase, ReadSecretLine(*source.passphrase_file));
  if (is_new) TACET_RETURN_IF_ERROR(CheckNewPassphrase(passphrase));
  return crypto::Unlocker::FromPassphrase(std::move(passphrase));
}

}  // namespace

absl::StatusOr<crypto::Unlocker> UnlockSource::Existing(std::string_view what) const {
  base::ForbidDumps();
  TACET_ASSIGN_OR_RETURN(std::optional<crypto::Unlocker> given, Given(*this, false));
  if (given.has_value()) return *std::move(given);
  TACET_ASSIGN_OR_RETURN(crypto::SecretBytes passphrase,
                         Ask(fmt::format("Passphrase of the {}: ", what)));
  return crypto::Unlocker::FromPassphrase(std::move(passphrase));
}

absl::StatusOr<crypto::Unlocker> UnlockSource::New(std::string_view what) const {
  base::ForbidDumps();
  if (key_file.has_value()) TACET_RETURN_IF_ERROR(MakeKeyFile(*key_file));
  TACET_ASSIGN_OR_RETURN(std::optional<crypto::Unlocker> given, Given(*this, true));
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

}  // namespace tacet::storage::file
