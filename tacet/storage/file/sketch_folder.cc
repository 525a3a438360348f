#include "tacet/storage/file/sketch_folder.h"

#include <algorithm>
#include <system_error>

#include <fcntl.h>

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/crypto/random.h"
#include "tacet/storage/file/file_lock.h"
#include "tacet/storage/file/posix_file.h"
#include "tacet/storage/file/secret_file.h"

namespace tacet::storage::file {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSketchFolder = "sketch";
constexpr std::string_view kSketchKey = "key";
constexpr std::string_view kSketchLock = "lock";
constexpr std::string_view kRowsEnding = ".rows";
constexpr std::string_view kBackupTag = "CACHEDIR.TAG";
constexpr std::string_view kBackupTagText =
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# Sketches of rows and their key confirm single records: leave this folder out of backups.\n";
constexpr double kMaxSketchWaitSeconds = 60;

absl::StatusOr<File> LockSketches(const fs::path& folder) {
  File lock(folder / kSketchLock, O_RDWR | O_CREAT, kOwnerOnly);
  if (!lock.ok()) return SystemError("open", folder / kSketchLock);
  if (LockFile(lock, kMaxSketchWaitSeconds)) return lock;
  return base::Unavailable("{} is in use by another process", folder.string());
}

// Key of the folder, which the caller has locked.
absl::StatusOr<crypto::SecretBytes> EnsureSketchKey(const fs::path& path) {
  absl::StatusOr<crypto::SecretBytes> key = ReadSecretFile(path);
  if (key.status().code() == absl::StatusCode::kNotFound) {
    key = crypto::SystemEntropy().Draw(ledger::kSketchKeyBytes);
    TACET_RETURN_IF_ERROR(WriteSecretFile(path, key->Expose()));
  }
  if (!key.ok() || key->size() == ledger::kSketchKeyBytes) return key;
  return base::DataLoss("{} has {} bytes, a key of sketches has {}", path.string(), key->size(),
                        ledger::kSketchKeyBytes);
}

}  // namespace

absl::StatusOr<SketchFolder> SketchFolder::Open(const fs::path& ledger_folder) {
  fs::path path = ledger_folder / kSketchFolder;
  TACET_RETURN_IF_ERROR(MakeFolders(path, 0700));
  TACET_ASSIGN_OR_RETURN(const File lock, LockSketches(path));
  std::error_code error;
  if (!fs::exists(path / kBackupTag, error)) {
    TACET_RETURN_IF_ERROR(ReplaceFile(path / kBackupTag, base::AsBytes(kBackupTagText)));
  }
  TACET_ASSIGN_OR_RETURN(crypto::SecretBytes key, EnsureSketchKey(path / kSketchKey));
  return SketchFolder(std::move(path), std::move(key));
}

absl::StatusOr<ledger::RowSketch> SketchFolder::Read(const fs::path& path) const {
  TACET_ASSIGN_OR_RETURN(const crypto::SecretBytes bytes, ReadSecretFile(path));
  absl::StatusOr<ledger::RowSketch> sketch = ledger::ReadRowSketch(bytes.Expose(), key_);
  if (!sketch.ok()) return base::Annotate(sketch.status(), path.string());
  return sketch;
}

absl::StatusOr<std::vector<SharedRows>> SketchFolder::Add(std::string_view population,
                                                          const ledger::RowSketch& rows) const {
  TACET_ASSIGN_OR_RETURN(const File lock, LockSketches(path_));
  std::vector<SharedRows> shared;
  ledger::RowSketch known;
  std::error_code error;
  for (fs::directory_iterator entry(path_, error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path& path = entry->path();
    if (path.extension() != kRowsEnding) continue;
    TACET_ASSIGN_OR_RETURN(ledger::RowSketch sketch, Read(path));
    if (path.stem() == population) {
      known = std::move(sketch);
    } else if (const double share = rows.ShareIn(sketch); share > 0) {
      shared.push_back({.population = path.stem().string(), .share = share});
    }
  }
  if (error) return base::Unavailable("cannot read {}: {}", path_.string(), error.message());
  std::ranges::sort(shared, {}, &SharedRows::population);
  const ledger::RowSketch all = known.With(rows);
  if (all == known) return shared;
  const fs::path path = path_ / (std::string(population) + std::string(kRowsEnding));
  TACET_RETURN_IF_ERROR(
      ReplaceFile(path, ledger::WriteRowSketch(all, key_), DiskCalls::System(), kOwnerOnly));
  return shared;
}

}  // namespace tacet::storage::file
