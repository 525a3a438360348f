#include "tacet/storage/file/run_directory.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>

#include "tacet/base/status.h"
#include "tacet/storage/file/data_key.h"
#include "tacet/storage/file/digest_key_file.h"
#include "tacet/storage/file/ledger_file.h"
#include "tacet/storage/file/posix_file.h"
#include "tacet/storage/file/secret_file.h"

namespace tacet::storage::file {
namespace {

constexpr std::string_view kAttempts = "attempts";
constexpr std::string_view kCheckpoint = "checkpoint";
constexpr std::string_view kLedger = "ledger";
constexpr std::string_view kRunLock = "lock";

}  // namespace

absl::StatusOr<secagg::AttemptNumber> ParseAttempt(std::string_view line) {
  secagg::AttemptNumber attempt;
  const char* at = line.data();
  const char* const end = line.data() + line.size();
  for (uint32_t* field : {&attempt.epoch, &attempt.round, &attempt.attempt}) {
    if (field != &attempt.epoch) {
      if (at == end || *at != ' ') return base::DataLoss("a blank is missing");
      ++at;
    }
    const auto [next, error] = std::from_chars(at, end, *field);
    if (error != std::errc()) return base::DataLoss("a number is missing or too large");
    at = next;
  }
  if (at != end) return base::DataLoss("there is more than three numbers");
  return attempt;
}

absl::StatusOr<std::unique_ptr<RunDirectory>> RunDirectory::Create(
    const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    return base::Unavailable("cannot make the run directory {}: {}", path.string(),
                             error.message());
  }
  const bool empty = std::filesystem::is_empty(path, error);
  if (error || !empty) {
    return base::AlreadyExists(
        "the run directory {} is not empty: choose another one with --out, or continue with "
        "--resume",
        path.string());
  }
  return Lock(path);
}

absl::StatusOr<std::unique_ptr<RunDirectory>> RunDirectory::Open(
    const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path / kRunLock, error)) {
    return base::NotFound("{} holds no run to resume", path.string());
  }
  return Lock(path);
}

absl::StatusOr<std::unique_ptr<RunDirectory>> RunDirectory::OpenOrMake(
    const std::filesystem::path& path) {
  TACET_RETURN_IF_ERROR(MakeFolders(path));
  return Lock(path);
}

absl::StatusOr<std::unique_ptr<RunDirectory>> RunDirectory::Lock(
    const std::filesystem::path& path) {
  File lock(path / kRunLock, O_RDWR | O_CREAT);
  if (!lock.ok()) return SystemError("open", path / kRunLock);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return base::FailedPrecondition("the run directory {} is in use by another process",
                                    path.string());
  }
  return std::unique_ptr<RunDirectory>(new RunDirectory(path, FileLock(std::move(lock))));
}

absl::Status RunDirectory::RecordAttempt(const secagg::AttemptNumber& attempt) {
  return AppendLine(kAttempts,
                    fmt::format("{} {} {}", attempt.epoch, attempt.round, attempt.attempt));
}

absl::StatusOr<std::vector<secagg::AttemptNumber>> RunDirectory::Attempts() const {
  TACET_ASSIGN_OR_RETURN(const std::vector<std::string> lines, ReadLines(kAttempts));
  std::vector<secagg::AttemptNumber> attempts;
  for (const std::string& line : lines) {
    absl::StatusOr<secagg::AttemptNumber> attempt = ParseAttempt(line);
    if (!attempt.ok()) {
      return base::Annotate(
          attempt.status(),
          fmt::format("{}, line {}", (path_ / kAttempts).string(), attempts.size() + 1));
    }
    attempts.push_back(*attempt);
  }
  return attempts;
}

absl::Status RunDirectory::SaveCheckpoint(std::span<const uint8_t> checkpoint) {
  return WriteFile(kCheckpoint, checkpoint);
}

absl::StatusOr<base::Bytes> RunDirectory::LoadCheckpoint() const { return ReadFile(kCheckpoint); }

