// Storage interface of a ledger.
#ifndef TACET_LEDGER_LEDGER_STORE_H_
#define TACET_LEDGER_LEDGER_STORE_H_

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"

#include "tacet/ledger/ledger_format.h"

namespace tacet::ledger {

// Held by one process at a time. There is no call that removes anything.
class LedgerStore {
 public:
  virtual ~LedgerStore() = default;

  // Appends a record and then renews the anchor; both survive a crash when this returns OK. After
  // an error every later call fails: what is on disk is known again only when it is opened again.
  virtual absl::Status Append(std::span<const uint8_t> record, std::span<const uint8_t> anchor) = 0;
};

// Ledger opened for writing: torn bytes have been cut off, the anchor is up to date.
struct OpenedLedger {
  RecoveredLedger found;  // as it was before
  std::unique_ptr<LedgerStore> store;
};

}  // namespace tacet::ledger

#endif  // TACET_LEDGER_LEDGER_STORE_H_
