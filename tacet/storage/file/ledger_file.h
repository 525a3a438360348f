// Ledger on disk: an append-only file, next to it an anchor with its length, and more anchors
// elsewhere.
#ifndef TACET_STORAGE_FILE_LEDGER_FILE_H_
#define TACET_STORAGE_FILE_LEDGER_FILE_H_

#include <cstdint>
#include <filesystem>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/ledger/ledger_format.h"
#include "tacet/ledger/ledger_recovery.h"
#include "tacet/ledger/ledger_store.h"
#include "tacet/storage/file/posix_file.h"

namespace tacet::storage::file {

// Files of a ledger. PATH.anchor is its anchor; `more_anchors` are copies of it in other places,
// where they do not get lost or restored together with the ledger.
struct LedgerPlace {
  // NOLINTNEXTLINE(google-explicit-constructor): most ledgers have one anchor
  LedgerPlace(std::filesystem::path ledger, std::vector<std::filesystem::path> anchors = {})
      : path(std::move(ledger)), more_anchors(std::move(anchors)) {}

  std::filesystem::path path;
  std::vector<std::filesystem::path> more_anchors;
  double max_wait_seconds = 60;  // for other processes to end their turns
};

// The ledger is appended to and never rewritten; its anchors are replaced as a whole after each
// append. Every step is synchronised to disk before the next one. Several processes may have it
// open; a lock of the file (flock) is held while one opens it or has its turn. What may be found
// after a crash and what is damage: ledger::RecoverLedger.
class LedgerFile final : public ledger::LedgerStore {
 public:
  // Opens for appending. A torn tail is cut off, anchors that are behind are renewed, both before
  // this returns. NotFound when there is no ledger and none is missed; DataLoss when it is damaged,
  // or one of its anchors knows of records that are not there; Unavailable when another process
  // keeps it locked. `disk` must outlive the store.
  static absl::StatusOr<ledger::OpenedLedger> Open(const LedgerPlace& place,
                                                   DiskCalls& disk = DiskCalls::System());

  // The same, or a new ledger with this header where there is none. FailedPrecondition when the one
  // that is there has other terms than `header`: population, identity and time may differ.
  static absl::StatusOr<ledger::OpenedLedger> OpenOrCreate(const LedgerPlace& place,
                                                           const ledger::LedgerHeader& header,
                                                           DiskCalls& disk = DiskCalls::System());

  // The ledger on disk, also while others append to it. Changes nothing.
  static absl::StatusOr<ledger::RecoveredLedger> Read(const std::filesystem::path& path);

  absl::StatusOr<std::vector<ledger::LedgerRecord>> BeginTurn() override;
  absl::Status Append(std::span<const uint8_t> record, const ledger::KnownEnd& end) override;
  void EndTurn() override;
  const ledger::KnownEnd& known() const override { return known_; }

 private:
  LedgerFile(LedgerPlace place, File file, const ledger::RecoveredLedger& found, DiskCalls& disk)
      : place_(std::move(place)),
        file_(std::move(file)),
        header_(found.header),
        known_{.end = found.end, .last_time = found.last_time},
        disk_(disk) {}

  static absl::StatusOr<ledger::OpenedLedger> Make(const LedgerPlace& place,
                                                   const ledger::LedgerHeader& header,
                                                   DiskCalls& disk);
  absl::StatusOr<std::vector<ledger::LedgerRecord>> ReadOthers();
  absl::Status CheckStillThere() const;
  static uint64_t BytesOf(const ledger::LedgerAnchor& end) {
    return ledger::kLedgerHeaderBytes + end.count * ledger::kLedgerRecordBytes;
  }
  uint64_t known_bytes() const { return BytesOf(known_.end); }

  LedgerPlace place_;
  File file_;
  ledger::LedgerHeader header_;
  ledger::KnownEnd known_;
  DiskCalls& disk_;
};

// Deletes a ledger that is a copy of charges in another one, with its anchor.
absl::Status DeleteCopy(const std::filesystem::path& path);

// PATH.anchor
std::filesystem::path AnchorPath(const std::filesystem::path& path);

}  // namespace tacet::storage::file

#endif  // TACET_STORAGE_FILE_LEDGER_FILE_H_
