// Member of a live federation whose site trains in Python.
#include <atomic>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nanobind/nanobind.h"
#include "nanobind/stl/optional.h"
#include "nanobind/stl/shared_ptr.h"
#include "nanobind/stl/string.h"
#include "nanobind/stl/string_view.h"
#include "nanobind/stl/unique_ptr.h"
#include "nanobind/stl/vector.h"
#include "python/bindings/arrays.h"
#include "python/bindings/bindings.h"
#include "python/bindings/errors.h"
#include "python/bindings/options.h"
#include "python/bindings/python_calls.h"
#include "python/bindings/trained_values.h"
#include "tacet/base/status.h"
#include "tacet/member.h"

namespace tacet::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

// Where the update of one attempt is written, once: the only copy between Python's array and what
// is sealed.
class SealedMemory {
 public:
  explicit SealedMemory(std::span<float> values) : values_(values) {}

  // While it lives, the memory may be written. Both it and Write need Python's lock.
  class User {
   public:
    explicit User(SealedMemory& memory) : memory_(memory) {}
    ~User() { memory_.values_ = {}; }
    User(const User&) = delete;
    User& operator=(const User&) = delete;

   private:
    SealedMemory& memory_;
  };

  // The caller keeps the attempt waiting meanwhile.
  void Write(nb::handle update) {
    CopyUpdate(update, "the update", values_);
    for (size_t i = 0; i < values_.size(); ++i) {
      if (std::isfinite(values_[i])) continue;
      throw StatusError(base::InvalidArgument(
          "the update: value {} is {}, not a finite number; correct the training, such as by a "
          "lower learning rate, or return zeros",
          i, values_[i]));
    }
  }

 private:
  std::span<float> values_;
};

// One home of a site, unlocked. One run at a time.
class PythonMember {
 public:
  explicit PythonMember(Member member) : member_(std::move(member)) {}

  const Member& member() const { return member_; }
  nb::object InitialModel() const {
    return ModelArray(ValueOrThrow(WithoutLock([&] { return member_.InitialModel(); })));
  }

  // Whether stop() was called is forgotten: a run begins afterwards.
  void Begin() { stop_ = false; }
  void Stop() { stop_ = true; }

  // `train(model, round, units, clip_norm, memory)` writes the update into `memory`, a
  // SealedMemory, and returns true; or false when the run is to end. `tell(kind, value)` hears of
  // warnings, troubles, failures, protocol violations, progress and the end. Raises then what
  // `train` raised first.
  void Run(const nb::object& train, const nb::object& tell) const {
    const PythonCalls calls;
    absl::StatusOr<MemberEnd> end;
    {
      const PythonObject trained(train), told(tell);
      const MemberFunctions functions = FunctionsOf(trained, told, calls);
      end = WithoutLock([&] { return member_.Run(functions); });
    }
    if (end.ok()) CallFunction(tell, "end", EndOf(*end));
    calls.ThrowIfOneRaised();
    ThrowIfError(ValueOrThrow(std::move(end)).failure);
  }

 private:
  MemberFunctions FunctionsOf(const PythonObject& train, const PythonObject& told,
                              const PythonCalls& calls) const {
    // An exception of `tell` arrives after the run.
    const auto tell = [&](std::string_view kind, std::string_view text) {
      (void)calls.Run([&] { CallFunction(told.get(), kind, text); });
    };
    MemberFunctions functions;
    functions.train = [&](const MemberTask& task, std::span<float> update) {
      return Train(train, calls, task, update);
    };
    functions.stop = [this] { return stop_.load() || InterpreterExits(); };
    functions.on_warning = [tell](std::string_view text) { tell("warning", text); };
    functions.on_trouble = [tell](const absl::Status& trouble) {
      tell("trouble", base::Message(trouble));
    };
    functions.on_failure = [tell](const absl::Status& failure) {
      tell("failure", base::Message(failure));
    };
    functions.on_violation = [tell](std::string_view text) { tell("violation", text); };
    functions.on_round = [tell](std::string_view figures) { tell("round", figures); };
    return functions;
  }

  static absl::Status Train(const PythonObject& train, const PythonCalls& calls,
                            const MemberTask& task, std::span<float> update) {
    bool answered = false;
    const absl::Status called = calls.Run([&] {
      std::optional<std::vector<uint32_t>> units;
      if (task.units.has_value()) units.emplace(task.units->begin(), task.units->end());
      const auto memory = std::make_shared<SealedMemory>(update);
      const SealedMemory::User user(*memory);
      answered = nb::cast<bool>(CallFunction(train.get(), ModelArray(task.model), task.round, units,
                                             task.clip_norm, nb::cast(memory)));
    });
    if (!called.ok() || answered) return called;
    return absl::CancelledError("the member was asked to stop");
  }

