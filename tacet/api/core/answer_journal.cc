#include "tacet/answer_journal.h"

#include <map>
#include <memory>
#include <string>

#include "tacet/base/mutex.h"

namespace tacet {
namespace {

struct Answers {
  base::Mutex mutex;
  std::map<std::string, Bytes, std::less<>> by_key ABSL_GUARDED_BY(mutex);
};

}  // namespace

AnswerJournal MemoryJournal() {
  const auto answers = std::make_shared<Answers>();
  return {.record =
              [answers](std::string_view key, std::span<const uint8_t> message) {
                const base::MutexLock lock(answers->mutex);
                answers->by_key[std::string(key)].assign(message.begin(), message.end());
                return absl::OkStatus();
              },
          .find = [answers](std::string_view key) -> absl::StatusOr<std::optional<Bytes>> {
            const base::MutexLock lock(answers->mutex);
            const auto found = answers->by_key.find(key);
            if (found == answers->by_key.end()) return std::nullopt;
            return found->second;
          }};
}

}  // namespace tacet
