// Answer journal that a Python object keeps.
#ifndef TACET_PYTHON_BINDINGS_JOURNAL_H_
#define TACET_PYTHON_BINDINGS_JOURNAL_H_

#include <exception>
#include <memory>

#include "nanobind/nanobind.h"
#include "tacet/answer_journal.h"

namespace tacet::python {

// Calls `record(key, message)` and `find(key)` of a Python object. The library calls it on threads
// that do not hold Python's lock.
class PythonJournal {
 public:
  // `object` is None for a journal in memory. Needs the lock.
  explicit PythonJournal(nanobind::object object);

  const AnswerJournal& journal() const { return journal_; }

  // Throws what the object raised in the last call of the library, if it raised.
  void ThrowIfItRaised();

 private:
  struct State;

  std::shared_ptr<State> state_;
  AnswerJournal journal_;
};

}  // namespace tacet::python

#endif  // TACET_PYTHON_BINDINGS_JOURNAL_H_
