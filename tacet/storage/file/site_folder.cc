#include "tacet/storage/file/site_folder.h"

#include <algorithm>
#include <cstring>
#include <system_error>
#include <utility>

#include <fcntl.h>

#include "tacet/base/status.h"
#include "tacet/crypto/certificates.h"
#include "tacet/protocol/checkpoint.h"
#include "tacet/storage/file/posix_file.h"
#include "tacet/storage/file/secret_file.h"

namespace tacet::storage::file {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIdentityKeys = "identity.key";
constexpr std::string_view kIdentityPurpose = "site's identity";
constexpr std::string_view kInvitation = "invitation";
constexpr std::string_view kRequestEnding = ".request";
constexpr std::string_view kExchangeLock = "exchange.lock";

absl::StatusOr<agreement::InitialModel> ModelOf(const agreement::Invitation& invitation,
                                                const agreement::ManifestSpec& agreed) {
  absl::StatusOr<agreement::InitialModel> model =
      agreement::ReadInitialModel(invitation.initial_model);
  if (!model.ok()) return base::Annotate(model.status(), kInvitation);
  if (model->parameters.size() != agreed.dimension) {
    return base::DataLoss("{}: an initial model of {} parameters, agreed are {}", kInvitation,
                          model->parameters.size(), agreed.dimension);
  }
  return model;
}

absl::Status CheckModel(const agreement::Invitation& invitation,
                        const agreement::ManifestSpec& agreed) {
  TACET_ASSIGN_OR_RETURN(const agreement::InitialModel model, ModelOf(invitation, agreed));
  if (model.Digest() == agreed.initial_model) return absl::OkStatus();
  return base::DataLoss("invitation: the initial model is not the agreed one");
}

// All epochs, the invitation's own last.
absl::StatusOr<std::vector<agreement::EpochLink>> ChainOf(
    const agreement::Invitation& invitation, const agreement::SignedManifest& manifest) {
  absl::StatusOr<std::vector<agreement::EpochLink>> chain =
      agreement::ReadChain(invitation.earlier);
  if (!chain.ok()) return base::Annotate(chain.status(), "invitation");
  if (chain->size() != manifest.epoch()) {
    return base::PermissionDenied(
        "invitation: it has the manifests of {} epochs before epoch {}: one is missing",
        chain->size(), manifest.epoch());
  }
  agreement::EpochLink last = manifest.link();
  if (!chain->empty()) {
    TACET_RETURN_IF_ERROR(
        base::Annotate(agreement::CheckSuccessor(chain->back(), last), "invitation"));
  }
  chain->push_back(std::move(last));
  return chain;
}

// Labelled runs protect nobody. A coordinator's own program may sign one.
absl::Status CheckProtects(const dp::MechanismParams& mechanism) {
  if (mechanism.makes_guarantee()) return absl::OkStatus();
  return base::PermissionDenied(
      "invitation: the agreement leaves out {}: only a simulation can do that. Ask the coordinator "
      "for an agreement that protects",
      mechanism.without_noise ? "the noise" : "clipping");
}

absl::Status CheckIsServer(const agreement::EnrolmentRequest& own,
                           const agreement::SignedManifest& manifest) {
  const agreement::ManifestServer& named = manifest.server();
  if (named.name == own.name && named.tls_key == own.tls_key) return absl::OkStatus();
  return base::PermissionDenied(
      "invitation: the server of {} in epoch {} is {}, not {} with this key", manifest.federation(),
      manifest.epoch(), named.name.empty() ? "not named" : named.name, own.name);
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
  const auto role =
      own.server ? crypto::CertificateRole::kServer : crypto::CertificateRole::kClient;
  if (facts.role != role) {
    return base::PermissionDenied("invitation: the certificate is not for a {}",
                                  own.server ? "server" : "site");
  }
  return absl::OkStatus();
}

// The one file NAME.request of a site's folder.
absl::StatusOr<std::string> FindRequest(const fs::path& path) {
  std::string found;
  std::error_code error;
  for (fs::directory_iterator file(path, error), end; !error && file != end;
       file.increment(error)) {
    if (file->path().extension() != kRequestEnding) continue;
    if (!found.empty()) {
      return base::FailedPrecondition(
          "{} holds {} and {}: keep the request of this site alone in its folder", path.string(),
          std::min(found, file->path().filename().string()),
          std::max(found, file->path().filename().string()));
    }
    found = file->path().filename().string();
  }
  if (error) return base::Unavailable("cannot read {}: {}", path.string(), error.message());
  if (found.empty()) {
    return base::NotFound("{} holds no request (NAME{})", path.string(), kRequestEnding);
  }
  return found;
}

// For as long as another process sends a request to the server (SiteFolder::Renew).
constexpr double kMaxLockSeconds = 120;

// Held while exchange keys and the request that names them are looked at and changed.
absl::StatusOr<FileLock> LockExchangeKeys(const fs::path& folder,
                                          double max_wait_seconds = kMaxLockSeconds) {
  File lock(folder / kExchangeLock, O_RDWR | O_CREAT, kOwnerOnly);
  if (!lock.ok()) return SystemError("open", folder / kExchangeLock);
  if (LockFile(lock, max_wait_seconds)) return FileLock(std::move(lock));
  return base::Unavailable(
      "another process works on the exchange keys in {}: try again when it "
      "has ended",
      folder.string());
}

// Deletes the keys for the next epoch. Those of the epoch joined are in use afterwards, and the
// file `request` names no others.
absl::Status DiscardUnusedKeys(const absl::StatusOr<Membership>& joined, const fs::path& request,
                               const ExchangeKeyFiles& files, const crypto::Unlocker& unlocker) {
  if (joined.status().code() == absl::StatusCode::kNotFound) return files.DiscardNext();
  TACET_RETURN_IF_ERROR(joined.status());
  // A Join that a crash interrupted may have left them where those for the next epoch are. A site
  // that has lost them takes part again with the keys that are made now.
  const auto in_use =
      files.TakeUp(joined->manifest.members()[*joined->member].exchange_key, unlocker);
  if (in_use.status().code() == absl::StatusCode::kUnavailable) return in_use.status();
  // First: a request whose keys are gone must not reach the coordinator.
  std::error_code error;
  fs::remove(request, error);
  if (error) return base::Unavailable("cannot remove {}: {}", request.string(), error.message());
  return files.DiscardNext();
}

// The request of a folder that has lost it, as the accepted invitation answers it.
absl::StatusOr<agreement::EnrolmentRequest> OwnIn(std::span<const uint8_t> accepted) {
  TACET_ASSIGN_OR_RETURN(const agreement::Invitation invitation,
                         agreement::ReadInvitation(accepted));
  TACET_ASSIGN_OR_RETURN(const agreement::SignedManifest manifest,
                         agreement::SignedManifest::Read(invitation.manifest));
  TACET_ASSIGN_OR_RETURN(const crypto::CertificateFacts facts,
                         crypto::ReadCertificate(invitation.certificate));
  agreement::EnrolmentRequest own;
  own.name = facts.common_name;
  own.tls_key = facts.public_key;
  own.server = facts.role == crypto::CertificateRole::kServer;
  if (own.server) {
    own.hosts = manifest.server().hosts;
    return own;
  }
  const auto member =
      std::ranges::find(manifest.members(), own.name, &agreement::ManifestMember::name);
  if (member == manifest.members().end()) {
    return base::DataLoss("invitation: its certificate is for {}, who is not a member", own.name);
  }
  own.signing_key = member->signing_key;
  own.sealing_key = member->sealing_key;
  own.exchange_keys.exchange = member->exchange_key;
  own.member_signature = member->signature;
  return own;
}

}  // namespace

