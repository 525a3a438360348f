// Shared parts of the subcommands of `tacet federation`.
#ifndef TACET_APPS_TACET_FEDERATION_FEDERATION_SETUP_H_
#define TACET_APPS_TACET_FEDERATION_FEDERATION_SETUP_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/agreement/manifest.h"
#include "tacet/agreement/signed_manifest.h"
#include "tacet/crypto/locked_secret.h"
#include "tacet/storage/file/coordinator_folder.h"

namespace tacet::app::federation {

inline constexpr std::string_view kFolderHelp = "folder of the coordinating member";
inline constexpr std::string_view kDefaultFolder = "federation";

// The agreement in the coordinator's folder, without members. InvalidArgument for settings that
// only a simulation can have.
absl::StatusOr<agreement::ManifestSpec> AgreementOf(std::string_view agreed_toml,
                                                    std::span<const float> initial_model);

// Signs the manifest of the folder's latest epoch for the sites enrolled, unless that was done, and
// returns it. `committee` has the names of the members on the committee, by seat; empty: the first
// members. FailedPrecondition when it was done for other sites or another committee; NotFound for a
// name that is not enrolled.
absl::StatusOr<agreement::SignedManifest> SignLatestManifest(
    storage::file::CoordinatorFolder& folder, const crypto::SigningKey& coordinator,
    std::span<const std::string> committee);

struct HandedOut {
  std::string name;
  std::filesystem::path file;
};

// Writes an invitation for every site enrolled, the server among them.
absl::StatusOr<std::vector<HandedOut>> WriteInvitations(storage::file::CoordinatorFolder& folder,
                                                        const agreement::SignedManifest& manifest,
                                                        const crypto::SigningKey& coordinator,
                                                        const crypto::SecretBytes& epoch_key);

}  // namespace tacet::app::federation

#endif  // TACET_APPS_TACET_FEDERATION_FEDERATION_SETUP_H_
