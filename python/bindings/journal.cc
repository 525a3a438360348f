#include "python/bindings/journal.h"

#include <optional>
#include <string>
#include <utility>

#include <cxxabi.h>
#include <unistd.h>

#include "nanobind/stl/string_view.h"
#include "python/bindings/arrays.h"
#include "python/bindings/interpreter_lock.h"

namespace tacet::python {
namespace {

namespace nb = nanobind;

}  // namespace

struct PythonJournal::State {
  nb::object object;
  std::exception_ptr raised;

  // Runs `call` under Python's lock. What Python raises is kept for the thread that called the
  // library; the library sees an error and answers nothing.
  template <typename Call>
  absl::Status Run(const Call& call) {
    const HeldLock held;
    absl::Status done = absl::OkStatus();
    CallOrWaitForExit([&] {
      try {
        call();
      } catch (const nb::python_error&) {
        raised = std::current_exception();
        done = absl::UnknownError("the journal raised an exception");
      } catch (const nb::cast_error&) {
        done = absl::InvalidArgumentError(
            "the journal's find() returned something other than bytes or None");
      }
    });
    return done;
  }
};

PythonJournal::PythonJournal(nb::object object)
    : state_(new State{.object = std::move(object), .raised = nullptr}, [](State* state) {
        // The last copy may go away on any thread.
        const HeldLock held;
        delete state;
      }) {
  if (state_->object.is_none()) {
    journal_ = MemoryJournal();
    return;
  }
  for (const char* const name : {"record", "find"}) {
    if (!nb::hasattr(state_->object, name)) {
      throw nb::type_error("a journal needs the methods record(key, message) and find(key)");
    }
  }
  journal_.record = [state = state_](std::string_view key, std::span<const uint8_t> message) {
    return state->Run([&] { state->object.attr("record")(key, BytesOf(message)); });
  };
  journal_.find = [state = state_](std::string_view key) -> absl::StatusOr<std::optional<Bytes>> {
    std::optional<Bytes> found;
    const absl::Status done = state->Run([&] {
      const nb::object answer = state->object.attr("find")(key);
      if (!answer.is_none()) found = CopyOf(nb::cast<nb::bytes>(answer));
    });
    if (!done.ok()) return done;
    return found;
  };
}

void PythonJournal::ThrowIfItRaised() {
  if (state_->raised) std::rethrow_exception(std::exchange(state_->raised, nullptr));
}

}  // namespace tacet::python