  // As `tacet client run --json` prints it.
  nb::dict EndOf(const MemberEnd& end) const {
    nb::dict told;
    told["federation"] = member_.federation();
    told["member"] = member_.name();
    told["epoch"] = member_.epoch();
    told["rounds"] = end.rounds;
    told["done"] = end.done;
    told["complete"] = end.complete;
    told["stopped"] = end.stopped.empty() ? nb::none() : nb::object(nb::str(end.stopped.c_str()));
    told["charged_attempts"] = end.charged_attempts;
    told["epsilon"] = end.epsilon;
    told["charged_epsilon"] = end.charged_epsilon;
    told["ledger_epsilon"] = end.ledger_epsilon;
    told["violations"] = end.violations;
    told["run"] = end.run.string();
    return told;
  }

  Member member_;
  std::atomic<bool> stop_ = false;
};

SiteLedgerOptions LedgerOf(std::optional<std::string> folder, std::optional<std::string> anchor,
                           const std::optional<std::string>& rule,
                           const std::optional<std::string>& composition,
                           std::optional<double> budget_epsilon) {
  constexpr ChargingRule kRules[] = {ChargingRule::kAnnouncedAttempts, ChargingRule::kOwnSeals};
  constexpr Composition kCompositions[] = {Composition::kAnyEvents, Composition::kOneEvent};
  SiteLedgerOptions options{
      .folder = std::move(folder), .anchor = std::move(anchor), .budget_epsilon = budget_epsilon};
  if (rule) options.rule = WordOf<ChargingRule>(*rule, "ledger.rule", kRules);
  if (composition) {
    options.composition = WordOf<Composition>(*composition, "ledger.composition", kCompositions);
  }
  return options;
}

}  // namespace

void BindMember(nb::module_& module) {
  nb::class_<PythonMember>(module, "Member", "A site's member of a live federation.")
      .def_static(
          "open",
          [](const std::string& home, const std::string& server, const std::string& proxy,
             std::optional<std::string> policy, std::optional<std::string> passphrase_file,
             std::optional<std::string> key_file, const std::string& data,
             std::optional<uint64_t> records, std::optional<uint64_t> persons,
             std::optional<std::string> ledger, std::optional<std::string> ledger_anchor,
             std::optional<std::string> ledger_rule, std::optional<std::string> ledger_composition,
             std::optional<double> budget_epsilon) {
            const MemberOptions options{
                .home = home,
                .server = server,
                .key_file = std::move(key_file),
                .passphrase_file = std::move(passphrase_file),
                .data = data,
                .records = records,
                .persons = persons,
                .policy = std::move(policy),
                .proxy = proxy,
                .ledger = LedgerOf(std::move(ledger), std::move(ledger_anchor), ledger_rule,
                                   ledger_composition, budget_epsilon)};
            return std::make_unique<PythonMember>(
                ValueOrThrow(WithoutLock([&] { return Member::Open(options); })));
          },
          "home"_a, "server"_a, "proxy"_a, "policy"_a.none(), "passphrase_file"_a.none(),
          "key_file"_a.none(), "data"_a, "records"_a.none(), "persons"_a.none(), "ledger"_a.none(),
          "ledger_anchor"_a.none(), "ledger_rule"_a.none(), "ledger_composition"_a.none(),
          "budget_epsilon"_a.none())
      .def("begin", &PythonMember::Begin, "Forget an earlier stop().")
      .def("stop", &PythonMember::Stop, "End the run in progress.")
      .def("run", &PythonMember::Run, "train"_a, "tell"_a,
           nb::sig("def run(self, train: object, tell: object) -> None"), "Take part.")
      .def_prop_ro(
          "initial_model", &PythonMember::InitialModel,
          nb::for_getter(nb::sig("def initial_model(self) -> numpy.typing.NDArray[numpy.float32]")))
      .def_prop_ro("dimension", [](const PythonMember& m) { return m.member().dimension(); })
      .def_prop_ro("rounds", [](const PythonMember& m) { return m.member().rounds(); })
      .def_prop_ro("learning_rate",
                   [](const PythonMember& m) { return m.member().learning_rate(); })
      .def_prop_ro("run_folder",
                   [](const PythonMember& m) { return m.member().run_folder().string(); })
      .def_prop_ro("number", [](const PythonMember& m) { return m.member().number(); })
      .def_prop_ro("name", [](const PythonMember& m) { return m.member().name(); })
      .def_prop_ro("federation", [](const PythonMember& m) { return m.member().federation(); })
      .def_prop_ro("unit", [](const PythonMember& m) { return Name(m.member().unit()); });
  nb::class_<SealedMemory>(module, "SealedMemory", "The memory that a member seals.")
      .def("write", &SealedMemory::Write, "update"_a);
}

}  // namespace tacet::python
