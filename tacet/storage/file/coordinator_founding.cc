#include "tacet/storage/file/coordinator_founding.h"

#include <array>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "fmt/core.h"
#include <fcntl.h>

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/storage/file/coordinator_files.h"
#include "tacet/storage/file/posix_file.h"
#include "tacet/storage/file/secret_file.h"

namespace tacet::storage::file {
namespace {

namespace fs = std::filesystem;

using namespace coordinator_file;

// A folder with a name is whole. The name is written first, next to its place, and renamed last. So
// an unfinished folder is known at each moment.
constexpr std::array kFolders = {kSites, kRemoved, kEpochs, kInvitations};
constexpr std::array kFiles = {kKeys, kIdentity, kAgreement, kAuthority, kInitialModel};

fs::path Beginning(const fs::path& folder) { return folder / fmt::format("{}.new", kName); }

absl::Status WriteBeginning(const fs::path& folder, std::string_view name, DiskCalls& disk) {
  const File file(Beginning(folder), O_WRONLY | O_CREAT | O_EXCL);
  if (file.ok() && file.WriteAll(base::AsBytes(name), disk) && disk.Synchronise(file.get()) == 0) {
    return SyncDirectory(folder, disk);
  }
  return SystemError("write", Beginning(folder));
}

absl::Status TakeName(const fs::path& folder, DiskCalls& disk) {
  const fs::path name = folder / kName;
  if (disk.Rename(Beginning(folder).c_str(), name.c_str()) == 0) return SyncDirectory(folder, disk);
  return SystemError("rename", Beginning(folder));
}

}  // namespace

bool IsHalfFilled(const fs::path& folder) {
  std::error_code error;
  return fs::exists(Beginning(folder), error) && !fs::exists(folder / kName, error) &&
         !fs::exists(EpochFile(folder, 0, kManifestEnding), error);
}

absl::Status FillFolder(const fs::path& folder, const CoordinatorFolder::Parts& parts,
                        std::span<const uint8_t> keys, std::span<const uint8_t> first_key,
                        DiskCalls& disk) {
  TACET_RETURN_IF_ERROR(WriteBeginning(folder, parts.federation, disk));
  for (const std::string_view name : kFolders) {
    TACET_RETURN_IF_ERROR(MakeFolders(folder / name, 0777, disk));
  }
  TACET_RETURN_IF_ERROR(WriteSecretFile(folder / kKeys, keys, disk));
  TACET_RETURN_IF_ERROR(WriteSecretFile(EpochFile(folder, 0, kKeyEnding), first_key, disk));
  TACET_RETURN_IF_ERROR(
      ReplaceFile(folder / kIdentity, base::AsBytes(base::ToHex(parts.identity)), disk));
  TACET_RETURN_IF_ERROR(
      ReplaceFile(folder / kAgreement, base::AsBytes(parts.terms.agreement), disk));
  TACET_RETURN_IF_ERROR(ReplaceFile(folder / kAuthority, parts.authority, disk));
  TACET_RETURN_IF_ERROR(ReplaceFile(folder / kInitialModel, parts.terms.initial_model, disk));
  return TakeName(folder, disk);
}

absl::Status ClearFolder(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder / kName, error)) fs::rename(folder / kName, Beginning(folder), error);
  const auto remove = [&error](const fs::path& path) {
    if (!error) fs::remove(path, error);
  };
  std::vector<fs::path> made = {EpochFile(folder, 0, kKeyEnding)};
  for (const std::string_view file : kFiles) made.push_back(folder / file);
  for (const fs::path& file : made) {
    remove(file);
    remove(file.string() + ".new");
  }
  for (const std::string_view name : kFolders) remove(folder / name);
  remove(Beginning(folder));
  if (error) return base::Unavailable("cannot clear {}: {}", folder.string(), error.message());
  return absl::OkStatus();
}

}  // namespace tacet::storage::file
