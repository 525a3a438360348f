#include "tacet/storage/file/coordinator_folder.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <system_error>
#include <utility>

#include <fcntl.h>

#include "tacet/agreement/key_renewal.h"
#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"
#include "tacet/storage/file/locked_files.h"
#include "tacet/storage/file/posix_file.h"
#include "tacet/storage/file/secret_file.h"

namespace tacet::storage::file {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kName = "name";
constexpr std::string_view kIdentity = "identity";
constexpr std::string_view kAgreement = "federation.toml";
constexpr std::string_view kAuthority = "authority.der";
constexpr std::string_view kInitialModel = "initial-model";
constexpr std::string_view kKeys = "coordinator.key";
constexpr std::string_view kSites = "sites";
constexpr std::string_view kRemoved = "removed";
constexpr std::string_view kEpochs = "epochs";
constexpr std::string_view kInvitations = "invitations";
constexpr std::string_view kKeysPurpose = "coordinator's keys";

std::string EpochPurpose(uint32_t epoch) { return fmt::format("key of epoch {}", epoch); }
std::string EpochName(uint32_t epoch) { return fmt::format("{:010}", epoch); }

constexpr std::string_view kKeyExtension = ".key";
// Of an epoch that is to begin: its sites that leave, and the terms of the training that begins.
constexpr std::string_view kRemovalExtension = ".removed";
constexpr std::string_view kAgreementExtension = ".toml";
constexpr std::string_view kModelExtension = ".model";
constexpr std::array kUnfinished = {kModelExtension, kAgreementExtension, kRemovalExtension};
// Of an epoch whose invitations are not all written: what was asked.
constexpr std::string_view kAskedExtension = ".asked";
constexpr std::string_view kEnrolledExtension = ".enrolled";
constexpr std::string_view kInvitationExtension = ".tacet";
constexpr std::string_view kOfEpoch = "-epoch-";

// The epoch of a file: the number between the last `prefix` in its name and `extension`. Nothing
// for other files.
std::optional<uint32_t> EpochOf(const fs::path& file, std::string_view prefix,
                                std::string_view extension) {
  const std::string stem = file.stem().string();
  const size_t at = prefix.empty() ? 0 : stem.rfind(prefix);
  if (at == std::string::npos || file.extension() != extension) return std::nullopt;
  const char* const begin = stem.data() + at + prefix.size();
  const char* const end = stem.data() + stem.size();
  uint32_t epoch = 0;
  const auto [stopped, failure] = std::from_chars(begin, end, epoch);
  if (failure != std::errc() || stopped != end) return std::nullopt;
  return epoch;
}

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
    if (extension == kKeyExtension) {
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

// What is made together with a folder. Its name is the last: a folder with a name is whole. The
// file beside which it is written is the first, so that unfinished folders are known.
constexpr std::array kFolders = {kSites, kRemoved, kEpochs, kInvitations};
constexpr std::array kFiles = {kKeys, kIdentity, kAgreement, kAuthority, kInitialModel};

fs::path KeyOfEpoch(const fs::path& folder, uint32_t epoch) {
  return folder / kEpochs / fmt::format("{}{}", EpochName(epoch), kKeyExtension);
}

fs::path EpochFile(const fs::path& folder, uint32_t epoch, std::string_view extension) {
  return folder / kEpochs / fmt::format("{}{}", EpochName(epoch), extension);
}

fs::path EnrolledPath(const fs::path& folder, std::string_view name) {
  return folder / kSites / fmt::format("{}{}", name, kEnrolledExtension);
}

fs::path Beginning(const fs::path& folder) { return folder / fmt::format("{}.new", kName); }

bool IsUnfinished(const fs::path& folder) {
  std::error_code error;
  const bool has_begun = fs::exists(Beginning(folder), error) ||
                         fs::exists(Beginning(folder).string() + ".new", error);
  return has_begun && !fs::exists(folder / kName, error);
}

absl::Status Fill(const fs::path& folder, const CoordinatorFolder::Parts& parts,
                  std::span<const uint8_t> keys, std::span<const uint8_t> first_key,
                  DiskCalls& disk) {
  TACET_RETURN_IF_ERROR(ReplaceFile(Beginning(folder), base::AsBytes(parts.federation), disk));
  for (const std::string_view name : kFolders) {
    TACET_RETURN_IF_ERROR(MakeFolders(folder / name, 0777, disk));
  }
  TACET_RETURN_IF_ERROR(WriteSecretFile(folder / kKeys, keys, disk));
  TACET_RETURN_IF_ERROR(WriteSecretFile(KeyOfEpoch(folder, 0), first_key, disk));
  TACET_RETURN_IF_ERROR(
      ReplaceFile(folder / kIdentity, base::AsBytes(base::ToHex(parts.identity)), disk));
  TACET_RETURN_IF_ERROR(
      ReplaceFile(folder / kAgreement, base::AsBytes(parts.terms.agreement), disk));
  TACET_RETURN_IF_ERROR(ReplaceFile(folder / kAuthority, parts.authority, disk));
  TACET_RETURN_IF_ERROR(ReplaceFile(folder / kInitialModel, parts.terms.initial_model, disk));
  return ReplaceFile(folder / kName, base::AsBytes(parts.federation), disk);
}

// Removes what Fill made, and nothing else: a folder that holds more stays.
absl::Status Clear(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder / kName, error)) fs::rename(folder / kName, Beginning(folder), error);
  const auto remove = [&error](const fs::path& path) {
    if (!error) fs::remove(path, error);
  };
  std::vector<fs::path> made = {KeyOfEpoch(folder, 0)};
  for (const std::string_view file : kFiles) made.push_back(folder / file);
  for (const fs::path& file : made) {
    remove(file);
    remove(file.string() + ".new");
  }
  for (const std::string_view name : kFolders) remove(folder / name);
  remove(Beginning(folder).string() + ".new");
  remove(Beginning(folder));
  if (error) return base::Unavailable("cannot clear {}: {}", folder.string(), error.message());
  return absl::OkStatus();
}

