#include "tacet/storage/file/coordinator_folder.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <system_error>
#include <utility>

#include <fcntl.h>

#include "tacet/agreement/epoch_chain.h"
#include "tacet/agreement/key_renewal.h"
#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"
#include "tacet/storage/file/coordinator_files.h"
#include "tacet/storage/file/coordinator_founding.h"
#include "tacet/storage/file/coordinator_repair.h"
#include "tacet/storage/file/locked_files.h"
#include "tacet/storage/file/posix_file.h"
#include "tacet/storage/file/secret_file.h"

namespace tacet::storage::file {
namespace {

namespace fs = std::filesystem;

using namespace coordinator_file;

constexpr std::string_view kKeysPurpose = "coordinator's keys";

std::string EpochPurpose(uint32_t epoch) { return fmt::format("key of epoch {}", epoch); }

// The last to go is the removal: with it an epoch has not begun unless it has a key.
constexpr std::array kUnfinished = {kModelEnding, kAgreementEnding, kRemovalEnding};

// Deletes the files of `folder` that belong to an epoch before `epoch`.
absl::Status DeleteBefore(uint32_t epoch, const fs::path& folder, std::string_view prefix,
                          std::string_view extension) {
  std::vector<fs::path> old;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::optional<uint32_t> number = EpochOf(entry->path(), prefix, extension);
    if (number.has_value() && *number < epoch) old.push_back(entry->path());
  }
  if (error) return base::Unavailable("cannot read {}: {}", folder.string(), error.message());
  for (const fs::path& file : old) {
    if (extension == kKeyEnding) {
      TACET_RETURN_IF_ERROR(RemoveOldContent(file));
      TACET_RETURN_IF_ERROR(OverwriteSecretFile(file));
    }
    if (!fs::remove(file, error) || error) {
      return base::Unavailable("cannot delete {}: {}", file.string(), error.message());
    }
  }
  return old.empty() ? absl::OkStatus() : SyncDirectory(folder);
}

crypto::SecretBytes WriteKeys(const CoordinatorKeys& keys) {
  const crypto::SecretBytes seed = keys.signing.Seed();
  crypto::SecretBytes bytes(seed.size() + keys.authority.der().size());
  auto at = std::ranges::copy(seed.Expose(), bytes.Expose().begin()).out;
  std::ranges::copy(keys.authority.der().Expose(), at);
  return bytes;
}

absl::StatusOr<CoordinatorKeys> ReadKeys(const crypto::SecretBytes& bytes) {
  base::ByteReader reader(bytes.Expose(), "coordinator's keys");
  TACET_ASSIGN_OR_RETURN(const auto seed,
                         reader.ReadBytes(crypto::SigningKey::kSeedBytes, "signing key"));
  TACET_ASSIGN_OR_RETURN(const auto der, reader.ReadBytes(reader.remaining(), "authority's key"));
  TACET_ASSIGN_OR_RETURN(crypto::SigningKey signing,
                         crypto::SigningKey::FromSeed(crypto::SecretBytes::CopyOf(seed)));
  TACET_ASSIGN_OR_RETURN(crypto::TlsKey authority,
                         crypto::TlsKey::FromDer(crypto::SecretBytes::CopyOf(der)));
  return CoordinatorKeys{.signing = std::move(signing), .authority = std::move(authority)};
}

fs::path KeyOfEpoch(const fs::path& folder, uint32_t epoch) {
  return EpochFile(folder, epoch, kKeyEnding);
}

absl::StatusOr<CoordinatorFolder::Parts> ReadParts(const fs::path& folder) {
  CoordinatorFolder::Parts parts;
  TACET_ASSIGN_OR_RETURN(const base::Bytes name, ReadFile(folder / kName));
  parts.federation = base::AsText(name);
  TACET_ASSIGN_OR_RETURN(const base::Bytes identity, ReadFile(folder / kIdentity));
  const absl::StatusOr<base::Bytes> digits = base::FromHex(base::AsText(identity));
  if (!digits.ok() || digits->size() != parts.identity.size()) {
    return base::DataLoss("{} does not hold 64 hexadecimal digits", (folder / kIdentity).string());
  }
  std::ranges::copy(*digits, parts.identity.begin());
  TACET_ASSIGN_OR_RETURN(parts.authority, ReadFile(folder / kAuthority));
  TACET_ASSIGN_OR_RETURN(const base::Bytes agreement, ReadFile(folder / kAgreement));
  parts.terms.agreement = base::AsText(agreement);
  TACET_ASSIGN_OR_RETURN(parts.terms.initial_model, ReadFile(folder / kInitialModel));
  return parts;
}

absl::Status NoKeys(const fs::path& folder) {
  return base::NotFound("there is no {}: put it back from the backup", (folder / kKeys).string());
}

// For as long as a person waits for another command of theirs.
constexpr double kMaxLockSeconds = 10;

// The keys are never written again, so they are the same file for every process.
absl::StatusOr<FileLock> LockWholeFolder(const fs::path& folder) {
  File keys(folder / kKeys, O_RDWR);
  if (!keys.ok() && errno == ENOENT) return NoKeys(folder);
  if (!keys.ok()) return SystemError("open", folder / kKeys);
  if (LockFile(keys, kMaxLockSeconds)) return FileLock(std::move(keys));
  return base::Unavailable("another command works in {}: try again when it has ended",
                           folder.string());
}

// For a path, from the last one up, those that do not exist.
std::vector<fs::path> MissingFolders(const fs::path& path) {
  std::vector<fs::path> missing;
  std::error_code error;
  for (fs::path folder = path; !folder.empty() && !fs::exists(folder, error) && !error;
       folder = folder.parent_path()) {
    missing.push_back(folder);
  }
  return missing;
}

// Lines of a file; none where there is no file.
absl::StatusOr<std::vector<std::string>> LinesOf(const fs::path& file) {
  std::vector<std::string> lines;
  std::error_code error;
  if (!fs::exists(file, error)) return lines;
  TACET_ASSIGN_OR_RETURN(const base::Bytes text, ReadFile(file));
  for (std::string_view rest = base::AsText(text); !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    lines.emplace_back(line);
  }
  return lines;
}

// Whether a party of the present epoch has the name in a request, and the keys next to it. For the
// request of a party whose enrolled file is lost.
enum class PartyOfEpoch { kNone, kOther, kRenewed, kSameKeys };
absl::StatusOr<PartyOfEpoch> PartyNamedLike(const CoordinatorFolder& folder,
                                            const agreement::EnrolmentRequest& request) {
  TACET_ASSIGN_OR_RETURN(const uint32_t epoch, folder.Epoch());
  const absl::StatusOr<base::Bytes> bytes = folder.SignedManifest(epoch);
  if (bytes.status().code() == absl::StatusCode::kNotFound) return PartyOfEpoch::kNone;
  TACET_RETURN_IF_ERROR(bytes.status());
  TACET_ASSIGN_OR_RETURN(const agreement::SignedManifest manifest,
                         agreement::SignedManifest::Read(*bytes));
  if (const agreement::ManifestServer& server = manifest.server(); server.name == request.name) {
    const bool is_same =
        request.server && server.hosts == request.hosts && server.tls_key == request.tls_key;
    return is_same ? PartyOfEpoch::kSameKeys : PartyOfEpoch::kOther;
  }
  const auto member =
      std::ranges::find(manifest.members(), request.name, &agreement::ManifestMember::name);
  if (member == manifest.members().end()) return PartyOfEpoch::kNone;
  if (request.server || member->signing_key != request.signing_key ||
      member->sealing_key != request.sealing_key) {
    return PartyOfEpoch::kOther;
  }
  return member->exchange_key == request.exchange_keys.exchange ? PartyOfEpoch::kSameKeys
                                                                : PartyOfEpoch::kRenewed;
}

}  // namespace