absl::StatusOr<std::optional<NextRequest>> UnusedRequest(const SiteFolder& folder) {
  const fs::path home = folder.request_path().parent_path();
  TACET_ASSIGN_OR_RETURN(FileLock lock, LockExchangeKeys(home, 0));
  TACET_ASSIGN_OR_RETURN(const Membership joined, folder.Joined());
  if (!joined.member.has_value() || !ExchangeKeyFiles(home).HasNext()) return std::nullopt;
  absl::StatusOr<base::Bytes> bytes = ReadFile(folder.request_path());
  if (bytes.status().code() == absl::StatusCode::kNotFound) return std::nullopt;
  TACET_RETURN_IF_ERROR(bytes.status());
  TACET_ASSIGN_OR_RETURN(const agreement::EnrolmentRequest request,
                         agreement::ReadEnrolmentRequest(*bytes));
  const auto& in_use = joined.manifest.members()[*joined.member].exchange_key;
  if (request.exchange_keys.exchange == in_use) return std::nullopt;
  return NextRequest{.request = *std::move(bytes), .is_new = false, .lock = std::move(lock)};
}

bool IsNotJoined(const absl::Status& joined) {
  return joined.code() == absl::StatusCode::kNotFound ||
         joined.code() == absl::StatusCode::kDataLoss;
}

