// Ledger on disk: an append-only file, and beside it an anchor with its length.
#ifndef TACET_STORAGE_FILE_LEDGER_FILE_H_
#define TACET_STORAGE_FILE_LEDGER_FILE_H_

#include <cstdint>
#include <filesystem>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/ledger/ledger_format.h"
#include "tacet/ledger/ledger_store.h"
#include "tacet/storage/file/posix_file.h"

namespace tacet::storage::file {

// The ledger at PATH is appended to and never rewritten; PATH.anchor is replaced as a whole after
// each append. Every step is synchronised to disk before the next one. A process holds the ledger
// alone (flock) while it can append. What may be found after a crash and what is damage:
// federation::RecoverLedger.
class LedgerFile final : public ledger::LedgerStore {
 public:
  // Opens for appending. A torn tail is cut off, an anchor one behind is renewed, both before this
  // returns. NotFound when there is no ledger and none is missed; DataLoss when it is damaged, or
  // its anchor is there alone and knows of charges; FailedPrecondition when another process holds
  // it. `disk` must outlive the store.
  static absl::StatusOr<ledger::OpenedLedger> Open(const std::filesystem::path& path,
                                                   DiskCalls& disk = DiskCalls::System());

  // The same, or a new ledger with this header where there is none. FailedPrecondition when the one
  // that is there differs from `header` in more than the name of the data and the time.
  static absl::StatusOr<ledger::OpenedLedger> OpenOrCreate(const std::filesystem::path& path,
                                                           const ledger::LedgerHeader& header,
                                                           DiskCalls& disk = DiskCalls::System());

  // The ledger on disk, also while another process appends to it. Changes nothing.
  static absl::StatusOr<ledger::RecoveredLedger> Read(const std::filesystem::path& path);

  absl::Status Append(std::span<const uint8_t> record, std::span<const uint8_t> anchor) override;

 private:
  LedgerFile(std::filesystem::path path, File file, uint64_t size, DiskCalls& disk)
      : path_(std::move(path)), file_(std::move(file)), size_(size), disk_(disk) {}

  static absl::StatusOr<ledger::OpenedLedger> Make(const std::filesystem::path& path,
                                                   const ledger::LedgerHeader& header,
                                                   DiskCalls& disk);
  absl::Status TryAppend(std::span<const uint8_t> record, std::span<const uint8_t> anchor);

  std::filesystem::path path_;
  File file_;
  uint64_t size_;
  DiskCalls& disk_;
  bool failed_ = false;
};

// PATH.anchor
std::filesystem::path AnchorPath(const std::filesystem::path& path);

}  // namespace tacet::storage::file

#endif  // TACET_STORAGE_FILE_LEDGER_FILE_H_
