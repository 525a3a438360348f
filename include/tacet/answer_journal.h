// Journal in which a committee member records each answer before it gives it, and the key packets
// that it takes.
#ifndef TACET_ANSWER_JOURNAL_H_
#define TACET_ANSWER_JOURNAL_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/types.h"

namespace tacet {

// The two functions reach one store. After a crash a member repeats an answer in place of answering
// a second question about one attempt, so the store must live as long as the member's keys: never
// delete it or restore it from a backup within an epoch. The first key packet of a member that a
// seat votes for counts throughout the epoch, and the journal names it.
//
// `key` names the entry: at most 200 lower-case letters, digits and hyphens, different for every
// agreement, attempt and step. It can be the name of a file or of a row.
struct AnswerJournal {
  // Stores `message` under a new key. Durable when it returns OK.
  std::function<absl::Status(std::string_view key, std::span<const uint8_t> message)> record = {};
  // The message stored under `key`; nothing when there is none.
  std::function<absl::StatusOr<std::optional<Bytes>>(std::string_view key)> find = {};
};

// A journal in memory, for keys that live no longer than the process. Copies share their content.
// Thread-safe.
AnswerJournal MemoryJournal();

}  // namespace tacet

#endif  // TACET_ANSWER_JOURNAL_H_
