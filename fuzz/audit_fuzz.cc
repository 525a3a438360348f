// Files of `tacet audit`: their layout, the facts in them, and the consistency of the facts. The
// accountants are not run: facts that pass the checks describe a federation that can be planned.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tacet/audit/audit_file.h"
#include "tacet/audit/audit_record.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tacet;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto file = audit::ReadAuditFile(text);
  if (!file.ok()) return 0;
  if (!audit::CompareRecords(file->record, file->record).ok()) std::abort();
  (void)audit::CheckSignature(*file);
  auto facts = audit::FactsOfRecord(file->record);
  if (!facts.ok()) return 0;
  const uint64_t rounds = facts->rounds.size();
  const auto run = audit::CheckFacts(*std::move(facts));
  if (!run.ok()) return 0;
  if (run->charges() == 0 || run->complete_rounds() > rounds) std::abort();
  if (run->terms.size() != run->agreements.size()) std::abort();
  return 0;
}
