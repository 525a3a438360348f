// A ledger and its anchor: the first two bytes say how many bytes of the rest are the ledger.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "tacet/ledger/memory_ledger_for_test.h"
#include "tacet/ledger/privacy_ledger.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tacet;
  if (size < 2) return 0;
  const std::span<const uint8_t> rest(data + 2, size - 2);
  const size_t split = std::min<size_t>(rest.size(), data[0] | size_t{data[1]} << 8);
  ledger::testing::MemoryLedger memory{
      .ledger = base::Bytes(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(split)),
      .anchor = base::Bytes(rest.begin() + static_cast<std::ptrdiff_t>(split), rest.end())};

  const auto found = ledger::RecoverLedger(memory.ledger, memory.anchor);
  const auto snapshot = ledger::RecoverSnapshot(memory.ledger, memory.anchor);
  if (!found.ok()) return 0;
  if (!snapshot.ok() || snapshot->end.count != found->end.count) std::abort();
  // Accepted bytes are canonical, and their charges survive being opened.
  base::Bytes again = ledger::WriteLedgerHeader(found->header);
  crypto::Digest head = found->end.genesis;
  for (uint64_t number = 0; number < found->end.count; ++number) {
    const auto bytes =
        std::span(memory.ledger)
            .subspan(ledger::kLedgerHeaderBytes + number * ledger::kLedgerRecordBytes,
                     ledger::kLedgerRecordBytes);
    const auto read = ledger::ReadLedgerRecord(bytes, found->header);
    if (!read.ok()) std::abort();
    const base::Bytes record = ledger::WriteLedgerRecord(*read, head);
    head = ledger::RecordHash(record);
    again.insert(again.end(), record.begin(), record.end());
  }
  if (again.size() != found->whole_bytes || head != found->end.head ||
      !std::ranges::equal(again, std::span(memory.ledger).first(again.size()))) {
    std::abort();
  }
  const auto kinds = found->entries.size() + found->refusals.size() + found->policies.size();
  if (kinds != found->end.count || found->hashes.size() != kinds) std::abort();
  auto opened = ledger::testing::OpenMemoryLedger(memory);
  if (!opened.ok() || !ledger::RecoverLedger(memory.ledger, memory.anchor).ok()) std::abort();
  return 0;
}