absl::StatusOr<TrainingTerms> ReadTerms(const fs::path& folder) {
  TrainingTerms terms;
  TACET_ASSIGN_OR_RETURN(const base::Bytes agreement, ReadFile(folder / kAgreement));
  terms.agreement = base::AsText(agreement);
  TACET_ASSIGN_OR_RETURN(terms.initial_model, ReadFile(folder / kInitialModel));
  return terms;
}

// For as long as a person waits for another command of theirs.
constexpr double kMaxLockSeconds = 10;

// The name is written once, so it is the same file for every process.
absl::StatusOr<FileLock> LockWholeFolder(const fs::path& folder) {
  File name(folder / kName, O_RDWR);
  if (!name.ok()) return SystemError("open", folder / kName);
  if (LockFile(name, kMaxLockSeconds)) return FileLock(std::move(name));
  return base::Unavailable("another command works in {}: try again when it has ended",
                           folder.string());
}

// Of a path, from the last one up, those that do not exist.
std::vector<fs::path> MissingFolders(const fs::path& path) {
  std::vector<fs::path> missing;
  std::error_code error;
  for (fs::path folder = path; !folder.empty() && !fs::exists(folder, error) && !error;
       folder = folder.parent_path()) {
    missing.push_back(folder);
  }
  return missing;
}

// An enrolled party's request and its certificate.
base::Bytes WriteEnrolled(std::span<const uint8_t> request, std::span<const uint8_t> certificate) {
  base::ByteWriter writer;
  base::WritePreamble(base::format::kEnrolledSite, writer);
  writer.Blob(request);
  writer.Blob(certificate);
  return writer.Take();
}