absl::StatusOr<SiteFolder> SiteFolder::Create(const fs::path& path, std::string_view name,
                                              std::span<const std::string> server_hosts,
                                              const crypto::Unlocker& unlocker,
                                              crypto::Entropy& entropy) {
  TACET_RETURN_IF_ERROR(agreement::CheckSiteName(name));
  TACET_RETURN_IF_ERROR(MakeFolders(path, kOwnersFolder));
  TACET_RETURN_IF_ERROR(CheckKeyFolder(path));
  SiteFolder folder(path);
  std::error_code error;
  std::optional<agreement::MemberKeys> keys;
  if (fs::exists(path / kIdentityKeys, error)) {
    TACET_ASSIGN_OR_RETURN(keys, folder.KeysToAskAgain(name, server_hosts, unlocker));
  }
  // Another request would make it unclear whose folder this is.
  if (const absl::StatusOr<std::string> other = FindRequest(path); other.ok()) {
    fs::remove(path / *other, error);  // of a call that did not come to its end
  } else if (other.status().code() != absl::StatusCode::kNotFound) {
    return other.status();
  }
  folder.own_.name = name;
  const bool has_identity = keys.has_value();
  if (!has_identity) keys = agreement::MemberKeys::Generate(entropy);
  TACET_ASSIGN_OR_RETURN(
      const base::Bytes locked,
      crypto::LockSecret(agreement::WriteSiteKeys(*keys), kIdentityPurpose, unlocker, entropy));
  agreement::ExchangePublicKeys exchange_keys;
  if (server_hosts.empty()) {
    TACET_ASSIGN_OR_RETURN(const ExchangeKeyFiles::Next next,
                           folder.exchange_keys_.PrepareNext(unlocker, entropy));
    exchange_keys = next.keys;
  }
  TACET_RETURN_IF_ERROR(folder.SaveRequest(
      agreement::WriteEnrolmentRequest(name, server_hosts, *keys, exchange_keys)));
  if (has_identity) return folder;
  // Last: a folder with an identity is whole.
  TACET_RETURN_IF_ERROR(WriteSecretFile(path / kIdentityKeys, locked));
  return folder;
}

absl::StatusOr<agreement::MemberKeys> SiteFolder::KeysToAskAgain(std::string_view name,
                                                                 std::span<const std::string> hosts,
                                                                 const crypto::Unlocker& unlocker) {
  std::error_code error;
  if (fs::exists(invitation_path(), error)) {
    return base::AlreadyExists("{} holds an identity already, which has joined a federation",
                               path_.string());
  }
  const bool is_other =
      LoadOwn().ok() && (own_.name != name || !std::ranges::equal(own_.hosts, hosts));
  absl::StatusOr<agreement::MemberKeys> keys = UnlockKeys(unlocker);
  if (keys.ok() && !is_other) return keys;
  return base::AlreadyExists("{} holds an identity already, {}", path_.string(),
                             is_other ? "which asked to be " + own_.name + " under other terms"
                                      : base::Message(keys.status()));
}

