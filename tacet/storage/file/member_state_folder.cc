#include "tacet/storage/file/member_state_folder.h"

#include <algorithm>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"
#include "tacet/crypto/hash.h"
#include "tacet/secagg/wire.h"

namespace tacet::storage::file {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStateLock = "lock";
constexpr std::string_view kStateCheckpoint = "state.ckpt";
constexpr std::string_view kEarlier = "earlier.ckpt";
constexpr std::string_view kMemory = "memory";
constexpr std::string_view kOpeningVote = "opening-vote";
constexpr std::string_view kUpload = "upload";
constexpr std::string_view kWhat = "site state";

// For the files that belong to one attempt.
std::string Prefix(const secagg::AttemptNumber& number) {
  return fmt::format("{}-{}-{}.", number.epoch, number.round, number.attempt);
}
std::string EntryName(const secagg::Attempt& attempt, std::string_view kind) {
  return fmt::format("{}{}", Prefix(attempt.number), kind);
}

// For entries of an epoch.
std::string PrefixOfEpoch(uint32_t epoch) {
  return fmt::format("{}-{}-", epoch, secagg::kRoundOfEpoch);
}

bool IsEntry(std::string_view name) { return !name.empty() && name[0] >= '0' && name[0] <= '9'; }

base::Bytes WriteEntry(const secagg::Attempt& attempt, std::span<const uint8_t> message) {
  base::ByteWriter writer;
  writer.Reserve(message.size() + 128);
  base::WritePreamble(base::format::kStateEntry, writer);
  secagg::WriteAttempt(attempt, writer);
  writer.Blob(message);
  writer.Raw(crypto::Sha256(writer.bytes()));
  return writer.Take();
}

absl::StatusOr<base::Bytes> ReadEntry(std::span<const uint8_t> bytes,
                                      const secagg::Attempt& attempt) {
  base::ByteReader reader(bytes, kWhat);
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kStateEntry, reader));
  TACET_ASSIGN_OR_RETURN(const secagg::Attempt of, secagg::ReadAttempt(reader));
  TACET_ASSIGN_OR_RETURN(const auto message, reader.ReadBlob(bytes.size(), "message"));
  const crypto::Digest digest = crypto::Sha256(bytes.first(bytes.size() - reader.remaining()));
  TACET_RETURN_IF_ERROR(reader.Expect(digest, "digest"));
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  TACET_RETURN_IF_ERROR(secagg::CheckAttempt(attempt, of, kWhat));
  return base::Bytes(message.begin(), message.end());
}

}  // namespace

absl::StatusOr<std::unique_ptr<MemberStateFolder>> MemberStateFolder::Open(const fs::path& path,
                                                                           DiskCalls& disk) {
  TACET_RETURN_IF_ERROR(MakeFolders(path, 0700, disk));
  std::error_code error;
  fs::permissions(path, fs::perms::owner_all, error);
  if (error) return base::Unavailable("cannot make {}: {}", path.string(), error.message());
  File lock(path / kStateLock, O_RDWR | O_CREAT, kOwnerOnly);
  if (!lock.ok()) return SystemError("open", path / kStateLock);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return base::FailedPrecondition("{} is in use by another process", path.string());
  }
  return std::unique_ptr<MemberStateFolder>(
      new MemberStateFolder(path, FileLock(std::move(lock)), disk));
}

absl::Status MemberStateFolder::Save(std::string_view name, std::span<const uint8_t> content) {
  return ReplaceFile(path_ / name, content, disk_, kOwnerOnly);
}

absl::Status MemberStateFolder::SaveCheckpoint(base::Bytes checkpoint) {
  return ReplaceFileKeeping(path_ / kStateCheckpoint, path_ / kEarlier, checkpoint, disk_,
                            kOwnerOnly);
}

// A process that ended within SaveCheckpoint may have left the last one where the earlier one is.
absl::StatusOr<base::Bytes> MemberStateFolder::LoadCheckpoint() const {
  absl::StatusOr<base::Bytes> last = ReadFile(path_ / kStateCheckpoint);
  return last.status().code() == absl::StatusCode::kNotFound ? ReadFile(path_ / kEarlier)
                                                             : std::move(last);
}

absl::StatusOr<bool> MemberStateFolder::HasCheckpoint() const {
  std::error_code error;
  const bool has = fs::exists(path_ / kStateCheckpoint, error);
  if (error) return base::Unavailable("cannot read {}: {}", path_.string(), error.message());
  return has;
}

