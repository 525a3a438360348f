#include "tacet/coordinator/federation_setup.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tacet/agreement/epoch_chain.h"
#include "tacet/base/status.h"
#include "tacet/config/agreed_query.h"
#include "tacet/config/run_config.h"
#include "tacet/coordinator/enrolled_parties.h"

namespace tacet::coordinator {
namespace {

using agreement::ManifestMember;
using agreement::SignedManifest;
using storage::file::CoordinatorFolder;
using storage::file::EnrolledSite;

std::vector<ManifestMember> MembersOf(const std::vector<EnrolledSite>& sites) {
  std::vector<ManifestMember> members;
  for (const EnrolledSite& site : sites) {
    if (site.request.server) continue;
    members.push_back(agreement::MemberOf(site.request));
  }
  return members;
}

// The one server that is enrolled; an unnamed one when none is.
absl::StatusOr<agreement::ManifestServer> ServerOf(const std::vector<EnrolledSite>& sites) {
  agreement::ManifestServer server;
  for (const EnrolledSite& site : sites) {
    if (!site.request.server) continue;
    if (!server.name.empty()) {
      return base::FailedPrecondition(
          "{} and {} are enrolled as servers, and an epoch has one: `tacet federation rotate "
          "--remove NAME` begins an epoch with the other",
          server.name, site.request.name);
    }
    server = {
        .name = site.request.name, .hosts = site.request.hosts, .tls_key = site.request.tls_key};
  }
  return server;
}

// K, and the seats of the committee, follow the number of members down, and up again to the agreed
// numbers. K_min stays: an epoch that is too small for it is refused.
void FollowMembers(agreement::ManifestSpec& agreed, uint32_t epoch, uint64_t members) {
  if (agreed.sampling.cohort == 0) agreed.sampling.cohort = members;
  if (epoch == agreed.training) return;  // its terms were made for these members
  agreed.sampling.cohort = std::min<uint64_t>(agreed.sampling.cohort, members);
  agreed.committee.seats =
      static_cast<uint32_t>(std::min<uint64_t>(agreed.committee.seats, members));
}

// But for exchange keys: those that were renewed meanwhile wait for the next epoch.
bool SameMembers(const std::vector<ManifestMember>& a, const std::vector<ManifestMember>& b) {
  return std::ranges::equal(a, b, [](const ManifestMember& one, const ManifestMember& other) {
    return one.name == other.name && one.signing_key == other.signing_key &&
           one.sealing_key == other.sealing_key;
  });
}

// Places of the named members in the list of all.
absl::StatusOr<std::vector<uint64_t>> MembersNamed(std::span<const std::string> names,
                                                   const std::vector<ManifestMember>& members) {
  std::vector<uint64_t> places;
  for (const std::string& name : names) {
    const auto member = std::ranges::find(members, name, &ManifestMember::name);
    if (member == members.end()) {
      return base::NotFound("--committee names {}, which is not enrolled as a member", name);
    }
    places.push_back(static_cast<uint64_t>(member - members.begin()));
  }
  return places;
}

absl::StatusOr<agreement::EpochLink> PredecessorOf(const CoordinatorFolder& folder,
                                                   uint32_t epoch) {
  const absl::StatusOr<base::Bytes> bytes = folder.SignedManifest(epoch - 1);
  if (bytes.status().code() == absl::StatusCode::kNotFound) {
    return base::FailedPrecondition(
        "the manifest of epoch {} is not in {}: sign that of epoch 0 with `tacet federation "
        "seal-key`, or take the folder's copy",
        epoch - 1, folder.path().string());
  }
  TACET_RETURN_IF_ERROR(bytes.status());
  return agreement::ReadEpochLink(*bytes);
}

// The epoch key for the member that sent `request`. After a renewal the KEM key of the request is
// for the next epoch, and what was written for this one is sent again.
absl::StatusOr<base::Bytes> EpochKeyFor(const agreement::EnrolmentRequest& request,
                                        const SignedManifest& manifest, uint64_t member,
                                        const crypto::SecretBytes& epoch_key,
                                        const crypto::SigningKey& coordinator,
                                        const CoordinatorFolder& folder) {
  if (request.exchange_keys.exchange == manifest.members()[member].exchange_key) {
    crypto::SystemEntropy entropy;
    return agreement::EncryptEpochKey(manifest, member, request.exchange_keys.kem, epoch_key,
                                      coordinator, entropy);
  }
  const absl::StatusOr<base::Bytes> bytes =
      storage::file::SavedInvitation(folder, manifest.epoch(), request.name);
  if (bytes.status().code() == absl::StatusCode::kNotFound) {
    return base::FailedPrecondition(
        "{} has renewed its keys, and its invitation for epoch {} is missing in {}: begin the next "
        "epoch with `tacet federation rotate`",
        request.name, manifest.epoch(), folder.path().string());
  }
  TACET_RETURN_IF_ERROR(bytes.status());
  TACET_ASSIGN_OR_RETURN(agreement::Invitation written, agreement::ReadInvitation(*bytes));
  return std::move(written.epoch_key);
}

// Sites would find out at their start only.
absl::Status CheckQuerySites(const std::string& agreed_toml,
                             const std::vector<ManifestMember>& members) {
  TACET_ASSIGN_OR_RETURN(const config::RunConfig config,
                         config::ParseRunConfig(agreed_toml, "federation.toml"));
  if (!config::IsQuery(config)) return absl::OkStatus();
  TACET_ASSIGN_OR_RETURN(const config::LoadedQuery loaded,
                         config::ParseQuery(config.query.text, "query.text"));
  std::vector<std::string> names;
  for (const ManifestMember& member : members) names.push_back(member.name);
  const absl::Status known = loaded.query->CheckSites(names);
  if (known.ok()) return absl::OkStatus();
  return base::FailedPrecondition(
      "{} among the members of this epoch. Enrol it, or keep it enrolled until the query is "
      "answered. A query without it needs a federation of its own",
      base::Message(known));
}

}  // namespace

absl::StatusOr<agreement::ManifestSpec> AgreementOf(std::string_view agreed_toml,
                                                    const agreement::InitialModel& initial_model) {
  TACET_ASSIGN_OR_RETURN(const config::RunConfig config,
                         config::ParseRunConfig(agreed_toml, "federation.toml"));
  const std::vector<std::string_view> simulated = config::SimulationOnlyKeys(config);
  if (!simulated.empty()) {
    return base::InvalidArgument("{} is set as only a simulation can have it", simulated[0]);
  }
  agreement::ManifestSpec agreement = config::ManifestSpecOf(config);
  agreement.dimension = initial_model.parameters.size();
  agreement.initial_model = initial_model.Digest();
  if (!config::IsQuery(config)) return agreement;
  // No key of a configuration names the law of the noise: it follows from the query's text.
  TACET_ASSIGN_OR_RETURN(const config::LoadedQuery loaded,
                         config::ParseQuery(config.query.text, "query.text"));
  agreement.mechanism.noise_law = loaded.query->noise_law();
  return agreement;
}

absl::StatusOr<SignedManifest> SignManifest(const CoordinatorFolder& folder, uint32_t epoch,
                                            const storage::file::TrainingTerms* terms,
                                            const std::vector<EnrolledSite>& sites,
                                            std::span<const std::string> committee,
                                            const crypto::SigningKey& coordinator) {
  std::vector<ManifestMember> members = MembersOf(sites);
  if (members.empty()) return base::FailedPrecondition("no site is enrolled yet");
  const storage::file::TrainingTerms& agreed_terms = terms ? *terms : folder.parts().terms;
  TACET_RETURN_IF_ERROR(CheckQuerySites(agreed_terms.agreement, members));
  agreement::SignedManifestSpec spec;
  spec.federation = folder.parts().federation;
  spec.epoch = epoch;
  std::optional<agreement::EpochLink> before;
  if (epoch > 0) {
    TACET_ASSIGN_OR_RETURN(before, PredecessorOf(folder, epoch));
    spec.predecessor = before->hash;
  }
  TACET_ASSIGN_OR_RETURN(spec.server, ServerOf(sites));
  TACET_ASSIGN_OR_RETURN(const agreement::InitialModel initial,
                         agreement::ReadInitialModel(agreed_terms.initial_model));
  TACET_ASSIGN_OR_RETURN(spec.agreement, AgreementOf(agreed_terms.agreement, initial));
  agreement::ManifestSpec& agreed = spec.agreement;
  agreed.federation = folder.parts().identity;
  agreed.training = terms != nullptr || !before.has_value() ? epoch : before->agreed.training;
  TACET_ASSIGN_OR_RETURN(agreed.committee_members, MembersNamed(committee, members));
  FollowMembers(agreed, epoch, members.size());
  spec.annex = agreed_terms.agreement;
  spec.members = std::move(members);
  spec.authority = folder.parts().authority;
  TACET_ASSIGN_OR_RETURN(SignedManifest manifest,
                         SignedManifest::Sign(std::move(spec), coordinator));
  if (before.has_value()) {
    TACET_RETURN_IF_ERROR(agreement::CheckSuccessor(*before, manifest.link()));
  }
  return manifest;
}

absl::StatusOr<SignedManifest> SignLatestManifest(CoordinatorFolder& folder,
                                                  const crypto::SigningKey& coordinator,
                                                  std::span<const std::string> committee) {
  TACET_ASSIGN_OR_RETURN(const uint32_t epoch, folder.Epoch());
  TACET_ASSIGN_OR_RETURN(const std::vector<EnrolledSite> sites, folder.Enrolled());
  const std::vector<ManifestMember> members = MembersOf(sites);
  TACET_ASSIGN_OR_RETURN(const std::vector<uint64_t> seats, MembersNamed(committee, members));
  const absl::StatusOr<base::Bytes> known = folder.SignedManifest(epoch);
  if (known.ok()) {
    TACET_ASSIGN_OR_RETURN(SignedManifest manifest, SignedManifest::Read(*known));
    TACET_RETURN_IF_ERROR(CheckAllEnrolled(sites, {}, folder));
    if (!seats.empty() && seats != manifest.manifest().spec().committee_members) {
      return base::FailedPrecondition(
          "epoch {} was agreed with another committee: `tacet federation rotate --committee` "
          "begins "
          "an epoch with this one",
          epoch);
    }
    TACET_ASSIGN_OR_RETURN(const agreement::ManifestServer server, ServerOf(sites));
    if (server != manifest.server()) {
      return base::FailedPrecondition(
          "epoch {} was agreed with the server {}, enrolled is {}: `tacet federation rotate` "
          "begins "
          "an epoch with it",
          epoch, manifest.server().name.empty() ? "(none)" : manifest.server().name,
          server.name.empty() ? "(none)" : server.name);
    }
    if (SameMembers(manifest.members(), members)) return manifest;
    return base::FailedPrecondition(
        "epoch {} was agreed with other members: `tacet federation rotate` begins an epoch with "
        "those that are enrolled now",
        epoch);
  }
  if (known.status().code() != absl::StatusCode::kNotFound) return known.status();
  if (epoch > 0) {
    return base::DataLoss(
        "the manifest of epoch {} is missing below {}: take the folder's copy, or begin another "
        "epoch with `tacet federation rotate`",
        epoch, folder.path().string());
  }
  TACET_ASSIGN_OR_RETURN(SignedManifest manifest,
                         SignManifest(folder, epoch, nullptr, sites, committee, coordinator));
  TACET_RETURN_IF_ERROR(folder.SaveSignedManifest(epoch, manifest.bytes()));
  return manifest;
}

std::string FileLine(const HandedOut& one) {
  return fmt::format("send        {} its invitation as a file: {}", one.name, one.file.string());
}

absl::StatusOr<std::vector<HandedOut>> WriteInvitations(CoordinatorFolder& folder,
                                                        const SignedManifest& manifest,
                                                        const crypto::SigningKey& coordinator,
                                                        const crypto::SecretBytes& epoch_key) {
  TACET_ASSIGN_OR_RETURN(const std::vector<EnrolledSite> sites, folder.Enrolled());
  TACET_ASSIGN_OR_RETURN(const std::vector<base::Bytes> earlier,
                         folder.ManifestsBefore(manifest.epoch()));
  TACET_RETURN_IF_ERROR(agreement::ReadChain(earlier).status());
  std::vector<HandedOut> handed_out;
  absl::Status missing;
  for (const EnrolledSite& site : sites) {
    agreement::Invitation invitation{.manifest = manifest.bytes(),
                                     .earlier = earlier,
                                     .certificate = site.certificate,
                                     .epoch_key = {},
                                     .initial_model = {}};
    if (const auto member = manifest.MemberWith(site.request.signing_key)) {
      absl::StatusOr<base::Bytes> key =
          EpochKeyFor(site.request, manifest, *member, epoch_key, coordinator, folder);
      if (!key.ok()) {  // the others have theirs first
        missing.Update(key.status());
        continue;
      }
      invitation.epoch_key = *std::move(key);
      invitation.initial_model = folder.parts().terms.initial_model;
    }
    TACET_ASSIGN_OR_RETURN(std::filesystem::path file,
                           folder.SaveInvitation(manifest.epoch(), site.request.name,
                                                 agreement::WriteInvitation(invitation)));
    handed_out.push_back({.name = site.request.name, .file = std::move(file)});
  }
  TACET_RETURN_IF_ERROR(missing);
  return handed_out;
}

}  // namespace tacet::coordinator
