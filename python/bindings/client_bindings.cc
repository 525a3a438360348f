// A client's side of secure aggregation in Python: sealing, committee seat, decryption.
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "fmt/core.h"

#include "nanobind/nanobind.h"
#include "nanobind/stl/optional.h"
#include "nanobind/stl/string.h"
#include "nanobind/stl/unique_ptr.h"
#include "nanobind/stl/vector.h"
#include "python/bindings/arrays.h"
#include "python/bindings/bindings.h"
#include "python/bindings/errors.h"
#include "python/bindings/journal.h"
#include "python/bindings/options.h"
#include "python/bindings/owned_session.h"
#include "tacet/client.h"

namespace tacet::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

// The result of Client.seal. The upload is made a Python object once and sent without a copy.
struct Sealed {
  nb::bytes upload;
  nb::bytes nonce;
  ClipReport clip;
};

// The result of Client.decrypt, its values as arrays that Python owns.
struct Decrypted {
  uint32_t participants = 0;
  nb::object sum;
  nb::object average;
  std::vector<uint32_t> wrong_seats;
};

// For an attempt's messages that did not pass the checks.
constexpr std::string_view kMessageRemedy =
    "hand on the messages of this attempt unchanged, or run another attempt";

class Seat {
 public:
  Seat(CommitteeSeat seat, PythonCalls calls)
      : calls_(std::move(calls)), session_(std::move(seat)) {}

  nb::bytes Vote(const nb::bytes& closed_round, const nb::bytes& roster) {
    return Answer(
        [&](CommitteeSeat& seat) { return seat.Vote(SpanOf(closed_round), SpanOf(roster)); });
  }

  nb::bytes Unmask(const std::vector<nb::bytes>& votes) {
    const std::vector<Bytes> copies = CopiesOf(votes);
    return Answer([&](CommitteeSeat& seat) { return seat.Unmask(copies); });
  }

 private:
  template <typename Call>
  nb::bytes Answer(const Call& call) {
    const absl::StatusOr<Bytes> answer = session_.Run(call);
    calls_.ThrowIfOneRaised();
    ThrowIfError(answer.status(), kMessageRemedy);
    return BytesOf(*answer);
  }

  PythonCalls calls_;
  OwnedSession<CommitteeSeat> session_;
};

std::unique_ptr<Seat> SeatOf(const Client& client, const AttemptId& attempt,
                             const std::vector<nb::bytes>& key_packets,
                             const std::optional<nb::bytes>& nonce, bool acknowledged,
                             nb::object object) {
  OwnUpload own{.nonce = std::nullopt, .acknowledged = acknowledged};
  if (nonce) own.nonce = FixedBytesOf<16>(*nonce, "nonce");
  const PythonCalls calls;
  const AnswerJournal journal = JournalOf(std::move(object), calls);
  const std::vector<Bytes> packets = CopiesOf(key_packets);
  absl::StatusOr<CommitteeSeat> seat =
      WithoutLock([&] { return client.Seat(attempt, packets, own, journal); });
  calls.ThrowIfOneRaised();
  ThrowIfError(seat.status());
  return std::make_unique<Seat>(*std::move(seat), calls);
}

Sealed Seal(const Client& client, const AttemptId& attempt, nb::handle update) {
  const std::vector<float> own = FloatsOf(update, "update");
  const SealedUpdate sealed = ValueOrThrow(WithoutLock([&] { return client.Seal(attempt, own); }));
  return {.upload = BytesOf(sealed.upload), .nonce = BytesOf(sealed.nonce), .clip = sealed.clip};
}

void BindResults(nb::module_& module) {
  nb::class_<Sealed>(module, "SealedUpdate",
                     "An upload, and a report about the update that never leaves the client.")
      .def_ro("upload", &Sealed::upload, "For the server: Agreement.upload_bytes bytes.")
      .def_ro("nonce", &Sealed::nonce, "Names this seal, 16 bytes.")
      .def_prop_ro(
          "norm", [](const Sealed& sealed) { return sealed.clip.norm; },
          "L2 norm before clipping; 0 for an update that is not finite.")
      .def_prop_ro(
          "finite", [](const Sealed& sealed) { return sealed.clip.finite; },
          "False: a value was NaN or infinite, and zeros were sealed in its place.")
      .def_prop_ro(
          "clipped", [](const Sealed& sealed) { return sealed.clip.clipped; },
          "True when the clip norm made the update shorter.")
      .def(
          "__reduce__",
          [](const Sealed& /*sealed*/) -> nb::object {
            throw nb::type_error(
                "a SealedUpdate is not pickled, since its norm depends on the data: store its "
                "upload and its nonce");
          },
          nb::sig("def __reduce__(self) -> typing.NoReturn"))
      .def("__repr__", [](const Sealed& sealed) {
        return fmt::format("<SealedUpdate of {} bytes>", sealed.upload.size());
      });

  nb::class_<Decrypted>(module, "Aggregate", "The decrypted sum of an attempt.")
      .def_ro("participants", &Decrypted::participants, "Number of uploads in the sum.")
      .def_ro("sum", &Decrypted::sum,
              nb::for_getter(nb::sig("def sum(self) -> numpy.typing.NDArray[numpy.float64]")),
              "Sum of the clipped updates plus noise: float64 of shape (d,).")
      .def_ro("average", &Decrypted::average,
              nb::for_getter(nb::sig("def average(self) -> numpy.typing.NDArray[numpy.float64]")),
              "The sum over its public divisor: float64 of shape (d,).")
      .def_ro("wrong_seats", &Decrypted::wrong_seats,
              "Seats whose unmask shares were wrong; the sum was recovered without them.")
      .def("__repr__", [](const Decrypted& aggregate) {
        return fmt::format("<Aggregate of {} uploads>", aggregate.participants);
      });
}

}  // namespace