absl::StatusOr<CoordinatorFolder> CoordinatorFolder::Create(
    const fs::path& path, const Parts& parts, const CoordinatorKeys& keys,
    const crypto::SecretBytes& first_key, const crypto::Unlocker& unlocker,
    crypto::Entropy& entropy, DiskCalls& disk) {
  TACET_ASSIGN_OR_RETURN(const base::Bytes locked,
                         crypto::LockSecret(WriteKeys(keys), kKeysPurpose, unlocker, entropy));
  TACET_ASSIGN_OR_RETURN(const base::Bytes locked_key,
                         crypto::LockSecret(first_key, EpochPurpose(0), unlocker, entropy));
  const std::vector<fs::path> above = MissingFolders(path);
  absl::Status made = MakeFolders(path, kOwnersFolder, disk);
  std::error_code error;
  if (made.ok() && IsHalfFilled(path)) made = ClearFolder(path);
  if (made.ok() && (!fs::is_empty(path, error) || error)) {
    return base::AlreadyExists("{} is not empty: a federation begins in a folder of its own",
                               path.string());
  }
  if (made.ok()) made = CheckKeyFolder(path);
  if (made.ok()) {
    made = FillFolder(path, parts, locked, locked_key, disk);
    if (!made.ok()) ClearFolder(path).IgnoreError();
  }
  if (made.ok()) {
    TACET_ASSIGN_OR_RETURN(FileLock lock, LockWholeFolder(path));
    return CoordinatorFolder(path, parts, std::move(lock), disk);
  }
  for (const fs::path& folder : above) fs::remove(folder, error);
  return made;
}

