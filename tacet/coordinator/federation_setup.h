// Shared parts of the subcommands of `tacet federation`.
#ifndef TACET_COORDINATOR_FEDERATION_SETUP_H_
#define TACET_COORDINATOR_FEDERATION_SETUP_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/agreement/initial_model.h"
#include "tacet/agreement/manifest.h"
#include "tacet/agreement/signed_manifest.h"
#include "tacet/crypto/locked_secret.h"
#include "tacet/storage/file/coordinator_folder.h"

namespace tacet::coordinator {

// Certificates are valid from so long before they are issued: clocks of others may be behind.
inline constexpr uint64_t kClockSeconds = 3600;

inline constexpr std::string_view kFolderHelp = "folder of the coordinating member";
inline constexpr std::string_view kDefaultFolder = "federation";

// The agreement in the coordinator's folder, without members. InvalidArgument for settings that
// only a simulation can have.
absl::StatusOr<agreement::ManifestSpec> AgreementOf(std::string_view agreed_toml,
                                                    const agreement::InitialModel& initial_model);

// Signs a manifest of `epoch` for `sites`, and keeps nothing. `terms` are of the training that
// begins with it; null: the folder's training continues. `committee` has the names of the
// members on the committee, by seat; empty: the first members. NotFound for a name that is not
// among the sites, FailedPrecondition without any, with two servers, or without
// a site that the query names, errors of CheckSuccessor, InvalidArgument when the agreement cannot
// be planned for them.
absl::StatusOr<agreement::SignedManifest> SignManifest(
    const storage::file::CoordinatorFolder& folder, uint32_t epoch,
    const storage::file::TrainingTerms* terms,
    const std::vector<storage::file::EnrolledSite>& sites, std::span<const std::string> committee,
    const crypto::SigningKey& coordinator);

// The manifest of the folder's latest epoch. That of the first epoch is signed for the sites
// enrolled unless it was done before; FailedPrecondition when it was done for other sites or
// another committee. Errors of SignManifest.
absl::StatusOr<agreement::SignedManifest> SignLatestManifest(
    storage::file::CoordinatorFolder& folder, const crypto::SigningKey& coordinator,
    std::span<const std::string> committee);

struct HandedOut {
  std::string name;
  std::filesystem::path file;
};

// For the person who sends it.
std::string FileLine(const HandedOut& one);

// Writes an invitation for every site enrolled, the server among them.
absl::StatusOr<std::vector<HandedOut>> WriteInvitations(storage::file::CoordinatorFolder& folder,
                                                        const agreement::SignedManifest& manifest,
                                                        const crypto::SigningKey& coordinator,
                                                        const crypto::SecretBytes& epoch_key);

}  // namespace tacet::coordinator

#endif  // TACET_COORDINATOR_FEDERATION_SETUP_H_
