// Kit of a site: one file with instructions, configuration and unit file, sent with its invitation.
#ifndef TACET_COORDINATOR_SITE_KIT_H_
#define TACET_COORDINATOR_SITE_KIT_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/agreement/signed_manifest.h"

namespace tacet::coordinator {

// Where a server listens unless it is told otherwise.
inline constexpr std::string_view kDefaultPort = "7443";

// The kit of `member`, Markdown. `server` is HOST:PORT.
std::string SiteKit(const agreement::SignedManifest& manifest, uint64_t member,
                    std::string_view server);

// The first host of the manifest's server, at kDefaultPort.
std::string DefaultServer(const agreement::SignedManifest& manifest);

// InvalidArgument when `server` is not HOST:PORT of one of the hosts of the manifest's server.
// Empty: the first of them, at kDefaultPort.
absl::Status CheckKitServer(const agreement::SignedManifest& manifest, std::string_view server);

// Writes NAME-kit.md of every member into `folder`, in place of all kits there. Nothing where the
// manifest names no server. Errors of CheckKitServer.
absl::StatusOr<std::vector<std::filesystem::path>> WriteSiteKits(
    const agreement::SignedManifest& manifest, std::string_view server,
    const std::filesystem::path& folder);

}  // namespace tacet::coordinator

#endif  // TACET_COORDINATOR_SITE_KIT_H_