absl::StatusOr<CoordinatorFolder> CoordinatorFolder::Open(const fs::path& path, DiskCalls& disk) {
  std::error_code error;
  if (!fs::exists(path / kKeys, error) && !fs::exists(path / kName, error)) {
    return base::NotFound("{} holds no federation: `tacet federation init` makes one",
                          path.string());
  }
  TACET_RETURN_IF_ERROR(CheckKeyFolder(path));
  TACET_ASSIGN_OR_RETURN(FileLock lock, LockWholeFolder(path));
  TACET_RETURN_IF_ERROR(RepairNames(path, disk));
  if (!fs::exists(path / kName, error)) {
    return base::NotFound(
        "{} holds a coordinator's key without a federation: copy a site's `invitation` of the "
        "present epoch N to {}/NAME{}N{}",
        path.string(), (path / kInvitations).string(), kOfEpoch, kInvitationEnding);
  }
  CoordinatorFolder folder(path, {}, std::move(lock), disk);
  TACET_RETURN_IF_ERROR(folder.FinishEpochs());
  TACET_RETURN_IF_ERROR(RepairCopies(path, disk));
  TACET_ASSIGN_OR_RETURN(folder.parts_, ReadParts(path));
  return folder;
}

absl::StatusOr<CoordinatorKeys> CoordinatorFolder::UnlockKeys(
    const crypto::Unlocker& unlocker) const {
  const auto locked = ReadSecretFile(path_ / kKeys);
  if (locked.status().code() == absl::StatusCode::kNotFound) {
    return base::NotFound("{}: put it back from the backup", base::Message(locked.status()));
  }
  TACET_RETURN_IF_ERROR(locked.status());
  const auto bytes = crypto::UnlockSecret(locked->Expose(), kKeysPurpose, unlocker);
  if (!bytes.ok()) {
    return absl::Status(bytes.status().code(),
                        fmt::format("{}: {}. A damaged file comes back from the backup",
                                    (path_ / kKeys).string(), base::Message(bytes.status())));
  }
  TACET_ASSIGN_OR_RETURN(CoordinatorKeys keys, ReadKeys(*bytes));
  TACET_ASSIGN_OR_RETURN(const uint32_t epoch, Epoch());
  const absl::StatusOr<base::Bytes> manifest = SignedManifest(epoch);
  if (manifest.ok()) {  // it may have come with an invitation that somebody put here
    TACET_ASSIGN_OR_RETURN(const agreement::EpochLink link, agreement::ReadEpochLink(*manifest));
    if (link.coordinator != keys.signing.public_key()) {
      return base::PermissionDenied(
          "{} is signed by {}, not by the key in this folder: take the invitations of another "
          "federation out of it",
          EpochFile(path_, epoch, kManifestEnding).string(),
          agreement::FingerprintText(link.coordinator));
    }
  }
  return keys;
}

