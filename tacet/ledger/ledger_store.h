// Storage interface of a ledger.
#ifndef TACET_LEDGER_LEDGER_STORE_H_
#define TACET_LEDGER_LEDGER_STORE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/ledger/ledger_recovery.h"

namespace tacet::ledger {

// May be open in several processes at once. They append in turns: one holds the turn at a time, and
// begins it by reading what the others have appended. There is no call that removes anything.
class LedgerStore {
 public:
  virtual ~LedgerStore() = default;

  // Waits for the turn and takes it. Returns the records that are behind the last one that this
  // store knows: others have appended them since it was opened or had its last turn, or it did so
  // itself in an Append that failed. Unavailable when another process keeps the turn for too long
  // or the disk fails: the same call may succeed later. DataLoss when the ledger is not the one
  // that was opened.
  virtual absl::StatusOr<std::vector<LedgerRecord>> BeginTurn() = 0;

  // Appends a record, after which `end` is the end, and renews the anchors; all survive a crash
  // when this returns OK. Only within a turn, which an error ends: the record may be there or not,
  // and the next turn finds out. Unavailable when the disk fails.
  virtual absl::Status Append(std::span<const uint8_t> record, const KnownEnd& end) = 0;

  virtual void EndTurn() = 0;

  // End of the ledger, as this store knows it.
  virtual const KnownEnd& known() const = 0;
};

// A store's turn, from a BeginTurn that succeeded to the end of this object.
class LedgerTurn {
 public:
  explicit LedgerTurn(LedgerStore& store) : store_(store) {}
  ~LedgerTurn() { store_.EndTurn(); }
  LedgerTurn(const LedgerTurn&) = delete;
  LedgerTurn& operator=(const LedgerTurn&) = delete;

 private:
  LedgerStore& store_;
};

// Ledger opened for writing: torn bytes have been cut off, the anchor is up to date.
struct OpenedLedger {
  RecoveredLedger found;  // as it was before
  std::unique_ptr<LedgerStore> store;
};

}  // namespace tacet::ledger

#endif  // TACET_LEDGER_LEDGER_STORE_H_