absl::StatusOr<EnrolledSite> ReadEnrolled(const fs::path& path) {
  TACET_ASSIGN_OR_RETURN(const base::Bytes bytes, ReadFile(path));
  const std::string what = path.string();
  base::ByteReader reader(bytes, what);
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kEnrolledSite, reader));
  TACET_ASSIGN_OR_RETURN(const auto request, reader.ReadBlob(bytes.size(), "request"));
  TACET_ASSIGN_OR_RETURN(const auto certificate, reader.ReadBlob(bytes.size(), "certificate"));
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  absl::StatusOr<agreement::EnrolmentRequest> read = agreement::ReadEnrolmentRequest(request);
  if (!read.ok()) return base::Annotate(read.status(), what);
  return EnrolledSite{.request = *std::move(read),
                      .certificate = base::Bytes(certificate.begin(), certificate.end())};
}

// Nothing when none of that name is enrolled.
absl::StatusOr<std::optional<agreement::EnrolmentRequest>> RequestOf(const fs::path& folder,
                                                                     std::string_view name) {
  absl::StatusOr<EnrolledSite> site = ReadEnrolled(EnrolledPath(folder, name));
  if (site.status().code() == absl::StatusCode::kNotFound) return std::nullopt;
  TACET_RETURN_IF_ERROR(site.status());
  return std::move(site->request);
}