absl::StatusOr<std::vector<EnrolledSite>> CoordinatorFolder::Enrolled() const {
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(path_ / kSites, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == kEnrolledEnding) files.push_back(entry->path());
  }
  if (error) {
    return base::Unavailable("cannot read {}: {}", (path_ / kSites).string(), error.message());
  }
  std::ranges::sort(files);
  std::vector<EnrolledSite> sites;
  for (const fs::path& file : files) {
    TACET_ASSIGN_OR_RETURN(EnrolledSite site, ReadEnrolled(file));
    sites.push_back(std::move(site));
  }
  return sites;
}

absl::Status CoordinatorFolder::Enrol(std::span<const uint8_t> request,
                                      std::span<const uint8_t> certificate) {
  TACET_ASSIGN_OR_RETURN(const agreement::EnrolmentRequest asked,
                         agreement::ReadEnrolmentRequest(request));
  TACET_ASSIGN_OR_RETURN(const std::optional<agreement::EnrolmentRequest> known,
                         RequestOf(path_, asked.name));
  auto party = PartyOfEpoch::kSameKeys;
  if (!known.has_value()) {
    TACET_ASSIGN_OR_RETURN(party, PartyNamedLike(*this, asked));
  } else if (*known != asked && agreement::RenewsExchangeKeys(*known, asked)) {
    // Behind a copy from an earlier epoch, the request of the present one is the newest there is.
    TACET_ASSIGN_OR_RETURN(const PartyOfEpoch was, PartyNamedLike(*this, *known));
    const bool is_copy = was == PartyOfEpoch::kRenewed && !CheckUnused(*known).ok();
    party = PartyOfEpoch::kRenewed;
    if (is_copy) {
      TACET_ASSIGN_OR_RETURN(party, PartyNamedLike(*this, asked));
    }
  } else if (*known != asked) {
    party = PartyOfEpoch::kOther;
  }
  if (party == PartyOfEpoch::kOther) {
    return base::AlreadyExists(
        "{} is enrolled already, with other keys; `tacet federation rotate --remove {}` ends that",
        asked.name, asked.name);
  }
  if (party != PartyOfEpoch::kSameKeys) TACET_RETURN_IF_ERROR(CheckUnused(asked));
  return ReplaceFile(EnrolledPath(path_, asked.name), WriteEnrolled(request, certificate), *disk_);
}

absl::StatusOr<bool> CoordinatorFolder::Recognises(
    const agreement::EnrolmentRequest& request) const {
  TACET_ASSIGN_OR_RETURN(const std::optional<agreement::EnrolmentRequest> known,
                         RequestOf(path_, request.name));
  if (known.has_value()) {
    return *known == request || agreement::RenewsExchangeKeys(*known, request);
  }
  TACET_ASSIGN_OR_RETURN(const PartyOfEpoch party, PartyNamedLike(*this, request));
  return party == PartyOfEpoch::kSameKeys || party == PartyOfEpoch::kRenewed;
}

absl::Status CoordinatorFolder::CheckUnused(const agreement::EnrolmentRequest& request) const {
  TACET_ASSIGN_OR_RETURN(const uint32_t epoch, Epoch());
  TACET_ASSIGN_OR_RETURN(std::vector<base::Bytes> manifests, ManifestsBefore(epoch));
  if (absl::StatusOr<base::Bytes> present = SignedManifest(epoch); present.ok()) {
    manifests.push_back(*std::move(present));
  }
  TACET_ASSIGN_OR_RETURN(const std::vector<agreement::EpochLink> chain,
                         agreement::ReadChain(manifests));
  for (const agreement::EpochLink& link : chain) {
    const bool exchange = agreement::NamesExchangeKey(link.members, request.exchange_keys.exchange);
    if (!exchange && !agreement::NamesKemKey(link.members, request.exchange_keys.kem)) continue;
    return base::FailedPrecondition(
        "the {} key in this request of {} was used in epoch {}: the request is an old one. "
        "Ask {} for the one that `tacet client renew` writes",
        exchange ? "exchange" : "KEM", request.name, link.epoch, request.name);
  }
  return absl::OkStatus();
}