absl::Status SiteFolder::SaveRequest(base::Bytes request) {
  TACET_ASSIGN_OR_RETURN(own_, agreement::ReadEnrolmentRequest(request));
  TACET_RETURN_IF_ERROR(ReplaceFile(request_path(), request));
  request_ = std::move(request);
  return absl::OkStatus();
}

absl::StatusOr<NextRequest> SiteFolder::Renew(const crypto::Unlocker& unlocker,
                                              crypto::Entropy& entropy, UnusedKeys unused) {
  if (own_.server) {
    return base::FailedPrecondition(
        "{} is the server's folder: only sites have exchange keys to renew", path_.string());
  }
  TACET_ASSIGN_OR_RETURN(const agreement::MemberKeys keys, UnlockKeys(unlocker));
  TACET_ASSIGN_OR_RETURN(FileLock lock, LockExchangeKeys(path_));
  if (unused == UnusedKeys::kReplaced) {
    TACET_RETURN_IF_ERROR(DiscardUnusedKeys(Joined(), request_path(), exchange_keys_, unlocker));
  }
  TACET_ASSIGN_OR_RETURN(const ExchangeKeyFiles::Next next,
                         exchange_keys_.PrepareNext(unlocker, entropy));
  TACET_RETURN_IF_ERROR(
      SaveRequest(agreement::WriteEnrolmentRequest(own_.name, own_.hosts, keys, next.keys)));
  return NextRequest{.request = request_, .is_new = next.is_new, .lock = std::move(lock)};
}

absl::StatusOr<SiteFolder> SiteFolder::Open(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path / kIdentityKeys, error)) {
    return base::NotFound(
        "{} holds no identity: `tacet client request` makes one for a new site. A site that was "
        "enrolled puts {} back from its backup",
        path.string(), (path / kIdentityKeys).string());
  }
  TACET_RETURN_IF_ERROR(CheckKeyFolder(path));
  SiteFolder folder(path);
  TACET_RETURN_IF_ERROR(folder.LoadOwn());
  return folder;
}

absl::Status SiteFolder::LoadOwn() {
  const absl::StatusOr<std::string> name = FindRequest(path_);
  absl::Status missing = name.status();
  if (name.ok()) {
    TACET_ASSIGN_OR_RETURN(request_, ReadFile(path_ / *name));
    absl::StatusOr<agreement::EnrolmentRequest> own = agreement::ReadEnrolmentRequest(request_);
    if (own.ok()) {
      own_ = *std::move(own);
      return absl::OkStatus();
    }
    missing =
        base::DataLoss("{} is damaged ({})", (path_ / *name).string(), base::Message(own.status()));
  } else if (missing.code() != absl::StatusCode::kNotFound) {
    return missing;
  }
  request_.clear();
  const absl::StatusOr<base::Bytes> accepted = ReadFile(invitation_path());
  if (accepted.status().code() == absl::StatusCode::kNotFound) {
    return base::NotFound("{}: `tacet client request --name NAME` writes it again",
                          base::Message(missing));
  }
  TACET_RETURN_IF_ERROR(accepted.status());
  absl::StatusOr<agreement::EnrolmentRequest> own = OwnIn(*accepted);
  if (!own.ok()) {
    return base::DataLoss("{}, and {} is damaged ({}): put them back from the backup",
                          base::Message(missing), invitation_path().string(),
                          base::Message(own.status()));
  }
  own_ = *std::move(own);
  return absl::OkStatus();
}

fs::path SiteFolder::request_path() const {
  return path_ / (own_.name + std::string(kRequestEnding));
}

fs::path SiteFolder::invitation_path() const { return path_ / kInvitation; }

