// Directory of a run on disk.
#ifndef TACET_STORAGE_FILE_RUN_DIRECTORY_H_
#define TACET_STORAGE_FILE_RUN_DIRECTORY_H_

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/simulation/run_store.h"
#include "tacet/storage/file/file_lock.h"

namespace tacet::storage::file {

// Files: `attempts` (a line "epoch round attempt" for each attempt begun), `checkpoint`, `ledger`
// and `ledger.anchor` (ledger_file.h), `data.key` and `data.digest` (data_key.h), `digest-0.key`
// (digest_key_file.h), and whatever the program adds. One process at a time: the directory is
// locked while it is open. Files are replaced as a whole (written, synchronised, renamed) or
// appended to by whole synchronised lines; a line cut short by a crash is dropped on reading.
class RunDirectory final : public simulation::RunStore {
 public:
  // A new directory. AlreadyExists when it exists and is not empty.
  static absl::StatusOr<std::unique_ptr<RunDirectory>> Create(const std::filesystem::path& path);
  // One that a run was begun in. NotFound when it is none.
  static absl::StatusOr<std::unique_ptr<RunDirectory>> Open(const std::filesystem::path& path);
  // Whatever it holds.
  static absl::StatusOr<std::unique_ptr<RunDirectory>> OpenOrMake(
      const std::filesystem::path& path);
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  absl::Status RecordAttempt(const secagg::AttemptNumber& attempt) override;
  absl::StatusOr<std::vector<secagg::AttemptNumber>> Attempts() const override;
  absl::Status SaveCheckpoint(std::span<const uint8_t> checkpoint) override;
  absl::StatusOr<base::Bytes> LoadCheckpoint() const override;
  absl::Status CheckData(const crypto::Digest& data) override;
  absl::StatusOr<secagg::DigestKey> DigestKey(crypto::Entropy& entropy) override;
  absl::StatusOr<ledger::OpenedLedger> OpenLedger(const ledger::LedgerHeader& header) override;

  // Keeps a live epoch's key.
  absl::Status KeepDigestKey(uint32_t epoch, const secagg::DigestKey& key);

  absl::Status WriteFile(std::string_view name, std::span<const uint8_t> content);
  // NotFound when there is none.
  absl::StatusOr<base::Bytes> ReadFile(std::string_view name) const;
  // `line` has no line break.
  absl::Status AppendLine(std::string_view name, std::string_view line);
  // The complete lines of a file; none when there is no file.
  absl::StatusOr<std::vector<std::string>> ReadLines(std::string_view name) const;
  // Drops everything after the first `count` lines.
  absl::Status KeepLines(std::string_view name, size_t count);

  const std::filesystem::path& path() const { return path_; }

 private:
  RunDirectory(std::filesystem::path path, FileLock lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}
  static absl::StatusOr<std::unique_ptr<RunDirectory>> Lock(const std::filesystem::path& path);

  std::filesystem::path path_;
  FileLock lock_;
};

// A line of `attempts`: DataLoss unless it is "epoch round attempt".
absl::StatusOr<secagg::AttemptNumber> ParseAttempt(std::string_view line);

}  // namespace tacet::storage::file

#endif  // TACET_STORAGE_FILE_RUN_DIRECTORY_H_