absl::Status CoordinatorFolder::Remove(std::string_view name) {
  TACET_RETURN_IF_ERROR(agreement::CheckSiteName(name));
  const fs::path path = EnrolledPath(path_, name);
  std::error_code error;
  if (!fs::exists(path, error)) return base::NotFound("no site called {} is enrolled", name);
  fs::rename(path, path_ / kRemoved / path.filename(), error);
  if (error) return base::Unavailable("cannot move {}: {}", path.string(), error.message());
  TACET_RETURN_IF_ERROR(SyncDirectory(path_ / kRemoved));
  return SyncDirectory(path_ / kSites);
}

absl::StatusOr<uint32_t> CoordinatorFolder::Epoch() const {
  TACET_ASSIGN_OR_RETURN(const std::optional<uint32_t> last, LastEpochIn(path_));
  if (last.has_value()) return *last;
  return base::DataLoss(
      "{} holds no epoch: put the folder back from the backup, or copy a site's `invitation` of "
      "the present epoch N to {}/NAME{}N{}",
      (path_ / kEpochs).string(), (path_ / kInvitations).string(), kOfEpoch, kInvitationEnding);
}

absl::Status CoordinatorFolder::BeginEpoch(uint32_t epoch, const crypto::SecretBytes& key,
                                           const crypto::Unlocker& unlocker,
                                           crypto::Entropy& entropy) {
  TACET_ASSIGN_OR_RETURN(const base::Bytes locked,
                         crypto::LockSecret(key, EpochPurpose(epoch), unlocker, entropy));
  return WriteSecretFile(KeyOfEpoch(path_, epoch), locked);
}

absl::StatusOr<crypto::SecretBytes> CoordinatorFolder::EpochKey(
    uint32_t epoch, const crypto::Unlocker& unlocker) const {
  const fs::path path = KeyOfEpoch(path_, epoch);
  const auto locked = ReadSecretFile(path);
  absl::Status failed = locked.status();
  if (locked.ok()) {
    auto key = crypto::UnlockSecret(locked->Expose(), EpochPurpose(epoch), unlocker);
    if (key.ok()) return key;
    failed = base::Annotate(key.status(), path.string());
  } else if (failed.code() != absl::StatusCode::kNotFound) {
    return failed;
  }
  return base::DataLoss(
      "{}. No site can join epoch {} any more: `tacet federation rotate` begins the next one",
      base::Message(failed), epoch);
}

absl::Status CoordinatorFolder::ForgetEpochsBefore(uint32_t epoch) {
  TACET_RETURN_IF_ERROR(DeleteBefore(epoch, path_ / kEpochs, "", kKeyEnding));
  TACET_RETURN_IF_ERROR(DeleteBefore(epoch, path_ / kEpochs, "", kAskedEnding));
  return DeleteBefore(epoch, path_ / kInvitations, kOfEpoch, kInvitationEnding);
}

absl::StatusOr<base::Bytes> CoordinatorFolder::SignedManifest(uint32_t epoch) const {
  const fs::path file = EpochFile(path_, epoch, kManifestEnding);
  TACET_ASSIGN_OR_RETURN(base::Bytes bytes, ReadFile(file));
  base::ByteReader reader(bytes, "signed manifest");  // whose errors name no file
  TACET_RETURN_IF_ERROR(
      base::Annotate(base::ReadPreamble(base::format::kSignedManifest, reader), file.string()));
  return bytes;
}

absl::Status CoordinatorFolder::SaveSignedManifest(uint32_t epoch,
                                                   std::span<const uint8_t> manifest) {
  return ReplaceFile(EpochFile(path_, epoch, kManifestEnding), manifest);
}

absl::StatusOr<std::vector<base::Bytes>> CoordinatorFolder::ManifestsBefore(uint32_t epoch) const {
  std::vector<base::Bytes> manifests;
  for (uint32_t earlier = 0; earlier < epoch; ++earlier) {
    absl::StatusOr<base::Bytes> bytes = SignedManifest(earlier);
    if (bytes.status().code() == absl::StatusCode::kNotFound) {
      return base::DataLoss(
          "the manifest of epoch {} is missing below {}: the chain of epochs is broken without it; "
          "take the folder's copy",
          earlier, path_.string());
    }
    TACET_RETURN_IF_ERROR(bytes.status());
    manifests.push_back(*std::move(bytes));
  }
  return manifests;
}

