// Ledger without a store, for charges that end with the process.
#ifndef TACET_LEDGER_LEDGER_IN_MEMORY_H_
#define TACET_LEDGER_LEDGER_IN_MEMORY_H_

#include "tacet/ledger/ledger_store.h"

namespace tacet::ledger {

// An empty ledger with this header. For synthetic data alone: real data need a ledger that a crash
// does not forget.
OpenedLedger LedgerInMemory(const LedgerHeader& header);

}  // namespace tacet::ledger

#endif  // TACET_LEDGER_LEDGER_IN_MEMORY_H_
