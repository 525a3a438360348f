#include "tacet/coordinator/federation_steps.h"

#include <algorithm>
#include <utility>

#include "tacet/agreement/epoch_chain.h"
#include "tacet/base/status.h"
#include "tacet/base/unix_clock.h"
#include "tacet/coordinator/enrolled_parties.h"
#include "tacet/coordinator/federation_setup.h"
#include "tacet/coordinator/site_kit.h"
#include "tacet/crypto/certificates.h"
#include "tacet/crypto/random.h"

namespace tacet::coordinator {
namespace {

using storage::file::CoordinatorFolder;
using storage::file::EnrolledSite;

absl::StatusOr<crypto::CertificateSpec> CertificateOf(const agreement::EnrolmentRequest& request,
                                                      uint64_t days,
                                                      std::span<const uint8_t> authority) {
  TACET_ASSIGN_OR_RETURN(const crypto::CertificateFacts facts, crypto::ReadCertificate(authority));
  const uint64_t now = base::SystemUnixSeconds();
  if (days == 0 || now >= facts.not_after) {
    return base::InvalidArgument("no certificate is valid for {} days from an authority that {}",
                                 days, now >= facts.not_after ? "has expired" : "is valid");
  }
  const uint64_t left = facts.not_after - now;
  return crypto::CertificateSpec{
      .common_name = request.name,
      .role = request.server ? crypto::CertificateRole::kServer : crypto::CertificateRole::kClient,
      .public_key = request.tls_key,
      .hosts = request.hosts,
      .not_before = now - kClockSeconds,
      .not_after = now + (days < left / base::kSecondsADay ? days * base::kSecondsADay : left)};
}

absl::Status CheckExchangeKeys(const KeptExchangeKeys& kept,
                               const agreement::SignedManifest& manifest) {
  if (kept.committee.empty()) return absl::OkStatus();
  return base::FailedPrecondition(
      "the committee of epoch {} would keep exchange keys of an earlier epoch, those of {}. {} "
      "Nothing was changed. At each of these sites run `tacet client renew`, after `tacet client "
      "join` of the present epoch. Then run `tacet federation enrol NAME --request FILE` for "
      "each, and rotate again. --keep-exchange-keys begins the epoch without that",
      manifest.epoch(), NamesText(kept.committee), LossByKeptKeys(manifest));
}

// The coordinator of a folder that an earlier call with this spec made; nothing for any other.
std::optional<crypto::PublicKey> FoundBefore(const FoundingSpec& spec,
                                             const crypto::Unlocker& unlocker) {
  const absl::StatusOr<CoordinatorFolder> folder = CoordinatorFolder::Open(spec.folder);
  if (!folder.ok() || folder->parts().federation != spec.name ||
      folder->parts().terms.agreement != spec.terms.agreement || folder->SignedManifest(0).ok()) {
    return std::nullopt;
  }
  const absl::StatusOr<std::vector<EnrolledSite>> enrolled = folder->Enrolled();
  const auto keys = folder->UnlockKeys(unlocker);
  if (!enrolled.ok() || !enrolled->empty() || !keys.ok()) return std::nullopt;
  return keys->signing.public_key();
}

}  // namespace

absl::StatusOr<crypto::PublicKey> FoundFederation(FoundingSpec spec,
                                                  const crypto::Unlocker& unlocker) {
  if (const auto before = FoundBefore(spec, unlocker); before.has_value()) return *before;
  crypto::SystemEntropy entropy;
  crypto::Digest identity{};
  std::ranges::copy(entropy.Draw(32).Expose(), identity.begin());
  const storage::file::CoordinatorKeys keys{.signing = crypto::SigningKey::Generate(entropy),
                                            .authority = crypto::TlsKey::Generate()};
  const uint64_t now = base::SystemUnixSeconds();
  TACET_ASSIGN_OR_RETURN(base::Bytes authority,
                         crypto::IssueAuthority({.common_name = spec.name,
                                                 .role = crypto::CertificateRole::kAuthority,
                                                 .public_key = keys.authority.public_key(),
                                                 .hosts = {},
                                                 .not_before = now - kClockSeconds,
                                                 .not_after = now + spec.days * base::kSecondsADay},
                                                keys.authority));
  TACET_RETURN_IF_ERROR(CoordinatorFolder::Create(spec.folder,
                                                  {.federation = std::move(spec.name),
                                                   .identity = identity,
                                                   .terms = std::move(spec.terms),
                                                   .authority = std::move(authority)},
                                                  keys, entropy.Draw(32), unlocker, entropy)
                            .status());
  return keys.signing.public_key();
}

absl::Status CheckOneServer(const agreement::EnrolmentRequest& request,
                            const CoordinatorFolder& folder) {
  if (!request.server || folder.SignedManifest(0).ok()) return absl::OkStatus();
  TACET_ASSIGN_OR_RETURN(const std::vector<EnrolledSite> sites, folder.Enrolled());
  for (const EnrolledSite& site : sites) {
    if (!site.request.server || site.request.name == request.name) continue;
    return base::FailedPrecondition(
        "the server {} is enrolled already. To replace it by {}, begin the first epoch (tacet "
        "federation seal-key), enrol {}, and begin the next (tacet federation rotate --remove {})",
        site.request.name, request.name, request.name, site.request.name);
  }
  return absl::OkStatus();
}

absl::Status EnrolParty(std::span<const uint8_t> request, uint64_t days,
                        const crypto::TlsKey& authority, CoordinatorFolder& folder) {
  TACET_ASSIGN_OR_RETURN(const agreement::EnrolmentRequest read,
                         agreement::ReadEnrolmentRequest(request));
  TACET_ASSIGN_OR_RETURN(const crypto::CertificateSpec spec,
                         CertificateOf(read, days, folder.parts().authority));
  TACET_ASSIGN_OR_RETURN(const base::Bytes certificate,
                         crypto::IssueCertificate(spec, authority, folder.parts().authority));
  return folder.Enrol(request, certificate);
}

absl::StatusOr<std::optional<NextEpoch>> BegunEpoch(std::string_view asked,
                                                    const crypto::Unlocker& unlocker,
                                                    const CoordinatorFolder& folder) {
  TACET_ASSIGN_OR_RETURN(const std::optional<std::string> begun,
                         storage::file::AskedOfHandingOut(folder));
  if (!begun.has_value()) return std::nullopt;
  TACET_ASSIGN_OR_RETURN(const uint32_t epoch, folder.Epoch());
  if (*begun != asked) {
    return base::FailedPrecondition(
        "epoch {} was begun by `{}`, and not all of its invitations are written. Run that command "
        "again, or `tacet federation seal-key`, and then this one",
        epoch, *begun);
  }
  TACET_ASSIGN_OR_RETURN(const base::Bytes bytes, folder.SignedManifest(epoch));
  TACET_ASSIGN_OR_RETURN(agreement::SignedManifest manifest,
                         agreement::SignedManifest::Read(bytes));
  TACET_ASSIGN_OR_RETURN(const std::vector<base::Bytes> manifests, folder.ManifestsBefore(epoch));
  TACET_ASSIGN_OR_RETURN(const std::vector<agreement::EpochLink> earlier,
                         agreement::ReadChain(manifests));
  absl::StatusOr<crypto::SecretBytes> key = folder.EpochKey(epoch, unlocker);
  // Its invitations cannot be written any more: the next epoch is for all.
  if (key.status().code() == absl::StatusCode::kDataLoss) return std::nullopt;
  TACET_RETURN_IF_ERROR(key.status());
  KeptExchangeKeys kept = FindKeptExchangeKeys(earlier, manifest);
  return NextEpoch{
      .manifest = std::move(manifest), .key = *std::move(key), .kept = std::move(kept)};
}

absl::StatusOr<NextEpoch> BeginNextEpoch(const NextEpochSpec& spec, std::string_view asked,
                                         const crypto::SigningKey& coordinator,
                                         const crypto::Unlocker& unlocker,
                                         CoordinatorFolder& folder) {
  TACET_ASSIGN_OR_RETURN(const uint32_t epoch, folder.Epoch());
  TACET_ASSIGN_OR_RETURN(const std::vector<EnrolledSite> sites,
                         EnrolledWithout(spec.removed, folder));
  TACET_ASSIGN_OR_RETURN(
      agreement::SignedManifest manifest,
      SignManifest(folder, epoch + 1, spec.terms, sites, spec.committee, coordinator));
  TACET_ASSIGN_OR_RETURN(const std::vector<base::Bytes> manifests,
                         folder.ManifestsBefore(manifest.epoch()));
  TACET_ASSIGN_OR_RETURN(const std::vector<agreement::EpochLink> earlier,
                         agreement::ReadChain(manifests));
  KeptExchangeKeys kept = FindKeptExchangeKeys(earlier, manifest);
  if (!spec.keep_exchange_keys) TACET_RETURN_IF_ERROR(CheckExchangeKeys(kept, manifest));
  TACET_RETURN_IF_ERROR(CheckKitServer(manifest, spec.server));
  // Nothing was changed so far.
  crypto::SystemEntropy entropy;
  crypto::SecretBytes key = entropy.Draw(32);
  TACET_RETURN_IF_ERROR(folder.BeginNextEpoch(
      manifest, spec.terms, std::vector<std::string>(spec.removed.begin(), spec.removed.end()), key,
      asked, unlocker, entropy));
  return NextEpoch{.manifest = std::move(manifest), .key = std::move(key), .kept = std::move(kept)};
}

}  // namespace tacet::coordinator
