// Names of the files in a coordinator's folder, and those of them that are not secret
// (docs/formats/enrolment.md).
#ifndef TACET_STORAGE_FILE_COORDINATOR_FILES_H_
#define TACET_STORAGE_FILE_COORDINATOR_FILES_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "tacet/agreement/member_keys.h"
#include "tacet/base/bytes.h"

namespace tacet::storage::file {

namespace coordinator_file {

inline constexpr std::string_view kName = "name";
inline constexpr std::string_view kIdentity = "identity";
inline constexpr std::string_view kAgreement = "federation.toml";
inline constexpr std::string_view kAuthority = "authority.der";
inline constexpr std::string_view kInitialModel = "initial-model";
inline constexpr std::string_view kKeys = "coordinator.key";
inline constexpr std::string_view kSites = "sites";
inline constexpr std::string_view kRemoved = "removed";
inline constexpr std::string_view kEpochs = "epochs";
inline constexpr std::string_view kInvitations = "invitations";
// For files in epochs/.
inline constexpr std::string_view kKeyEnding = ".key";
inline constexpr std::string_view kManifestEnding = ".manifest";
// For an epoch that is to begin: its sites that leave, and the terms of the training that begins.
inline constexpr std::string_view kRemovalEnding = ".removed";
inline constexpr std::string_view kAgreementEnding = ".toml";
inline constexpr std::string_view kModelEnding = ".model";
// For an epoch whose invitations are not all written: what was asked.
inline constexpr std::string_view kAskedEnding = ".asked";

inline constexpr std::string_view kEnrolledEnding = ".enrolled";
inline constexpr std::string_view kInvitationEnding = ".tacet";
inline constexpr std::string_view kOfEpoch = "-epoch-";

}  // namespace coordinator_file

// The epoch of a file: the number between the last `prefix` in its name and `ending`. Nothing for
// other files.
std::optional<uint32_t> EpochOf(const std::filesystem::path& file, std::string_view prefix,
                                std::string_view ending);
std::filesystem::path EpochFile(const std::filesystem::path& folder, uint32_t epoch,
                                std::string_view ending);
std::filesystem::path EnrolledPath(const std::filesystem::path& folder, std::string_view name);
std::filesystem::path InvitationPath(const std::filesystem::path& folder, uint32_t epoch,
                                     std::string_view name);

// The last epoch that has begun: it has a key, or a manifest of which nothing says that it is not
// whole yet, or an invitation that is named after it. Nothing where no epoch has begun.
absl::StatusOr<std::optional<uint32_t>> LastEpochIn(const std::filesystem::path& folder);

struct EnrolledSite {
  agreement::EnrolmentRequest request;
  base::Bytes certificate;    // DER
  base::Bytes request_bytes;  // as they were signed
};
base::Bytes WriteEnrolled(std::span<const uint8_t> request, std::span<const uint8_t> certificate);
// NotFound, and DataLoss with the command that repairs a damaged file.
absl::StatusOr<EnrolledSite> ReadEnrolled(const std::filesystem::path& path);
// Nothing when none of that name is enrolled, or its file is damaged.
absl::StatusOr<std::optional<agreement::EnrolmentRequest>> RequestOf(
    const std::filesystem::path& folder, std::string_view name);

}  // namespace tacet::storage::file

#endif  // TACET_STORAGE_FILE_COORDINATOR_FILES_H_
