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

  // Waits for the turn and takes it. Returns the records that others have appended since this
  // store was opened or had its last turn. Unavailable when another process keeps the turn for too
  // long: the same call may succeed later. DataLoss when the ledger is not the one that was opened.
  virtual absl::StatusOr<std::vector<LedgerRecord>> BeginTurn() = 0;

  // Appends a record, after which `end` is the end, and renews the anchors; all survive a crash
  // when this returns OK. Only within a turn. After an error every later call fails: what is on
  // disk is known again only when it is opened again.
  virtual absl::Status Append(std::span<const uint8_t> record, const KnownEnd& end) = 0;

  virtual void EndTurn() = 0;

  // End of the ledger, as this store knows it.
  virtual const KnownEnd& known() const = 0;
};

// Ledger opened for writing: torn bytes have been cut off, the anchor is up to date.
struct OpenedLedger {
  RecoveredLedger found;  // as it was before
  std::unique_ptr<LedgerStore> store;
};

}  // namespace tacet::ledger

#endif  // TACET_LEDGER_LEDGER_STORE_H_
