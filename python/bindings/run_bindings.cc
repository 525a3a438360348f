// Runs on disk, read and checked by the library.
#include <optional>
#include <string>
#include <vector>

#include "nanobind/nanobind.h"
#include "nanobind/stl/optional.h"
#include "nanobind/stl/string.h"
#include "nanobind/stl/vector.h"
#include "python/bindings/arrays.h"
#include "python/bindings/bindings.h"
#include "python/bindings/errors.h"
#include "python/bindings/interpreter_lock.h"
#include "tacet/base/status.h"
#include "tacet/run/answer_check.h"
#include "tacet/run/run_model.h"
#include "tacet/run/run_output.h"
#include "tacet/run/run_reader.h"

namespace tacet::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

// JSON texts of a finished run, as the files of its directory have them.
struct FinishedRun {
  std::vector<float> model;
  std::string summary;
  std::vector<std::string> rounds;
  std::optional<std::string> answers;  // of a query
};

absl::StatusOr<FinishedRun> ReadRun(const std::string& path) {
  TACET_ASSIGN_OR_RETURN(const run::RunRecord record, run::LoadRun(path));
  if (!record.finished()) return base::FailedPrecondition("the run in {} has not ended", path);
  FinishedRun found;
  TACET_ASSIGN_OR_RETURN(found.model, run::ModelOf(record));
  found.summary = record.summary->Dump();
  for (const simulation::RoundRecord& round : record.rounds) {
    found.rounds.push_back(run::RoundJson(round, record.labels).Dump());
  }
  TACET_ASSIGN_OR_RETURN(const std::optional<run::RunAnswers> answers, run::AnswersOfRun(record));
  if (answers.has_value()) found.answers = answers->answers.Dump();
  return found;
}

}  // namespace

void BindRuns(nb::module_& module) {
  module.def(
      "read_run",
      [](const std::string& path) {
        FinishedRun found = ValueOrThrow(WithoutLock([&] { return ReadRun(path); }));
        return nb::make_tuple(ArrayOf(std::move(found.model)), found.summary, found.rounds,
                              found.answers);
      },
      "path"_a,
      nb::sig("def read_run(path: str) -> tuple[numpy.typing.NDArray[numpy.float32], str, "
              "list[str], str | None]"));
}

}  // namespace tacet::python
