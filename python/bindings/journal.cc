#include "python/bindings/journal.h"

#include <optional>
#include <string_view>
#include <utility>

#include "nanobind/stl/string_view.h"
#include "python/bindings/arrays.h"

namespace tacet::python {

namespace nb = nanobind;

AnswerJournal JournalOf(nb::object object, const PythonCalls& calls) {
  if (object.is_none()) return MemoryJournal();
  for (const char* const name : {"record", "find"}) {
    if (!nb::hasattr(object, name)) {
      throw nb::type_error("a journal needs the methods record(key, message) and find(key)");
    }
  }
  const PythonObject kept(std::move(object));
  AnswerJournal journal;
  journal.record = [kept, calls](std::string_view key, std::span<const uint8_t> message) {
    return calls.Run([&] { CallFunction(kept.get().attr("record"), key, BytesOf(message)); });
  };
  journal.find = [kept, calls](std::string_view key) -> absl::StatusOr<std::optional<Bytes>> {
    std::optional<Bytes> found;
    const absl::Status done = calls.Run([&] {
      const nb::object answer = CallFunction(kept.get().attr("find"), key);
      if (answer.is_none()) return;
      if (!nb::isinstance<nb::bytes>(answer)) {
        throw nb::type_error(
            "the journal's find(key) returned neither bytes nor None: return the recorded message, "
            "or None");
      }
      found = CopyOf(nb::borrow<nb::bytes>(answer));
    });
    if (!done.ok()) return done;
    return found;
  };
  return journal;
}

}  // namespace tacet::python