absl::StatusOr<agreement::MemberKeys> SiteFolder::UnlockKeys(
    const crypto::Unlocker& unlocker) const {
  TACET_ASSIGN_OR_RETURN(const crypto::SecretBytes locked, ReadSecretFile(path_ / kIdentityKeys));
  const absl::StatusOr<crypto::SecretBytes> bytes =
      crypto::UnlockSecret(locked.Expose(), kIdentityPurpose, unlocker);
  if (!bytes.ok()) {
    return absl::Status(
        bytes.status().code(),
        fmt::format("{}: {}. A damaged file comes back from the backup",
                    (path_ / kIdentityKeys).string(), base::Message(bytes.status())));
  }
  return agreement::ReadSiteKeys(*bytes);
}

absl::Status SiteFolder::PinOfficer(const crypto::PublicKey& officer,
                                    const crypto::Unlocker& unlocker,
                                    crypto::Entropy& entropy) const {
  TACET_ASSIGN_OR_RETURN(agreement::MemberKeys keys, UnlockKeys(unlocker));
  keys.officer = officer;
  TACET_ASSIGN_OR_RETURN(
      const base::Bytes locked,
      crypto::LockSecret(agreement::WriteSiteKeys(keys), kIdentityPurpose, unlocker, entropy));
  return ReplaceFile(path_ / kIdentityKeys, locked, DiskCalls::System(), kOwnerOnly);
}

absl::StatusOr<crypto::PublicKey> SiteFolder::Coordinator() const {
  TACET_ASSIGN_OR_RETURN(const Membership joined, Joined());
  return joined.manifest.coordinator();
}

absl::StatusOr<Membership> SiteFolder::Check(const agreement::Invitation& invitation,
                                             const crypto::PublicKey& coordinator) const {
  TACET_ASSIGN_OR_RETURN(agreement::SignedManifest manifest,
                         agreement::SignedManifest::Read(invitation.manifest));
  if (manifest.coordinator() != coordinator) {
    return base::PermissionDenied("invitation: it is signed by {}, not by the coordinator {}",
                                  agreement::FingerprintText(manifest.coordinator()),
                                  agreement::FingerprintText(coordinator));
  }
  TACET_RETURN_IF_ERROR(CheckProtects(manifest.manifest().spec().mechanism));
  TACET_RETURN_IF_ERROR(CheckCertificate(invitation.certificate, own_, manifest));
  TACET_ASSIGN_OR_RETURN(std::vector<agreement::EpochLink> chain, ChainOf(invitation, manifest));
  Membership membership{.manifest = std::move(manifest),
                        .member = std::nullopt,
                        .certificate = invitation.certificate,
                        .sealed_epoch_key = invitation.epoch_key,
                        .chain = std::move(chain)};
  if (own_.server) {
    TACET_RETURN_IF_ERROR(CheckIsServer(own_, membership.manifest));
    return membership;
  }
  membership.member = membership.manifest.MemberWith(own_.signing_key);
  if (!membership.member.has_value()) {
    return base::PermissionDenied("invitation: {} is not a member of {} in epoch {}", own_.name,
                                  membership.manifest.federation(), membership.manifest.epoch());
  }
  TACET_RETURN_IF_ERROR(CheckModel(invitation, membership.manifest.manifest().spec()));
  return membership;
}

absl::StatusOr<Membership> SiteFolder::CheckInvitation(std::span<const uint8_t> invitation,
                                                       const crypto::PublicKey& coordinator,
                                                       const crypto::Unlocker& unlocker) const {
  TACET_ASSIGN_OR_RETURN(const agreement::Invitation parts, agreement::ReadInvitation(invitation));
  TACET_ASSIGN_OR_RETURN(Membership membership, Check(parts, coordinator));
  const absl::StatusOr<Membership> before = Joined();
  if (!IsNotJoined(before.status())) {
    TACET_RETURN_IF_ERROR(before.status());
    if (before->manifest.federation() != membership.manifest.federation()) {
      return base::FailedPrecondition("this folder belongs to {}: join {} from a folder of its own",
                                      before->manifest.federation(),
                                      membership.manifest.federation());
    }
    TACET_RETURN_IF_ERROR(
        base::Annotate(agreement::CheckContinues(before->chain, membership.chain), "invitation"));
  }
  TACET_RETURN_IF_ERROR(CheckKeys(membership, unlocker));
  return membership;
}