absl::Status CoordinatorFolder::BeginNextEpoch(
    const agreement::SignedManifest& manifest, const TrainingTerms* terms,
    std::span<const std::string> removed, const crypto::SecretBytes& key, std::string_view asked,
    const crypto::Unlocker& unlocker, crypto::Entropy& entropy) {
  const uint32_t epoch = manifest.epoch();
  // The rest of a failed call for the same epoch is not part of this one.
  TACET_RETURN_IF_ERROR(FinishEpochs());
  std::error_code error;
  if (fs::exists(KeyOfEpoch(path_, epoch), error)) {
    return base::AlreadyExists("epoch {} has begun: its manifest stays", epoch);
  }
  // First: a manifest next to this file is of an epoch that has not begun.
  std::string names;
  for (const std::string& name : removed) names += name + "\n";
  TACET_RETURN_IF_ERROR(
      ReplaceFile(EpochFile(path_, epoch, kRemovalEnding), base::AsBytes(names), *disk_));
  TACET_RETURN_IF_ERROR(SaveSignedManifest(epoch, manifest.bytes()));
  TACET_RETURN_IF_ERROR(
      ReplaceFile(EpochFile(path_, epoch, kAskedEnding), base::AsBytes(asked), *disk_));
  if (terms != nullptr) {
    TACET_RETURN_IF_ERROR(
        ReplaceFile(EpochFile(path_, epoch, kModelEnding), terms->initial_model, *disk_));
    TACET_RETURN_IF_ERROR(ReplaceFile(EpochFile(path_, epoch, kAgreementEnding),
                                      base::AsBytes(terms->agreement), *disk_));
  }
  // With its key the epoch has begun.
  TACET_RETURN_IF_ERROR(BeginEpoch(epoch, key, unlocker, entropy));
  if (terms != nullptr) parts_.terms = *terms;
  return FinishEpochs();
}

absl::Status CoordinatorFolder::FinishEpochs() {
  std::set<uint32_t> epochs;
  std::error_code error;
  for (fs::directory_iterator entry(path_ / kEpochs, error), end; !error && entry != end;
       entry.increment(error)) {
    for (const std::string_view extension : kUnfinished) {
      const std::optional<uint32_t> epoch = EpochOf(entry->path(), "", extension);
      if (epoch.has_value()) epochs.insert(*epoch);
    }
  }
  if (error) {
    return base::Unavailable("cannot read {}: {}", (path_ / kEpochs).string(), error.message());
  }
  for (const uint32_t epoch : epochs) TACET_RETURN_IF_ERROR(FinishEpoch(epoch));
  return absl::OkStatus();
}

// Each step can be repeated, and its file is gone when it is done.
absl::Status CoordinatorFolder::FinishEpoch(uint32_t epoch) {
  std::error_code error;
  const bool has_begun = fs::exists(KeyOfEpoch(path_, epoch), error);
  const auto move_up = [&](std::string_view extension, std::string_view name) -> absl::Status {
    const fs::path from = EpochFile(path_, epoch, extension);
    if (!has_begun || !fs::exists(from, error)) return absl::OkStatus();
    fs::rename(from, path_ / name, error);
    if (error) return base::Unavailable("cannot move {}: {}", from.string(), error.message());
    return SyncDirectory(path_, *disk_);
  };
  TACET_RETURN_IF_ERROR(move_up(kModelEnding, kInitialModel));
  TACET_RETURN_IF_ERROR(move_up(kAgreementEnding, kAgreement));
  if (has_begun) {
    TACET_ASSIGN_OR_RETURN(const std::vector<std::string> removed,
                           LinesOf(EpochFile(path_, epoch, kRemovalEnding)));
    for (const std::string& name : removed) {
      const absl::Status gone = Remove(name);
      if (gone.code() != absl::StatusCode::kNotFound) TACET_RETURN_IF_ERROR(gone);
    }
  }
  const auto drop = [&](std::string_view ending) -> absl::Status {
    fs::remove(EpochFile(path_, epoch, ending), error);
    if (!error) return absl::OkStatus();
    return base::Unavailable("cannot delete {}: {}", EpochFile(path_, epoch, ending).string(),
                             error.message());
  };
  if (!has_begun) {
    for (const std::string_view ending : {kManifestEnding, kAskedEnding}) {
      TACET_RETURN_IF_ERROR(drop(ending));
    }
    TACET_RETURN_IF_ERROR(SyncDirectory(path_ / kEpochs, *disk_));
  }
  for (const std::string_view ending : kUnfinished) TACET_RETURN_IF_ERROR(drop(ending));
  return SyncDirectory(path_ / kEpochs, *disk_);
}

