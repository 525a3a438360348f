#include "tacet/storage/file/site_folder.h"

#include <algorithm>
#include <cstring>
#include <system_error>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/crypto/certificates.h"
#include "tacet/protocol/checkpoint.h"
#include "tacet/storage/file/posix_file.h"
#include "tacet/storage/file/secret_file.h"

namespace tacet::storage::file {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kKeys = "identity.key";
constexpr std::string_view kKeysPurpose = "site's identity";
constexpr std::string_view kCoordinator = "coordinator";
constexpr std::string_view kInvitation = "invitation";

absl::StatusOr<std::vector<float>> ModelOf(std::span<const uint8_t> bytes, uint64_t dimension) {
  if (bytes.size() / sizeof(float) != dimension || bytes.size() % sizeof(float) != 0) {
    return base::DataLoss("invitation: {} bytes of initial model for {} parameters", bytes.size(),
                          dimension);
  }
  std::vector<float> model(dimension);
  std::memcpy(model.data(), bytes.data(), bytes.size());
  return model;
}

absl::Status CheckModel(std::span<const uint8_t> bytes, const agreement::ManifestSpec& agreed) {
  TACET_ASSIGN_OR_RETURN(const std::vector<float> model, ModelOf(bytes, agreed.dimension));
  if (protocol::ModelDigest(model) == agreed.initial_model) return absl::OkStatus();
  return base::DataLoss("invitation: the initial model is not the agreed one");
}

absl::Status CheckCertificate(std::span<const uint8_t> certificate,
                              const agreement::EnrolmentRequest& own,
                              const agreement::SignedManifest& manifest) {
  TACET_RETURN_IF_ERROR(crypto::CheckIssuedBy(certificate, manifest.authority()));
  TACET_ASSIGN_OR_RETURN(const crypto::CertificateFacts facts,
                         crypto::ReadCertificate(certificate));
  if (facts.common_name != own.name || facts.public_key != own.tls_key) {
    return base::PermissionDenied("invitation: the certificate is for {} with another key",
                                  facts.common_name);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SiteFolder> SiteFolder::Create(const fs::path& path, std::string_view name,
                                              std::span<const std::string> server_hosts,
                                              const crypto::Unlocker& unlocker,
                                              crypto::Entropy& entropy) {
  TACET_RETURN_IF_ERROR(agreement::CheckSiteName(name));
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return base::Unavailable("cannot make {}: {}", path.string(), error.message());
  if (fs::exists(path / kKeys, error)) {
    return base::AlreadyExists("{} holds an identity already", path.string());
  }
  const agreement::MemberKeys keys = agreement::MemberKeys::Generate(entropy);
  TACET_ASSIGN_OR_RETURN(
      const base::Bytes locked,
      crypto::LockSecret(agreement::WriteSiteKeys(keys), kKeysPurpose, unlocker, entropy));
  TACET_RETURN_IF_ERROR(WriteSecretFile(path / kKeys, locked));
  SiteFolder folder(path, agreement::WriteEnrolmentRequest(name, server_hosts, keys));
  TACET_RETURN_IF_ERROR(ReplaceFile(folder.request_path(), folder.request_));
  return folder;
}

absl::StatusOr<SiteFolder> SiteFolder::Open(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path / kKeys, error)) {
    return base::NotFound("{} holds no identity: `tacet client request` makes one", path.string());
  }
  SiteFolder folder(path, {});
  TACET_ASSIGN_OR_RETURN(folder.request_, ReadFile(folder.request_path()));
  return folder;
}

fs::path SiteFolder::request_path() const { return path_ / "enrolment.request"; }

fs::path SiteFolder::invitation_path() const { return path_ / kInvitation; }

absl::StatusOr<agreement::MemberKeys> SiteFolder::UnlockKeys(
    const crypto::Unlocker& unlocker) const {
  TACET_ASSIGN_OR_RETURN(const crypto::SecretBytes locked, ReadSecretFile(path_ / kKeys));
  TACET_ASSIGN_OR_RETURN(const crypto::SecretBytes bytes,
                         crypto::UnlockSecret(locked.Expose(), kKeysPurpose, unlocker));
  return agreement::ReadSiteKeys(bytes);
}

absl::StatusOr<crypto::PublicKey> SiteFolder::Coordinator() const {
  TACET_ASSIGN_OR_RETURN(const base::Bytes text, ReadFile(path_ / kCoordinator));
  return agreement::ParseFingerprint(base::AsText(text));
}

absl::StatusOr<Membership> SiteFolder::Check(const agreement::Invitation& invitation,
                                             const crypto::PublicKey& coordinator) const {
  TACET_ASSIGN_OR_RETURN(const agreement::EnrolmentRequest own,
                         agreement::ReadEnrolmentRequest(request_));
  TACET_ASSIGN_OR_RETURN(agreement::SignedManifest manifest,
                         agreement::SignedManifest::Read(invitation.manifest));
  if (manifest.coordinator() != coordinator) {
    return base::PermissionDenied("invitation: it is signed by {}, not by the coordinator {}",
                                  agreement::FingerprintText(manifest.coordinator()),
                                  agreement::FingerprintText(coordinator));
  }
  TACET_RETURN_IF_ERROR(CheckCertificate(invitation.certificate, own, manifest));
  Membership membership{.manifest = std::move(manifest),
                        .member = std::nullopt,
                        .certificate = invitation.certificate,
                        .sealed_epoch_key = invitation.epoch_key};
  if (own.server) return membership;
  membership.member = membership.manifest.MemberWith(own.signing_key);
  if (!membership.member.has_value()) {
    return base::PermissionDenied("invitation: {} is not a member of {} in epoch {}", own.name,
                                  membership.manifest.federation(), membership.manifest.epoch());
  }
  TACET_RETURN_IF_ERROR(
      CheckModel(invitation.initial_model, membership.manifest.manifest().spec()));
  return membership;
}

absl::StatusOr<Membership> SiteFolder::Join(std::span<const uint8_t> invitation,
                                            const crypto::PublicKey& coordinator,
                                            const agreement::MemberKeys& keys) {
  TACET_ASSIGN_OR_RETURN(const agreement::Invitation parts, agreement::ReadInvitation(invitation));
  TACET_ASSIGN_OR_RETURN(Membership membership, Check(parts, coordinator));
  if (const absl::StatusOr<Membership> before = Joined(); before.ok()) {
    if (before->manifest.federation() != membership.manifest.federation()) {
      return base::FailedPrecondition("this folder belongs to {}: join {} from a folder of its own",
                                      before->manifest.federation(),
                                      membership.manifest.federation());
    }
    if (before->manifest.epoch() > membership.manifest.epoch()) {
      return base::PermissionDenied("invitation: epoch {} has ended, this site is in epoch {}",
                                    membership.manifest.epoch(), before->manifest.epoch());
    }
    if (before->manifest.epoch() == membership.manifest.epoch() &&
        before->manifest.bytes() != membership.manifest.bytes()) {
      return base::PermissionDenied(
          "invitation: another manifest was signed for epoch {} before: members would not agree on "
          "the same",
          membership.manifest.epoch());
    }
  }
  if (membership.member.has_value()) {
    TACET_RETURN_IF_ERROR(agreement::OpenEpochKey(membership.sealed_epoch_key, membership.manifest,
                                                  *membership.member, keys.sealing)
                              .status());
  }
  TACET_RETURN_IF_ERROR(ReplaceFile(path_ / kCoordinator, base::AsBytes(base::ToHex(coordinator))));
  TACET_RETURN_IF_ERROR(ReplaceFile(invitation_path(), invitation));
  return membership;
}

absl::StatusOr<Membership> SiteFolder::Joined() const {
  TACET_ASSIGN_OR_RETURN(const base::Bytes bytes, ReadFile(invitation_path()));
  TACET_ASSIGN_OR_RETURN(const agreement::Invitation parts, agreement::ReadInvitation(bytes));
  TACET_ASSIGN_OR_RETURN(const crypto::PublicKey coordinator, Coordinator());
  return Check(parts, coordinator);
}

absl::StatusOr<std::vector<float>> SiteFolder::InitialModel() const {
  TACET_ASSIGN_OR_RETURN(const base::Bytes bytes, ReadFile(invitation_path()));
  TACET_ASSIGN_OR_RETURN(const agreement::Invitation parts, agreement::ReadInvitation(bytes));
  TACET_ASSIGN_OR_RETURN(const agreement::SignedManifest manifest,
                         agreement::SignedManifest::Read(parts.manifest));
  return ModelOf(parts.initial_model, manifest.manifest().spec().dimension);
}

}  // namespace tacet::storage::file
