#include "tacet/storage/file/membership.h"

#include "tacet/base/status.h"

namespace tacet::storage::file {

using storage::file::Membership;
using storage::file::SiteFolder;

absl::StatusOr<Membership> MembershipOf(const SiteFolder& folder,
                                        const std::filesystem::path& home) {
  absl::StatusOr<Membership> membership = folder.Joined();
  if (membership.status().code() == absl::StatusCode::kNotFound) {
    return base::NotFound(
        "{} has not joined a federation yet, or has lost {}: `tacet client join FILE --coordinator "
        "FINGERPRINT` accepts the invitation of the present epoch",
        home.string(), folder.invitation_path().string());
  }
  return membership;
}

}  // namespace tacet::storage::file
