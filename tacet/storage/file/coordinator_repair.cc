#include "tacet/storage/file/coordinator_repair.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/agreement/initial_model.h"
#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/storage/file/coordinator_files.h"

namespace tacet::storage::file {
namespace {

namespace fs = std::filesystem;

using namespace coordinator_file;
using agreement::Invitation;
using agreement::SignedManifest;

// Invitations of the folder, the latest epoch's first; damaged ones are left out.
class Invitations {
 public:
  explicit Invitations(const fs::path& folder) {
    std::error_code error;
    for (fs::directory_iterator entry(folder / kInvitations, error), end; !error && entry != end;
         entry.increment(error)) {
      const auto epoch = EpochOf(entry->path(), kOfEpoch, kInvitationEnding);
      if (epoch.has_value()) files_.emplace_back(*epoch, entry->path());
    }
    std::ranges::sort(files_, std::greater<>());
  }
  // The first that `use` takes.
  template <typename Use>
  bool Find(const Use& use) const {
    return std::ranges::any_of(files_, [&](const auto& file) {
      const absl::StatusOr<base::Bytes> bytes = ReadFile(file.second);
      if (!bytes.ok()) return false;
      const absl::StatusOr<Invitation> invitation = agreement::ReadInvitation(*bytes);
      return invitation.ok() && use(*invitation);
    });
  }

 private:
  std::vector<std::pair<uint32_t, fs::path>> files_;
};

bool IsManifestOf(uint32_t epoch, std::span<const uint8_t> bytes) {
  const auto link = agreement::ReadEpochLink(bytes);
  return link.ok() && link->epoch == epoch;
}

// Empty where file and invitations have no readable one.
absl::StatusOr<base::Bytes> FindManifest(const fs::path& folder, uint32_t epoch) {
  absl::StatusOr<base::Bytes> bytes = ReadFile(EpochFile(folder, epoch, kManifestEnding));
  if (bytes.ok() && IsManifestOf(epoch, *bytes)) return bytes;
  if (!bytes.ok() && bytes.status().code() != absl::StatusCode::kNotFound) return bytes.status();
  base::Bytes found;
  Invitations(folder).Find([&](const Invitation& invitation) {
    if (IsManifestOf(epoch, invitation.manifest)) {
      found = invitation.manifest;
    } else if (epoch < invitation.earlier.size() &&
               IsManifestOf(epoch, invitation.earlier[epoch])) {
      found = invitation.earlier[epoch];
    }
    return !found.empty();
  });
  return found;
}

absl::Status Ensure(const fs::path& path, std::span<const uint8_t> content, DiskCalls& disk) {
  const absl::StatusOr<base::Bytes> present = ReadFile(path);
  if (present.ok() && std::ranges::equal(*present, content)) return absl::OkStatus();
  if (!present.ok() && present.status().code() != absl::StatusCode::kNotFound) {
    return present.status();
  }
  return ReplaceFile(path, content, disk);
}

bool IsAgreed(std::span<const uint8_t> model, const SignedManifest& manifest) {
  const auto read = agreement::ReadInitialModel(model);
  return read.ok() && read->Digest() == manifest.manifest().spec().initial_model;
}

absl::Status RepairModel(const fs::path& folder, const SignedManifest& manifest, DiskCalls& disk) {
  const fs::path path = folder / kInitialModel;
  const absl::StatusOr<base::Bytes> present = ReadFile(path);
  if (present.ok() && IsAgreed(*present, manifest)) return absl::OkStatus();
  if (!present.ok() && present.status().code() != absl::StatusCode::kNotFound) {
    return present.status();
  }
  base::Bytes model;
  const bool found = Invitations(folder).Find([&](const Invitation& invitation) {
    if (!IsAgreed(invitation.initial_model, manifest)) return false;
    model = invitation.initial_model;
    return true;
  });
  if (found) return ReplaceFile(path, model, disk);
  return base::DataLoss(
      "{} is not the agreed one, and no file in {} has it: copy a site's `invitation` of epoch {} "
      "there, as NAME{}{}{}",
      path.string(), (folder / kInvitations).string(), manifest.epoch(), kOfEpoch, manifest.epoch(),
      kInvitationEnding);
}

}  // namespace

absl::Status RepairNames(const fs::path& folder, DiskCalls& disk) {
  TACET_ASSIGN_OR_RETURN(const std::optional<uint32_t> last, LastEpochIn(folder));
  if (!last.has_value()) return absl::OkStatus();
  for (const std::string_view part : {kSites, kRemoved, kEpochs, kInvitations}) {
    TACET_RETURN_IF_ERROR(MakeFolders(folder / part, 0777, disk));
  }
  TACET_ASSIGN_OR_RETURN(const base::Bytes manifest, FindManifest(folder, *last));
  if (manifest.empty()) return absl::OkStatus();
  TACET_ASSIGN_OR_RETURN(const agreement::EpochLink link, agreement::ReadEpochLink(manifest));
  return Ensure(folder / kName, base::AsBytes(link.name), disk);
}

absl::Status RepairCopies(const fs::path& folder, DiskCalls& disk) {
  TACET_ASSIGN_OR_RETURN(const std::optional<uint32_t> last, LastEpochIn(folder));
  if (!last.has_value()) return absl::OkStatus();
  base::Bytes bytes;
  for (uint32_t epoch = 0; epoch <= *last; ++epoch) {
    TACET_ASSIGN_OR_RETURN(bytes, FindManifest(folder, epoch));
    if (bytes.empty()) continue;
    TACET_RETURN_IF_ERROR(Ensure(EpochFile(folder, epoch, kManifestEnding), bytes, disk));
  }
  if (bytes.empty()) return absl::OkStatus();
  TACET_ASSIGN_OR_RETURN(const SignedManifest manifest, SignedManifest::Read(bytes));
  const std::string identity = base::ToHex(manifest.manifest().spec().federation);
  TACET_RETURN_IF_ERROR(Ensure(folder / kIdentity, base::AsBytes(identity), disk));
  TACET_RETURN_IF_ERROR(Ensure(folder / kAuthority, manifest.authority(), disk));
  TACET_RETURN_IF_ERROR(Ensure(folder / kAgreement, base::AsBytes(manifest.annex()), disk));
  return RepairModel(folder, manifest, disk);
}

}  // namespace tacet::storage::file
