#include "tacet/coordinator/enrolled_parties.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "tacet/agreement/epoch_chain.h"
#include "tacet/agreement/key_renewal.h"
#include "tacet/base/status.h"
#include "tacet/storage/file/coordinator_files.h"

namespace tacet::coordinator {
namespace {

using agreement::SignedManifest;
using storage::file::CoordinatorFolder;
using storage::file::EnrolledSite;

// Nothing before the first manifest is signed.
absl::StatusOr<std::optional<SignedManifest>> PresentManifest(const CoordinatorFolder& folder) {
  TACET_ASSIGN_OR_RETURN(const uint32_t epoch, folder.Epoch());
  const absl::StatusOr<base::Bytes> bytes = folder.SignedManifest(epoch);
  if (bytes.status().code() == absl::StatusCode::kNotFound) return std::nullopt;
  TACET_RETURN_IF_ERROR(bytes.status());
  TACET_ASSIGN_OR_RETURN(SignedManifest manifest, SignedManifest::Read(*bytes));
  return std::optional<SignedManifest>(std::move(manifest));
}

std::vector<std::string> PartiesOf(const SignedManifest& manifest) {
  std::vector<std::string> names;
  for (const agreement::ManifestMember& member : manifest.members()) names.push_back(member.name);
  if (!manifest.server().name.empty()) names.push_back(manifest.server().name);
  return names;
}

absl::Status EnrolAgain(std::string_view why, const std::string& name,
                        const CoordinatorFolder& folder) {
  return base::FailedPrecondition(
      "{} {}. `tacet federation enrol {} --request FILE` enrols it again, from the request in its "
      "folder. To leave it out of the next epoch, run `tacet federation rotate --remove {}`",
      storage::file::EnrolledPath(folder.path(), name).string(), why, name, name);
}

}  // namespace

absl::Status CheckAllEnrolled(const std::vector<EnrolledSite>& sites,
                              const std::set<std::string>& removed,
                              const CoordinatorFolder& folder) {
  TACET_ASSIGN_OR_RETURN(const std::optional<SignedManifest> present, PresentManifest(folder));
  if (!present.has_value()) return absl::OkStatus();
  const uint32_t epoch = present->epoch();
  for (const std::string& name : PartiesOf(*present)) {
    const bool is_there = std::ranges::any_of(
        sites, [&name](const EnrolledSite& site) { return site.request.name == name; });
    if (is_there || removed.contains(name)) continue;
    return EnrolAgain(fmt::format("is missing, and {} is a party of epoch {}", name, epoch), name,
                      folder);
  }
  TACET_ASSIGN_OR_RETURN(const std::vector<base::Bytes> manifests, folder.ManifestsBefore(epoch));
  TACET_ASSIGN_OR_RETURN(const std::vector<agreement::EpochLink> earlier,
                         agreement::ReadChain(manifests));
  for (const EnrolledSite& site : sites) {
    const auto& key = site.request.exchange_keys.exchange;
    if (site.request.server || agreement::NamesExchangeKey(present->members(), key)) continue;
    for (const agreement::EpochLink& link : earlier) {
      if (!agreement::NamesExchangeKey(link.members, key)) continue;
      return EnrolAgain(
          fmt::format("is a copy from epoch {}: its exchange key ended with that epoch",
                      link.epoch),
          site.request.name, folder);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<EnrolledSite>> EnrolledWithout(const std::set<std::string>& removed,
                                                          const CoordinatorFolder& folder) {
  TACET_ASSIGN_OR_RETURN(std::vector<EnrolledSite> sites, folder.Enrolled());
  TACET_ASSIGN_OR_RETURN(const std::optional<SignedManifest> present, PresentManifest(folder));
  const std::vector<std::string> parties =
      present.has_value() ? PartiesOf(*present) : std::vector<std::string>();
  for (const std::string& name : removed) {
    const auto named = [&name](const EnrolledSite& site) { return site.request.name == name; };
    // One whose file is lost can leave, too.
    if (std::erase_if(sites, named) == 0 && std::ranges::find(parties, name) == parties.end()) {
      return base::NotFound("--remove names {}, but no site called {} is enrolled", name, name);
    }
  }
  TACET_RETURN_IF_ERROR(CheckAllEnrolled(sites, removed, folder));
  return sites;
}

}  // namespace tacet::coordinator
