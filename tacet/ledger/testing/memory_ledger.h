// Ledger in memory, for tests: holds the bytes that a file would hold.
#ifndef TACET_LEDGER_TESTING_MEMORY_LEDGER_H_
#define TACET_LEDGER_TESTING_MEMORY_LEDGER_H_

#include <memory>
#include <span>

#include "tacet/base/status.h"
#include "tacet/ledger/ledger_format.h"
#include "tacet/ledger/ledger_store.h"

namespace tacet::ledger::testing {

struct MemoryLedger {
  base::Bytes ledger;
  base::Bytes anchor;
  bool broken = false;  // appends fail
};

class MemoryLedgerStore final : public LedgerStore {
 public:
  explicit MemoryLedgerStore(MemoryLedger& memory) : memory_(memory) {}
  absl::Status Append(std::span<const uint8_t> record, std::span<const uint8_t> anchor) override {
    if (memory_.broken) return base::Unavailable("the disk is full");
    memory_.ledger.insert(memory_.ledger.end(), record.begin(), record.end());
    memory_.anchor.assign(anchor.begin(), anchor.end());
    return absl::OkStatus();
  }

 private:
  MemoryLedger& memory_;
};

inline MemoryLedger NewMemoryLedger(const LedgerHeader& header) {
  const crypto::Digest genesis = LedgerGenesis(header);
  return {.ledger = WriteLedgerHeader(header),
          .anchor = WriteLedgerAnchor({.genesis = genesis, .count = 0, .head = genesis})};
}

inline absl::StatusOr<OpenedLedger> OpenMemoryLedger(MemoryLedger& memory) {
  TACET_ASSIGN_OR_RETURN(RecoveredLedger found, RecoverLedger(memory.ledger, memory.anchor));
  memory.ledger.resize(found.whole_bytes);
  memory.anchor = WriteLedgerAnchor(found.end);
  return OpenedLedger{.found = std::move(found),
                      .store = std::make_unique<MemoryLedgerStore>(memory)};
}

}  // namespace tacet::ledger::testing

#endif  // TACET_LEDGER_TESTING_MEMORY_LEDGER_H_
