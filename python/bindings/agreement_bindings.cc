// Agreement of a federation in Python.
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "fmt/core.h"

#include "nanobind/nanobind.h"
#include "nanobind/stl/string.h"
#include "nanobind/stl/vector.h"
#include "python/bindings/arrays.h"
#include "python/bindings/bindings.h"
#include "python/bindings/errors.h"
#include "python/bindings/interpreter_lock.h"
#include "python/bindings/options.h"
#include "tacet/agreement.h"
#include "tacet/attempt_id.h"
#include "tacet/cohort_draw.h"

namespace tacet::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

void BindAttemptId(nb::module_& module) {
  nb::class_<AttemptId>(module, "AttemptId", "Identity of an attempt at a round.")
      .def(
          "__init__",
          [](AttemptId* attempt, nb::handle round, nb::handle number,
             const nb::bytes& model_digest) {
            constexpr uint32_t kMax = std::numeric_limits<uint32_t>::max();
            new (attempt)
                AttemptId{.round = static_cast<uint32_t>(WholeNumberOf(round, "round", kMax)),
                          .attempt = static_cast<uint32_t>(WholeNumberOf(number, "attempt", kMax)),
                          .model_digest = FixedBytesOf<32>(model_digest, "model_digest")};
          },
          "round"_a, "attempt"_a = 0, nb::kw_only(),
          "model_digest"_a =
              nb::bytes("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 32),
          nb::sig("def __init__(self, round: int, attempt: int = 0, *, model_digest: bytes = ...) "
                  "-> None"))
      .def_ro("round", &AttemptId::round)
      .def_ro("attempt", &AttemptId::attempt)
      .def_prop_ro("model_digest",
                   [](const AttemptId& attempt) { return BytesOf(attempt.model_digest); })
      .def("__repr__", [](const AttemptId& attempt) {
        return fmt::format("<AttemptId round {}, attempt {}>", attempt.round, attempt.attempt);
      });
}

}  // namespace

void BindAgreement(nb::module_& module) {
  BindAttemptId(module);
  nb::class_<Agreement>(module, "Agreement", "Options, members and committee, checked together.")
      .def_static(
          "create",
          [](const Keywords& federation, uint64_t dimension, std::vector<MemberPublicKey> members,
             std::vector<uint64_t> committee, uint32_t epoch, uint32_t spare_attempts,
             std::string context) {
            const AgreementOptions options{.federation = FederationOptionsOf(federation),
                                           .dimension = dimension,
                                           .members = std::move(members),
                                           .committee = std::move(committee),
                                           .epoch = epoch,
                                           .spare_attempts = spare_attempts,
                                           .context = std::move(context)};
            return ValueOrThrow(WithoutLock([&] { return Agreement::Create(options); }));
          },
          "federation"_a, "dimension"_a, "members"_a, "committee"_a, "epoch"_a, "spare_attempts"_a,
          "context"_a)
      .def_prop_ro(
          "federation",
          [](const Agreement& agreement) { return KeywordsOf(agreement.options().federation); },
          nb::sig("def federation(self) -> dict[str, object]"),
          "The options of the federation with every default filled in.")
      .def_prop_ro("dimension",
                   [](const Agreement& agreement) { return agreement.options().dimension; })
      .def_prop_ro("members",
                   [](const Agreement& agreement) { return agreement.options().members; })
      .def_prop_ro(
          "committee", [](const Agreement& agreement) { return agreement.options().committee; },
          "Numbers of the members on the committee, by seat.")
      .def_prop_ro("epoch", [](const Agreement& agreement) { return agreement.options().epoch; })
      .def_prop_ro("context",
                   [](const Agreement& agreement) { return agreement.options().context; })
      .def_prop_ro(
          "digest", [](const Agreement& agreement) { return BytesOf(agreement.digest()); },
          "SHA-256 over all of it, 32 bytes; members compare it before the first round.")
      .def_prop_ro("min_participants", &Agreement::min_participants)
      .def_prop_ro("max_participants", &Agreement::max_participants)
      .def_prop_ro("votes_needed", &Agreement::votes_needed)
      .def_prop_ro("attempt_budget", &Agreement::attempt_budget,
                   "Attempts that are permitted in all.")
      .def_prop_ro("upload_bytes", &Agreement::upload_bytes, "Length of every upload in bytes.")
      .def_prop_ro("max_closed_round_bytes", &Agreement::max_closed_round_bytes)
      .def(
          "check_key_packet",
          [](const Agreement& agreement, nb::handle number, const nb::bytes& packet) {
            constexpr uint32_t kMax = std::numeric_limits<uint32_t>::max();
            const uint64_t member = WholeNumberOf(number, "member", kMax);
            ThrowIfError(agreement.CheckKeyPacket(member, SpanOf(packet)),
                         "have the member send its Client.key_packet again, or leave it out");
          },
          "member"_a, "packet"_a,
          nb::sig("def check_key_packet(self, member: int, packet: bytes) -> None"),
          "Raises unless this is a usable Client.key_packet of the member.\n\n"
          "It takes no key: the server calls it before it keeps a packet, and takes no upload of "
          "a\n"
          "member without one. No seat votes for a sum with such an upload.")
      .def("sum_stddev", &Agreement::sum_stddev, "participants"_a,
           "Standard deviation of the noise in one value of the sum of this many uploads.")
      .def(
          "guarantee_after",
          [](const Agreement& agreement, uint64_t attempts) {
            return ValueOrThrow(WithoutLock([&] { return agreement.GuaranteeAfter(attempts); }));
          },
          "attempts"_a, "Guarantee after this many attempts in which something was sealed.")
      .def("draw_cohort", &DrawCohort,
           "Members of the next attempt's cohort, increasing. Never store or log them.")
      .def("toss_own_coin", &TossOwnCoin,
           "A client's own coin where sampling is \"poisson\", else True.")
      .def("__repr__", [](const Agreement& agreement) {
        return fmt::format("<Agreement of {} members, {} values, epoch {}>",
                           agreement.options().members.size(), agreement.options().dimension,
                           agreement.options().epoch);
      });
}

}  // namespace tacet::python