absl::StatusOr<base::Bytes> MemberStateFolder::LoadEarlierCheckpoint() const {
  TACET_ASSIGN_OR_RETURN(const bool has_last, HasCheckpoint());
  if (!has_last) return base::NotFound("{} holds one checkpoint only", path_.string());
  return ReadFile(path_ / kEarlier);
}

absl::Status MemberStateFolder::ForgetEarlierCheckpoint() {
  TACET_ASSIGN_OR_RETURN(const bool has_last, HasCheckpoint());
  std::error_code error;
  if (!has_last || !fs::remove(path_ / kEarlier, error)) {
    if (error) return base::Unavailable("cannot clean {}: {}", path_.string(), error.message());
    return absl::OkStatus();
  }
  return SyncDirectory(path_, disk_);
}

absl::Status MemberStateFolder::StepBack() {
  TACET_ASSIGN_OR_RETURN(const bool has_last, HasCheckpoint());
  if (!has_last) return base::NotFound("{} holds one checkpoint only", path_.string());
  if (disk_.Rename((path_ / kEarlier).c_str(), (path_ / kStateCheckpoint).c_str()) != 0) {
    return SystemError("go back to", path_ / kEarlier);
  }
  return SyncDirectory(path_, disk_);
}

absl::Status MemberStateFolder::SaveMemory(std::span<const uint8_t> memory) {
  return Save(kMemory, memory);
}

absl::StatusOr<base::Bytes> MemberStateFolder::LoadMemory() const {
  return ReadFile(path_ / kMemory);
}

absl::Status MemberStateFolder::SaveOpeningVote(std::span<const uint8_t> vote) {
  return Save(kOpeningVote, vote);
}

absl::StatusOr<base::Bytes> MemberStateFolder::LoadOpeningVote() const {
  return ReadFile(path_ / kOpeningVote);
}

absl::Status MemberStateFolder::SaveEntry(const secagg::Attempt& attempt, std::string_view kind,
                                          std::span<const uint8_t> message) {
  const absl::StatusOr<base::Bytes> said = LoadEntry(attempt, kind);
  if (said.ok()) {
    if (std::ranges::equal(*said, message)) return absl::OkStatus();
    return base::AlreadyExists("another {} of round {} attempt {} was kept before", kind,
                               attempt.number.round, attempt.number.attempt);
  }
  if (said.status().code() != absl::StatusCode::kNotFound) return said.status();
  return Save(EntryName(attempt, kind), WriteEntry(attempt, message));
}

absl::StatusOr<base::Bytes> MemberStateFolder::LoadEntry(const secagg::Attempt& attempt,
                                                         std::string_view kind) const {
  TACET_ASSIGN_OR_RETURN(const base::Bytes bytes, ReadFile(path_ / EntryName(attempt, kind)));
  return ReadEntry(bytes, attempt);
}

absl::Status MemberStateFolder::SaveUpload(const secagg::Attempt& attempt,
                                           std::span<const uint8_t> upload) {
  return SaveEntry(attempt, kUpload, upload);
}

absl::StatusOr<base::Bytes> MemberStateFolder::LoadUpload(const secagg::Attempt& attempt) const {
  return LoadEntry(attempt, kUpload);
}

absl::Status MemberStateFolder::Record(const secagg::Attempt& attempt, secagg::JournalStep step,
                                       std::span<const uint8_t> message) {
  return SaveEntry(attempt, secagg::JournalStepName(step), message);
}

absl::StatusOr<base::Bytes> MemberStateFolder::Find(const secagg::Attempt& attempt,
                                                    secagg::JournalStep step) const {
  return LoadEntry(attempt, secagg::JournalStepName(step));
}

absl::Status MemberStateFolder::KeepOnly(const secagg::AttemptNumber& attempt) {
  const std::string kept = Prefix(attempt), of_epoch = PrefixOfEpoch(attempt.epoch);
  std::vector<fs::path> old;
  std::error_code error;
  for (auto file = fs::directory_iterator(path_, error); !error && file != fs::end(file);
       file.increment(error)) {
    const std::string name = file->path().filename();
    if (!IsEntry(name) || name.starts_with(kept) || name.starts_with(of_epoch)) continue;
    old.push_back(file->path());
  }
  std::ranges::sort(old);  // the same steps on every file system
  for (const fs::path& path : old) {
    if (!error) fs::remove(path, error);
  }
  if (error) return base::Unavailable("cannot clean {}: {}", path_.string(), error.message());
  return old.empty() ? absl::OkStatus() : SyncDirectory(path_, disk_);
}

}  // namespace tacet::storage::file
