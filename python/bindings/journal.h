// Answer journal that a Python object keeps.
#ifndef TACET_PYTHON_BINDINGS_JOURNAL_H_
#define TACET_PYTHON_BINDINGS_JOURNAL_H_

#include "nanobind/nanobind.h"
#include "python/bindings/python_calls.h"
#include "tacet/answer_journal.h"

namespace tacet::python {

// Calls `record(key, message)` and `find(key)` of `object`; a journal in memory where it is None.
// TypeError when it lacks one of them. `calls` keeps what it raises.
AnswerJournal JournalOf(nanobind::object object, const PythonCalls& calls);

}  // namespace tacet::python

#endif  // TACET_PYTHON_BINDINGS_JOURNAL_H_