void BindClient(nb::module_& module) {
  BindResults(module);
  nb::class_<Seat>(module, "CommitteeSeat",
                   "A committee member's side of one attempt: one vote, then one unmask share.")
      .def("vote", &Seat::Vote, "closed_round"_a, "roster"_a,
           "Checks both messages; returns this seat's vote, which goes to every member.")
      .def("unmask", &Seat::Unmask, "votes"_a,
           "The unmask share of the sum that this seat voted for.");

  nb::class_<Client>(module, "Client", "One member of a federation with its keys.")
      .def(
          "__init__",
          [](Client* client, const Agreement& agreement, nb::handle number, const MemberKey& key,
             const EpochKey& epoch_key) {
            const uint64_t member =
                WholeNumberOf(number, "member", std::numeric_limits<uint32_t>::max());
            new (client) Client(ValueOrThrow(
                WithoutLock([&] { return Client::Create(agreement, member, key, epoch_key); })));
          },
          "agreement"_a, "member"_a, "key"_a, "epoch_key"_a,
          nb::sig("def __init__(self, agreement: Agreement, member: int, key: MemberKey, "
                  "epoch_key: EpochKey) -> None"),
          "`member` is its number in the agreement.")
      .def(
          "model_digest",
          [](const Client& client, nb::handle model) {
            const std::vector<float> values = FloatsOf(model, "model");
            return BytesOf(WithoutLock([&] { return client.ModelDigest(values); }));
          },
          "model"_a, nb::sig("def model_digest(self, model: object) -> bytes"),
          "Digest of a model's d values for AttemptId: 32 bytes, the same at all clients.\n\n"
          "HMAC-SHA256 of the values as little-endian float32 under a key that the server lacks.")
      .def_prop_ro(
          "key_packet", [](const Client& client) { return BytesOf(client.key_packet()); },
          "For every committee seat, once an epoch, before this client's first upload.\n\n"
          "It is the same each time, also from another Client of the same keys.")
      .def("seal", &Seal, "attempt"_a, "update"_a.none(),
           nb::sig("def seal(self, attempt: AttemptId, update: object) -> SealedUpdate"),
           "Clips, noises, quantises, encrypts and authenticates an update.\n\n"
           "`update` has shape (d,), float32 or float64, in units of the update; it is copied.\n"
           "Every attempt costs privacy: charge it before this call, and seal once an attempt.\n"
           "An update with a NaN or an infinity is sealed as zeros, and reported in `finite`.")
      .def("seat", &SeatOf, "attempt"_a, "key_packets"_a, nb::kw_only(), "nonce"_a = nb::none(),
           "acknowledged"_a = false, "journal"_a = nb::none(),
           nb::sig(
               "def seat(self, attempt: AttemptId, key_packets: collections.abc.Sequence[bytes], "
               "*, nonce: bytes | None = None, acknowledged: bool = False, "
               "journal: object = None) -> CommitteeSeat"),
           "The committee's work in one attempt.\n\n"
           "`key_packets` are those of the clients whose uploads may be in the sum.\n"
           "`nonce` is that of this client's own SealedUpdate. `acknowledged` is true once the\n"
           "server has acknowledged it: a sum without it is refused then. `journal` has the\n"
           "methods record(key, message) and find(key). None is a journal in memory, for keys\n"
           "that live no longer than the process.")
      .def(
          "decrypt",
          [](const Client& client, const AttemptId& attempt, const nb::bytes& closed_round,
             const std::vector<nb::bytes>& votes, const std::vector<nb::bytes>& unmask_shares) {
            const DecryptionMessages messages{.closed_round = CopyOf(closed_round),
                                              .votes = CopiesOf(votes),
                                              .unmask_shares = CopiesOf(unmask_shares)};
            Aggregate aggregate = ValueOrThrow(
                WithoutLock([&] { return client.Decrypt(attempt, messages); }), kMessageRemedy);
            return Decrypted{.participants = aggregate.participants,
                             .sum = nb::cast(ArrayOf(std::move(aggregate.sum))),
                             .average = nb::cast(ArrayOf(std::move(aggregate.average))),
                             .wrong_seats = std::move(aggregate.wrong_seats)};
          },
          "attempt"_a, "closed_round"_a, "votes"_a, "unmask_shares"_a,
          "The aggregate, after all checks.\n\n"
          "Raises UnavailableError when more votes or shares may help, and DataLossError when\n"
          "the sum is damaged or manipulated.");
}

}  // namespace tacet::python
