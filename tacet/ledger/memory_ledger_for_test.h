// Ledger in memory, for tests: holds the bytes that a file would hold, and may be open several
// times.
#ifndef TACET_LEDGER_MEMORY_LEDGER_FOR_TEST_H_
#define TACET_LEDGER_MEMORY_LEDGER_FOR_TEST_H_

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tacet/base/status.h"
#include "tacet/ledger/ledger_recovery.h"
#include "tacet/ledger/ledger_store.h"

namespace tacet::ledger::testing {

struct MemoryLedger {
  base::Bytes ledger;
  base::Bytes anchor;
  bool full = false;  // appends fail
  bool held = false;  // by somebody who does not end his turn
};

class MemoryLedgerStore final : public LedgerStore {
 public:
  MemoryLedgerStore(MemoryLedger& memory, const RecoveredLedger& found)
      : memory_(memory),
        header_(found.header),
        known_{.end = found.end, .last_time = found.last_time} {}

  absl::StatusOr<std::vector<LedgerRecord>> BeginTurn() override {
    if (memory_.held) return base::Unavailable("somebody else holds the ledger");
    const auto behind = std::span(memory_.ledger)
                            .subspan(kLedgerHeaderBytes + known_.end.count * kLedgerRecordBytes);
    TACET_ASSIGN_OR_RETURN(LedgerTail tail, RecoverTail(header_, known_, behind, memory_.anchor));
    known_ = tail.known;
    return std::move(tail.records);
  }
  absl::Status Append(std::span<const uint8_t> record, const KnownEnd& end) override {
    if (memory_.full) return base::Unavailable("the disk is full");
    memory_.ledger.insert(memory_.ledger.end(), record.begin(), record.end());
    memory_.anchor = WriteLedgerAnchor(end.end);
    known_ = end;
    return absl::OkStatus();
  }
  void EndTurn() override {}
  const KnownEnd& known() const override { return known_; }

 private:
  MemoryLedger& memory_;
  LedgerHeader header_;
  KnownEnd known_;
};

inline MemoryLedger NewMemoryLedger(const LedgerHeader& header) {
  return {.ledger = WriteLedgerHeader(header), .anchor = WriteLedgerAnchor(EmptyLedgerEnd(header))};
}

inline absl::StatusOr<OpenedLedger> OpenMemoryLedger(MemoryLedger& memory) {
  TACET_ASSIGN_OR_RETURN(RecoveredLedger found, RecoverLedger(memory.ledger, memory.anchor));
  memory.ledger.resize(found.whole_bytes);
  memory.anchor = WriteLedgerAnchor(found.end);
  auto store = std::make_unique<MemoryLedgerStore>(memory, found);
  return OpenedLedger{.found = std::move(found), .store = std::move(store)};
}

}  // namespace tacet::ledger::testing

#endif  // TACET_LEDGER_MEMORY_LEDGER_FOR_TEST_H_