absl::StatusOr<fs::path> CoordinatorFolder::SaveInvitation(uint32_t epoch, std::string_view name,
                                                           std::span<const uint8_t> invitation) {
  TACET_RETURN_IF_ERROR(agreement::CheckSiteName(name));
  fs::path path = InvitationPath(path_, epoch, name);
  TACET_RETURN_IF_ERROR(ReplaceFile(path, invitation));
  return path;
}

absl::StatusOr<base::Bytes> SavedInvitation(const CoordinatorFolder& folder, uint32_t epoch,
                                            std::string_view name) {
  TACET_RETURN_IF_ERROR(agreement::CheckSiteName(name));
  return ReadFile(InvitationPath(folder.path(), epoch, name));
}

namespace {

// Before the text of a command whose invitations are where they belong.
constexpr std::string_view kWaits = "waits\n", kAnswered = "answered\n";

// The kept text of the command that began the present epoch.
absl::StatusOr<std::optional<std::string>> KeptCommand(const CoordinatorFolder& folder) {
  TACET_ASSIGN_OR_RETURN(const uint32_t epoch, folder.Epoch());
  const absl::StatusOr<base::Bytes> asked = ReadFile(EpochFile(folder.path(), epoch, kAskedEnding));
  if (asked.status().code() == absl::StatusCode::kNotFound) return std::nullopt;
  TACET_RETURN_IF_ERROR(asked.status());
  return std::optional<std::string>(base::AsText(*asked));
}

}  // namespace

absl::StatusOr<std::optional<std::string>> AskedOfHandingOut(const CoordinatorFolder& folder) {
  TACET_ASSIGN_OR_RETURN(std::optional<std::string> kept, KeptCommand(folder));
  if (kept.has_value() && (kept->starts_with(kWaits) || kept->starts_with(kAnswered))) kept.reset();
  return kept;
}

absl::Status KeepHandedOut(const CoordinatorFolder& folder, const HandedOutCommand& command) {
  TACET_ASSIGN_OR_RETURN(const uint32_t epoch, folder.Epoch());
  return ReplaceFile(
      EpochFile(folder.path(), epoch, kAskedEnding),
      base::AsBytes(fmt::format("{}{}", command.is_answered ? kAnswered : kWaits, command.asked)));
}

absl::StatusOr<std::optional<HandedOutCommand>> CommandHandedOut(const CoordinatorFolder& folder) {
  TACET_ASSIGN_OR_RETURN(const std::optional<std::string> kept, KeptCommand(folder));
  for (const std::string_view state : {kWaits, kAnswered}) {
    if (!kept.has_value() || !kept->starts_with(state)) continue;
    return HandedOutCommand{.asked = kept->substr(state.size()), .is_answered = state == kAnswered};
  }
  return std::nullopt;
}

absl::Status EndHandingOut(const CoordinatorFolder& folder) {
  TACET_ASSIGN_OR_RETURN(const uint32_t epoch, folder.Epoch());
  const fs::path file = EpochFile(folder.path(), epoch, kAskedEnding);
  std::error_code error;
  fs::remove(file, error);
  if (error) return base::Unavailable("cannot delete {}: {}", file.string(), error.message());
  return absl::OkStatus();
}

}  // namespace tacet::storage::file