absl::StatusOr<Membership> SiteFolder::Join(std::span<const uint8_t> invitation,
                                            const crypto::PublicKey& coordinator,
                                            const crypto::Unlocker& unlocker) {
  std::optional<FileLock> lock;
  if (!own_.server) {
    TACET_ASSIGN_OR_RETURN(FileLock held, LockExchangeKeys(path_));
    lock.emplace(std::move(held));
  }
  TACET_ASSIGN_OR_RETURN(Membership membership, CheckInvitation(invitation, coordinator, unlocker));
  // The one step: before it nothing has changed, after it the site is in the epoch.
  TACET_RETURN_IF_ERROR(ReplaceFile(invitation_path(), invitation));
  // With the manifest accepted, nothing needs the key of the epoch before.
  if (membership.member.has_value()) {
    TACET_RETURN_IF_ERROR(
        exchange_keys_
            .TakeUp(membership.manifest.members()[*membership.member].exchange_key, unlocker)
            .status());
  }
  return membership;
}

absl::Status SiteFolder::CheckKeys(const Membership& membership,
                                   const crypto::Unlocker& unlocker) const {
  TACET_ASSIGN_OR_RETURN(const agreement::MemberKeys keys, UnlockKeys(unlocker));
  if (!membership.member.has_value()) return absl::OkStatus();
  const auto& named = membership.manifest.members()[*membership.member].exchange_key;
  const absl::StatusOr<agreement::ExchangeKeys> found = exchange_keys_.Find(named, unlocker);
  if (!found.ok()) return base::Annotate(found.status(), "invitation");
  return agreement::DecryptEpochKey(membership.sealed_epoch_key, membership.manifest,
                                    *membership.member, keys.sealing, found->kem)
      .status();
}

absl::StatusOr<agreement::ExchangeKeys> SiteFolder::TakeUpExchangeKeys(
    const Membership& joined, const crypto::Unlocker& unlocker) {
  if (!joined.member.has_value()) {
    return base::FailedPrecondition("{} is the server's folder: it has no exchange key",
                                    path_.string());
  }
  TACET_ASSIGN_OR_RETURN(const FileLock lock, LockExchangeKeys(path_));
  return exchange_keys_.TakeUp(joined.manifest.members()[*joined.member].exchange_key, unlocker);
}

absl::StatusOr<Membership> SiteFolder::Joined() const {
  TACET_ASSIGN_OR_RETURN(const base::Bytes bytes, ReadFile(invitation_path()));
  absl::StatusOr<Membership> joined = ReadJoined(bytes);
  if (joined.ok()) return joined;
  return base::DataLoss(
      "{} cannot be used ({}): `tacet client join FILE --coordinator FINGERPRINT` replaces it by "
      "the invitation of the present epoch",
      invitation_path().string(), base::Message(joined.status()));
}

absl::StatusOr<Membership> SiteFolder::ReadJoined(std::span<const uint8_t> bytes) const {
  TACET_ASSIGN_OR_RETURN(const agreement::Invitation parts, agreement::ReadInvitation(bytes));
  TACET_ASSIGN_OR_RETURN(const agreement::EpochLink link, agreement::ReadEpochLink(parts.manifest));
  return Check(parts, link.coordinator);
}

absl::StatusOr<agreement::InitialModel> SiteFolder::InitialModel() const {
  TACET_ASSIGN_OR_RETURN(const base::Bytes bytes, ReadFile(invitation_path()));
  TACET_ASSIGN_OR_RETURN(const agreement::Invitation parts, agreement::ReadInvitation(bytes));
  TACET_ASSIGN_OR_RETURN(const agreement::SignedManifest manifest,
                         agreement::SignedManifest::Read(parts.manifest));
  return ModelOf(parts, manifest.manifest().spec());
}

}  // namespace tacet::storage::file