fs::path InvitationPath(const fs::path& folder, uint32_t epoch, std::string_view name) {
  return folder / kInvitations /
         fmt::format("{}{}{}{}", name, kOfEpoch, epoch, kInvitationExtension);
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
  if (made.ok() && IsUnfinished(path)) made = Clear(path);
  if (made.ok() && (!fs::is_empty(path, error) || error)) {
    return base::AlreadyExists("{} is not empty: a federation begins in a folder of its own",
                               path.string());
  }
  if (made.ok()) made = CheckKeyFolder(path);
  if (made.ok()) {
    made = Fill(path, parts, locked, locked_key, disk);
    if (!made.ok()) Clear(path).IgnoreError();
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
  if (!fs::exists(path / kName, error)) {
    return base::NotFound("{} holds no federation: `tacet federation init` makes one",
                          path.string());
  }
  TACET_RETURN_IF_ERROR(CheckKeyFolder(path));
  TACET_ASSIGN_OR_RETURN(FileLock lock, LockWholeFolder(path));
  TACET_ASSIGN_OR_RETURN(const base::Bytes name, ReadFile(path / kName));
  TACET_ASSIGN_OR_RETURN(const base::Bytes identity, ReadFile(path / kIdentity));
  const absl::StatusOr<base::Bytes> digits = base::FromHex(base::AsText(identity));
  Parts parts{
      .federation = std::string(base::AsText(name)), .identity = {}, .terms = {}, .authority = {}};
  if (!digits.ok() || digits->size() != parts.identity.size()) {
    return base::DataLoss("{} does not hold 64 hexadecimal digits", (path / kIdentity).string());
  }
  std::ranges::copy(*digits, parts.identity.begin());
  TACET_ASSIGN_OR_RETURN(parts.authority, ReadFile(path / kAuthority));
  CoordinatorFolder folder(path, std::move(parts), std::move(lock), disk);
  TACET_RETURN_IF_ERROR(folder.FinishEpochs());
  TACET_ASSIGN_OR_RETURN(folder.parts_.terms, ReadTerms(path));
  return folder;
}

absl::StatusOr<CoordinatorKeys> CoordinatorFolder::UnlockKeys(
    const crypto::Unlocker& unlocker) const {
  TACET_ASSIGN_OR_RETURN(const crypto::SecretBytes locked, ReadSecretFile(path_ / kKeys));
  TACET_ASSIGN_OR_RETURN(const crypto::SecretBytes bytes,
                         crypto::UnlockSecret(locked.Expose(), kKeysPurpose, unlocker));
  return ReadKeys(bytes);
}

absl::StatusOr<std::vector<EnrolledSite>> CoordinatorFolder::Enrolled() const {
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(path_ / kSites, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == kEnrolledExtension) files.push_back(entry->path());
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
  if (known.has_value() && *known != asked) {
    if (!agreement::RenewsExchangeKeys(*known, asked)) {
      return base::AlreadyExists(
          "{} is enrolled already, with other keys; `tacet federation rotate --remove {}` ends "
          "that",
          asked.name, asked.name);
    }
    TACET_RETURN_IF_ERROR(CheckUnused(asked));
  }
  return ReplaceFile(EnrolledPath(path_, asked.name), WriteEnrolled(request, certificate), *disk_);
}

absl::StatusOr<bool> CoordinatorFolder::Recognises(
    const agreement::EnrolmentRequest& request) const {
  TACET_ASSIGN_OR_RETURN(const std::optional<agreement::EnrolmentRequest> known,
                         RequestOf(path_, request.name));
  return known.has_value() && (*known == request || agreement::RenewsExchangeKeys(*known, request));
}

absl::Status CoordinatorFolder::CheckUnused(const agreement::EnrolmentRequest& request) const {
  TACET_ASSIGN_OR_RETURN(const uint32_t epoch, Epoch());
  TACET_ASSIGN_OR_RETURN(std::vector<agreement::SignedManifest> manifests, ManifestsBefore(epoch));
  if (const absl::StatusOr<base::Bytes> present = SignedManifest(epoch); present.ok()) {
    TACET_ASSIGN_OR_RETURN(agreement::SignedManifest manifest,
                           agreement::SignedManifest::Read(*present));
    manifests.push_back(std::move(manifest));
  }
  for (const agreement::SignedManifest& manifest : manifests) {
    if (!agreement::NamesExchangeKey(manifest, request.exchange_keys.exchange)) continue;
    return base::FailedPrecondition(
        "the exchange key in this request of {} was used in epoch {}: the request is an old one. "
        "Ask {} for the one that `tacet client renew` writes",
        request.name, manifest.epoch(), request.name);
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
  std::error_code error;
  uint32_t latest = 0;
  bool found = false;
  for (fs::directory_iterator entry(path_ / kEpochs, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::optional<uint32_t> epoch = EpochOf(entry->path(), "", kKeyExtension);
    if (!epoch.has_value()) continue;
    latest = std::max(latest, *epoch);
    found = true;
  }
  if (error) {
    return base::Unavailable("cannot read {}: {}", (path_ / kEpochs).string(), error.message());
  }
  if (!found) return base::DataLoss("{} holds no epoch key", (path_ / kEpochs).string());
  return latest;
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
  TACET_ASSIGN_OR_RETURN(const crypto::SecretBytes locked,
                         ReadSecretFile(KeyOfEpoch(path_, epoch)));
  return crypto::UnlockSecret(locked.Expose(), EpochPurpose(epoch), unlocker);
}

absl::Status CoordinatorFolder::ForgetEpochsBefore(uint32_t epoch) {
  TACET_RETURN_IF_ERROR(DeleteBefore(epoch, path_ / kEpochs, "", kKeyExtension));
  return DeleteBefore(epoch, path_ / kInvitations, kOfEpoch, kInvitationExtension);
}

absl::StatusOr<base::Bytes> CoordinatorFolder::SignedManifest(uint32_t epoch) const {
  return ReadFile(EpochFile(path_, epoch, ".manifest"));
}

absl::Status CoordinatorFolder::SaveSignedManifest(uint32_t epoch,
                                                   std::span<const uint8_t> manifest) {
  return ReplaceFile(EpochFile(path_, epoch, ".manifest"), manifest);
}

absl::StatusOr<std::vector<agreement::SignedManifest>> CoordinatorFolder::ManifestsBefore(
    uint32_t epoch) const {
  std::vector<agreement::SignedManifest> manifests;
  for (uint32_t earlier = 0; earlier < epoch; ++earlier) {
    const absl::StatusOr<base::Bytes> bytes = SignedManifest(earlier);
    if (bytes.status().code() == absl::StatusCode::kNotFound) {
      return base::DataLoss(
          "the manifest of epoch {} is missing below {}: the chain of epochs is broken without it; "
          "take the folder's copy",
          earlier, path_.string());
    }
    TACET_RETURN_IF_ERROR(bytes.status());
    TACET_ASSIGN_OR_RETURN(agreement::SignedManifest manifest,
                           agreement::SignedManifest::Read(*bytes));
    manifests.push_back(std::move(manifest));
  }
  return manifests;
}

absl::Status CoordinatorFolder::BeginNextEpoch(
    const agreement::SignedManifest& manifest, const TrainingTerms* terms,
    std::span<const std::string> removed, const crypto::SecretBytes& key, std::string_view asked,
    const crypto::Unlocker& unlocker, crypto::Entropy& entropy) {
  const uint32_t epoch = manifest.epoch();
  // What a call that failed left of the same epoch is not part of this one.
  TACET_RETURN_IF_ERROR(FinishEpochs());
  std::error_code error;
  if (fs::exists(KeyOfEpoch(path_, epoch), error)) {
    return base::AlreadyExists("epoch {} has begun: its manifest stays", epoch);
  }
  TACET_RETURN_IF_ERROR(SaveSignedManifest(epoch, manifest.bytes()));
  TACET_RETURN_IF_ERROR(
      ReplaceFile(EpochFile(path_, epoch, kAskedExtension), base::AsBytes(asked), *disk_));
  std::string names;
  for (const std::string& name : removed) names += name + "\n";
  TACET_RETURN_IF_ERROR(
      ReplaceFile(EpochFile(path_, epoch, kRemovalExtension), base::AsBytes(names), *disk_));
  if (terms != nullptr) {
    TACET_RETURN_IF_ERROR(
        ReplaceFile(EpochFile(path_, epoch, kModelExtension), terms->initial_model, *disk_));
    TACET_RETURN_IF_ERROR(ReplaceFile(EpochFile(path_, epoch, kAgreementExtension),
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
  TACET_RETURN_IF_ERROR(move_up(kModelExtension, kInitialModel));
  TACET_RETURN_IF_ERROR(move_up(kAgreementExtension, kAgreement));
  if (has_begun) {
    TACET_ASSIGN_OR_RETURN(const std::vector<std::string> removed,
                           LinesOf(EpochFile(path_, epoch, kRemovalExtension)));
    for (const std::string& name : removed) {
      const absl::Status gone = Remove(name);
      if (gone.code() != absl::StatusCode::kNotFound) TACET_RETURN_IF_ERROR(gone);
    }
  }
  for (const std::string_view extension : kUnfinished) {
    fs::remove(EpochFile(path_, epoch, extension), error);
    if (error) {
      return base::Unavailable("cannot delete {}: {}", EpochFile(path_, epoch, extension).string(),
                               error.message());
    }
  }
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

absl::StatusOr<std::optional<std::string>> AskedOfHandingOut(const CoordinatorFolder& folder) {
  TACET_ASSIGN_OR_RETURN(const uint32_t epoch, folder.Epoch());
  const absl::StatusOr<base::Bytes> asked =
      ReadFile(EpochFile(folder.path(), epoch, kAskedExtension));
  if (asked.status().code() == absl::StatusCode::kNotFound) return std::nullopt;
  TACET_RETURN_IF_ERROR(asked.status());
  return std::optional<std::string>(base::AsText(*asked));
}

absl::Status EndHandingOut(const CoordinatorFolder& folder) {
  TACET_ASSIGN_OR_RETURN(const uint32_t epoch, folder.Epoch());
  const fs::path file = EpochFile(folder.path(), epoch, kAskedExtension);
  std::error_code error;
  fs::remove(file, error);
  if (error) return base::Unavailable("cannot delete {}: {}", file.string(), error.message());
  return absl::OkStatus();
}

}  // namespace tacet::storage::file
