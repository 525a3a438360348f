// Content of a folder that has joined a federation, for the commands that need it.
#ifndef TACET_STORAGE_FILE_MEMBERSHIP_H_
#define TACET_STORAGE_FILE_MEMBERSHIP_H_

#include <cstdint>
#include <filesystem>

#include "absl/status/statusor.h"

#include "tacet/base/unix_clock.h"
#include "tacet/storage/file/site_folder.h"

namespace tacet::storage::file {

// NotFound, with the command that helps, when `folder`, which is at `home`, has not joined one.
absl::StatusOr<storage::file::Membership> MembershipOf(const storage::file::SiteFolder& folder,
                                                       const std::filesystem::path& home);

// Before a certificate ends, sites and servers are told for so long.
inline constexpr uint64_t kCertificateWarningSeconds = 30 * base::kSecondsADay;

}  // namespace tacet::storage::file

#endif  // TACET_STORAGE_FILE_MEMBERSHIP_H_
