// The server's side of secure aggregation in Python.
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nanobind/nanobind.h"
#include "nanobind/stl/optional.h"
#include "nanobind/stl/pair.h"
#include "nanobind/stl/string.h"
#include "nanobind/stl/unique_ptr.h"
#include "nanobind/stl/vector.h"
#include "python/bindings/arrays.h"
#include "python/bindings/bindings.h"
#include "python/bindings/errors.h"
#include "python/bindings/options.h"
#include "python/bindings/owned_session.h"
#include "tacet/aggregator.h"

namespace tacet::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

using Server = OwnedSession<Aggregator>;

constexpr uint64_t kMaxMember = std::numeric_limits<uint32_t>::max();

std::vector<std::optional<std::string>> SubmitEach(
    Server& server, const std::vector<std::pair<uint64_t, nb::bytes>>& uploads) {
  std::vector<Submission> submissions;
  for (const auto& [member, upload] : uploads) {
    submissions.push_back({.member = member, .upload = SpanOf(upload)});
  }
  std::vector<std::optional<std::string>> refusals;
  for (const absl::Status& status :
       server.Run([&](Aggregator& inner) { return inner.SubmitEach(submissions); })) {
    refusals.push_back(status.ok() ? std::nullopt : std::optional(std::string(status.message())));
  }
  return refusals;
}

}  // namespace

void BindAggregator(nb::module_& module) {
  nb::class_<Server>(module, "Aggregator",
                     "The server's side of one attempt: adds sealed updates without a key.")
      .def(nb::new_([](const Agreement& agreement, const AttemptId& attempt,
                       const std::vector<nb::bytes>& key_packets) {
             const std::vector<Bytes> packets = CopiesOf(key_packets);
             return std::make_unique<Server>(ValueOrThrow(
                 WithoutLock([&] { return Aggregator::Create(agreement, attempt, packets); })));
           }),
           "agreement"_a, "attempt"_a, "key_packets"_a,
           "`key_packets` are those of the members whose uploads may come. Unusable ones are\n"
           "skipped, and the first one of a member counts.")
      .def(
          "submit",
          [](Server& server, nb::handle number, const nb::bytes& upload) {
            const uint64_t member = WholeNumberOf(number, "member", kMaxMember);
            ThrowIfError(
                server.Run([&](Aggregator& inner) { return inner.Submit(member, SpanOf(upload)); }),
                "have the member send the upload of its seal again, or leave it out");
          },
          "member"_a, "upload"_a, nb::sig("def submit(self, member: int, upload: bytes) -> None"),
          "Adds the upload of a member that the transport has authenticated; read without a "
          "copy.\n\n"
          "The same upload again changes nothing. A refused upload leaves the sum unchanged.")
      .def("submit_each", &SubmitEach, "uploads"_a,
           "The same for several (member, upload) in one pass, several times as fast.\n\n"
           "Returns for each None, or the reason why it was refused.")
      .def(
          "close",
          [](Server& server) {
            const ClosedAttempt closed =
                ValueOrThrow(server.Run([](Aggregator& inner) { return inner.Close(); }));
            return std::pair(BytesOf(closed.closed_round), BytesOf(closed.roster));
          },
          "Closes the attempt. Returns the closed round, for every member, and the roster, for "
          "the\n"
          "committee only.")
      .def(
          "__len__",
          [](Server& server) {
            return server.Run([](const Aggregator& inner) { return inner.count(); });
          },
          "Uploads in the sum.");
}

}  // namespace tacet::python
