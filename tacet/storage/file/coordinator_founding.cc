#include "tacet/storage/file/coordinator_founding.h"

#include <array>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "fmt/core.h"

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/storage/file/coordinator_files.h"
#include "tacet/storage/file/secret_file.h"

namespace tacet::storage::file {
namespace {

namespace fs = std::filesystem;

using namespace coordinator_file;

// The folder's name is written last: a folder with a name is whole. The file next to which it is
// written is the first, so that unfinished folders are known.
constexpr std::array kFolders = {kSites, kRemoved, kEpochs, kInvitations};
constexpr std::array kFiles = {kKeys, kIdentity, kAgreement, kAuthority, kInitialModel};

fs::path Beginning(const fs::path& folder) { return folder / fmt::format("{}.new", kName); }

}  // namespace

bool IsHalfFilled(const fs::path& folder) {
  std::error_code error;
  const bool has_begun = fs::exists(Beginning(folder), error) ||
                         fs::exists(Beginning(folder).string() + ".new", error);
  return has_begun && !fs::exists(folder / kName, error) &&
         !fs::exists(EpochFile(folder, 0, kManifestEnding), error);
}

absl::Status FillFolder(const fs::path& folder, const CoordinatorFolder::Parts& parts,
                        std::span<const uint8_t> keys, std::span<const uint8_t> first_key,
                        DiskCalls& disk) {
  TACET_RETURN_IF_ERROR(ReplaceFile(Beginning(folder), base::AsBytes(parts.federation), disk));
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
  return ReplaceFile(folder / kName, base::AsBytes(parts.federation), disk);
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
  remove(Beginning(folder).string() + ".new");
  remove(Beginning(folder));
  if (error) return base::Unavailable("cannot clear {}: {}", folder.string(), error.message());
  return absl::OkStatus();
}

}  // namespace tacet::storage::file
