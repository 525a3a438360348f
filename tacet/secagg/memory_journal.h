// A committee member's journal in memory, for keys that live no longer than the process.
#ifndef TACET_SECAGG_MEMORY_JOURNAL_H_
#define TACET_SECAGG_MEMORY_JOURNAL_H_

#include <map>
#include <string>

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/secagg/attempt.h"
#include "tacet/secagg/journal.h"

namespace tacet::secagg {

// Remembers what one member said in all attempts that it was asked about.
class MemoryJournal final : public Journal {
 public:
  absl::Status Record(const Attempt& attempt, JournalStep step,
                      std::span<const uint8_t> message) override {
    entries_[Key(attempt, step)].assign(message.begin(), message.end());
    return absl::OkStatus();
  }

  absl::StatusOr<base::Bytes> Find(const Attempt& attempt, JournalStep step) const override {
    const auto entry = entries_.find(Key(attempt, step));
    if (entry == entries_.end()) return base::NotFound("nothing was recorded");
    return entry->second;
  }

 private:
  static std::string Key(const Attempt& attempt, JournalStep step) {
    base::ByteWriter key;
    WriteAttempt(attempt, key);
    key.U8(static_cast<uint8_t>(step));
    return std::string(base::AsText(key.bytes()));
  }

  std::map<std::string, base::Bytes> entries_;
};

}  // namespace tacet::secagg

#endif  // TACET_SECAGG_MEMORY_JOURNAL_H_
