// An opener's journal in memory, for keys that live no longer than the process.
#ifndef TACET_SECAGG_MEMORY_JOURNAL_H_
#define TACET_SECAGG_MEMORY_JOURNAL_H_

#include <map>
#include <string>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/secagg/opener.h"

namespace tacet::secagg {

// Remembers what one member said in all attempts that it was asked about.
class MemoryJournal final : public OpenerJournal {
 public:
  absl::Status Record(const Attempt& attempt, std::string_view step,
                      std::span<const uint8_t> message) override {
    entries_[Key(attempt, step)].assign(message.begin(), message.end());
    return absl::OkStatus();
  }

  absl::StatusOr<base::Bytes> Find(const Attempt& attempt, std::string_view step) const override {
    const auto entry = entries_.find(Key(attempt, step));
    if (entry == entries_.end()) return base::NotFound("nothing was recorded");
    return entry->second;
  }

 private:
  static std::string Key(const Attempt& attempt, std::string_view step) {
    base::ByteWriter key;
    WriteAttempt(attempt, key);
    key.Raw(step);
    return std::string(base::AsText(key.bytes()));
  }

  std::map<std::string, base::Bytes> entries_;
};

}  // namespace tacet::secagg

#endif  // TACET_SECAGG_MEMORY_JOURNAL_H_