absl::Status RunDirectory::CheckData(const crypto::Digest& data) {
  TACET_ASSIGN_OR_RETURN(const crypto::SecretBytes key,
                         EnsureDataKey(path_ / kDataKeyFile, path_ / kDataDigestFile));
  TACET_ASSIGN_OR_RETURN(const bool same, AreDataOfRun(path_ / kDataDigestFile, key, data));
  if (same) return absl::OkStatus();
  return base::FailedPrecondition(
      "the run in {} was begun with other data than these: continue with the data that it began "
      "with, "
      "or begin another run",
      path_.string());
}

absl::StatusOr<secagg::DigestKey> RunDirectory::DigestKey(crypto::Entropy& entropy) {
  absl::StatusOr<secagg::DigestKey> key = ReadDigestKey(path_ / DigestKeyFile(0));
  if (key.status().code() != absl::StatusCode::kNotFound) return key;
  std::error_code error;
  if (std::filesystem::exists(path_ / kLedger, error) || error) {
    return base::FailedPrecondition(
        "{} is missing, and the run's models are named under it: put it back",
        (path_ / DigestKeyFile(0)).string());
  }
  key = secagg::DigestKey(entropy.Draw(secagg::DigestKey::kBytes));
  TACET_RETURN_IF_ERROR(KeepDigestKey(0, *key));
  return key;
}

absl::Status RunDirectory::KeepDigestKey(uint32_t epoch, const secagg::DigestKey& key) {
  const std::filesystem::path path = path_ / DigestKeyFile(epoch);
  const absl::StatusOr<crypto::SecretBytes> kept = ReadSecretFile(path);
  if (kept.ok() && std::ranges::equal(kept->Expose(), key.secret().Expose())) {
    return absl::OkStatus();
  }
  if (!kept.ok() && kept.status().code() != absl::StatusCode::kNotFound) return kept.status();
  return ReplaceFile(path, key.secret().Expose(), DiskCalls::System(), kOwnerOnly);
}

absl::StatusOr<ledger::OpenedLedger> RunDirectory::OpenLedger(const ledger::LedgerHeader& header) {
  return LedgerFile::OpenOrCreate(path_ / kLedger, header);
}

absl::Status RunDirectory::WriteFile(std::string_view name, std::span<const uint8_t> content) {
  return ReplaceFile(path_ / name, content);
}

absl::StatusOr<base::Bytes> RunDirectory::ReadFile(std::string_view name) const {
  return file::ReadFile(path_ / name);
}

absl::Status RunDirectory::AppendLine(std::string_view name, std::string_view line) {
  const std::filesystem::path path = path_ / name;
  const bool is_new = !std::filesystem::exists(path);
  const File file(path, O_RDWR | O_CREAT | O_APPEND);
  if (!file.ok()) return SystemError("open", path);
  // A line that a crash cut short is not part of the file.
  TACET_ASSIGN_OR_RETURN(const base::Bytes content, ReadFile(name));
  size_t complete = content.size();
  while (complete > 0 && content[complete - 1] != '\n') --complete;
  if (complete != content.size() && ::ftruncate(file.get(), static_cast<off_t>(complete)) != 0) {
    return SystemError("shorten", path);
  }
  std::string text(line);
  text.push_back('\n');
  if (!file.WriteAll(base::AsBytes(text)) || ::fsync(file.get()) != 0) {
    return SystemError("append to", path);
  }
  return is_new ? SyncDirectory(path_) : absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> RunDirectory::ReadLines(std::string_view name) const {
  const absl::StatusOr<base::Bytes> content = ReadFile(name);
  if (!content.ok()) {
    if (content.status().code() == absl::StatusCode::kNotFound) return std::vector<std::string>();
    return content.status();
  }
  std::vector<std::string> lines;
  std::string line;
  for (const uint8_t byte : *content) {
    if (byte == '\n') {
      lines.push_back(std::exchange(line, {}));
    } else {
      line.push_back(static_cast<char>(byte));
    }
  }
  return lines;
}

absl::Status RunDirectory::KeepLines(std::string_view name, size_t count) {
  TACET_ASSIGN_OR_RETURN(const std::vector<std::string> lines, ReadLines(name));
  if (lines.size() <= count) return absl::OkStatus();
  std::string kept;
  for (size_t i = 0; i < count; ++i) kept += lines[i] + "\n";
  return WriteFile(name, base::AsBytes(kept));
}

}  // namespace tacet::storage::file
