#include "tacet/storage/file/exchange_key_files.h"

#include <optional>
#include <string_view>
#include <system_error>

#include "tacet/base/status.h"
#include "tacet/storage/file/locked_files.h"
#include "tacet/storage/file/posix_file.h"
#include "tacet/storage/file/secret_file.h"

namespace tacet::storage::file {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kInUse = "exchange.key";
constexpr std::string_view kNext = "exchange-next.key";
constexpr std::string_view kPurpose = "site's exchange key";

// Nothing where there is no file.
absl::StatusOr<std::optional<agreement::ExchangeKeys>> Read(const fs::path& path,
                                                            const crypto::Unlocker& unlocker) {
  const absl::StatusOr<crypto::SecretBytes> locked = ReadSecretFile(path);
  if (locked.status().code() == absl::StatusCode::kNotFound) return std::nullopt;
  TACET_RETURN_IF_ERROR(locked.status());
  const absl::StatusOr<crypto::SecretBytes> secret =
      crypto::UnlockSecret(locked->Expose(), kPurpose, unlocker);
  if (!secret.ok()) return base::Annotate(secret.status(), path.string());
  absl::StatusOr<agreement::ExchangeKeys> keys = agreement::ReadExchangeKeys(*secret);
  if (!keys.ok()) return base::Annotate(keys.status(), path.string());
  return *std::move(keys);
}

}  // namespace

absl::StatusOr<ExchangeKeyFiles::Next> ExchangeKeyFiles::PrepareNext(
    const crypto::Unlocker& unlocker, crypto::Entropy& entropy) const {
  const absl::StatusOr<std::optional<agreement::ExchangeKeys>> read =
      Read(folder_ / kNext, unlocker);
  if (!read.ok() && read.status().code() != absl::StatusCode::kUnavailable) {
    return base::DataLoss("{}. `rm {}` makes way for another one", base::Message(read.status()),
                          (folder_ / kNext).string());
  }
  TACET_RETURN_IF_ERROR(read.status());
  const std::optional<agreement::ExchangeKeys>& known = *read;
  if (known.has_value()) return Next{.keys = known->public_keys(), .is_new = false};
  const agreement::ExchangeKeys keys = agreement::ExchangeKeys::Generate(entropy);
  TACET_ASSIGN_OR_RETURN(
      const base::Bytes locked,
      crypto::LockSecret(agreement::WriteExchangeKeys(keys), kPurpose, unlocker, entropy));
  TACET_RETURN_IF_ERROR(ReplaceFile(folder_ / kNext, locked, DiskCalls::System(), kOwnerOnly));
  return Next{.keys = keys.public_keys(), .is_new = true};
}

absl::Status ExchangeKeyFiles::DiscardNext() const {
  const fs::path next = folder_ / kNext;
  TACET_RETURN_IF_ERROR(RemoveOldContent(next));
  TACET_RETURN_IF_ERROR(OverwriteSecretFile(next));
  std::error_code error;
  fs::remove(next, error);
  if (error) return base::Unavailable("cannot remove {}: {}", next.string(), error.message());
  return SyncDirectory(folder_);
}

bool ExchangeKeyFiles::HasNext() const {
  std::error_code error;
  return fs::exists(folder_ / kNext, error);
}

absl::StatusOr<std::vector<agreement::ExchangeKeys>> ExchangeKeyFiles::All(
    const crypto::Unlocker& unlocker) const {
  std::vector<agreement::ExchangeKeys> all;
  for (const std::string_view file : {kNext, kInUse}) {
    absl::StatusOr<std::optional<agreement::ExchangeKeys>> keys = Read(folder_ / file, unlocker);
    if (keys.status().code() == absl::StatusCode::kUnavailable) return keys.status();
    // After a crash in TakeUp the keys in use may be zeros already.
    if (keys.ok() && keys->has_value()) all.push_back(**std::move(keys));
  }
  return all;
}

absl::StatusOr<ExchangeKeyFiles::Found> ExchangeKeyFiles::Look(
    const crypto::ExchangePublicKey& named, const crypto::Unlocker& unlocker) const {
  // The next keys first: after a crash in TakeUp the other file may be zeros already.
  absl::Status damaged;
  for (const bool is_next : {true, false}) {
    absl::StatusOr<std::optional<agreement::ExchangeKeys>> keys =
        Read(folder_ / (is_next ? kNext : kInUse), unlocker);
    damaged.Update(keys.status());
    if (keys.ok() && keys->has_value() && (*keys)->exchange.public_key() == named) {
      return Found{.keys = **std::move(keys), .is_next = is_next};
    }
  }
  if (damaged.code() == absl::StatusCode::kUnavailable) return damaged;  // it cannot be read now
  return absl::Status(
      damaged.ok() ? absl::StatusCode::kNotFound : damaged.code(),
      fmt::format(
          "{} does not hold the exchange key that the manifest names for this site{}. Where {} is "
          "an older one, `tacet client join FILE` accepts the present one. Else run `tacet client "
          "renew`, have the request enrolled, and join the next epoch",
          (folder_ / kInUse).string(),
          damaged.ok() ? "" : fmt::format(" ({})", base::Message(damaged)),
          (folder_ / "invitation").string()));
}

absl::StatusOr<agreement::ExchangeKeys> ExchangeKeyFiles::Find(
    const crypto::ExchangePublicKey& named, const crypto::Unlocker& unlocker) const {
  TACET_ASSIGN_OR_RETURN(Found found, Look(named, unlocker));
  return std::move(found.keys);
}

absl::StatusOr<agreement::ExchangeKeys> ExchangeKeyFiles::TakeUp(
    const crypto::ExchangePublicKey& named, const crypto::Unlocker& unlocker) const {
  TACET_ASSIGN_OR_RETURN(Found found, Look(named, unlocker));
  if (!found.is_next) return std::move(found.keys);
  TACET_RETURN_IF_ERROR(RemoveOldContent(folder_ / kInUse));
  TACET_RETURN_IF_ERROR(OverwriteSecretFile(folder_ / kInUse));
  std::error_code error;
  fs::rename(folder_ / kNext, folder_ / kInUse, error);
  if (error) {
    return base::Unavailable("cannot rename {}: {}", (folder_ / kNext).string(), error.message());
  }
  TACET_RETURN_IF_ERROR(SyncDirectory(folder_));
  return std::move(found.keys);
}

}  // namespace tacet::storage::file
