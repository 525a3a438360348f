// Member of a live federation whose site trains in Python.
#include <atomic>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fmt/core.h"

#include "nanobind/nanobind.h"
#include "nanobind/stl/optional.h"
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
#include "tacet/config/agreed_query.h"
#include "tacet/config/site_config.h"
#include "tacet/crypto/random.h"
#include "tacet/site/site_data.h"
#include "tacet/site/site_member.h"
#include "tacet/storage/file/unlock_source.h"
#include "tacet/trainer/function_learner.h"
#include "tacet/trainer/learner_updates.h"

namespace tacet::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

using site::SiteMember;
using site::SiteMemberEnd;
using site::SiteTraining;

struct SiteOptions {
  std::string data;
  uint64_t records = 0;
  uint64_t persons = 0;
  config::LedgerConfig ledger;
};

absl::StatusOr<uint64_t> UnitsOf(accounting::Unit unit, const SiteOptions& site) {
  const bool record = unit == accounting::Unit::kRecord;
  const uint64_t units = record ? site.records : site.persons;
  if (units != 0) return units;
  return base::InvalidArgument("{} is 0: with unit {} it is the number of this site's {}",
                               record ? "records" : "persons", accounting::UnitName(unit),
                               record ? "records" : "persons");
}

// What `tacet client run` loads, but for the learner, which is the caller's code.
absl::StatusOr<SiteTraining> TrainingOf(const SiteMember& member, const SiteOptions& site) {
  SiteTraining training;
  TACET_ASSIGN_OR_RETURN(training.config,
                         config::SiteConfigOf(member.membership().manifest.annex(), std::nullopt));
  if (config::IsQuery(training.config)) {
    return base::InvalidArgument(
        "the agreement is about a query, which needs no training: `tacet client run` answers it");
  }
  training.config.data.path = site.data;
  TACET_ASSIGN_OR_RETURN(training.data, site::DataOfFiles(site.data));
  training.records = site.records;
  training.ledger = site.ledger;
  return training;
}

// One home of a site, unlocked. One run at a time.
class Member {
 public:
  Member(std::unique_ptr<SiteMember> member, SiteOptions site)
      : member_(std::move(member)), site_(std::move(site)) {}

  const SiteMember& site() const { return *member_; }
  accounting::Unit unit() const { return member_->manifest().spec().privacy.unit; }
  nb::object InitialModel() const {
    return ModelArray(
        ValueOrThrow(WithoutLock([&] { return member_->InitialModel(); })).parameters);
  }

  // Whether stop() was called is forgotten: a run begins afterwards.
  void Begin() { stop_ = false; }
  void Stop() { stop_ = true; }

  // `train(model, round, units, clip_norm)` returns the update, or None when the run is to end.
  // `tell(kind, text)` hears of warnings, troubles, protocol violations and progress.
  std::string Run(const nb::object& train, const nb::object& tell) {
    if (running_.exchange(true)) {
      throw StatusError(absl::FailedPreconditionError("the member is running already"));
    }
    const PythonCalls calls;
    absl::StatusOr<SiteMemberEnd> end;
    {
      const PythonObject trained(train), told(tell);
      end = WithoutLock([&] { return RunUnlocked(trained, told, calls); });
    }
    running_ = false;
    calls.ThrowIfOneRaised();
    ThrowIfError(end.status());
    ThrowIfError(end->failure);
    return site::SiteMemberEndJson(member_->membership(), *end).Dump();
  }

 private:
  trainer::FunctionLearnerSpec LearnerOf(const PythonObject& train,
                                         const PythonCalls& calls) const {
    trainer::FunctionLearnerSpec spec;
    spec.clients = 1;
    spec.unit = unit();
    spec.train = [train, calls](std::span<const float> model, uint32_t round, uint64_t /*client*/,
                                std::span<float> update) {
      return Answer(calls, update, [&] {
        return CallFunction(train.get(), ModelArray(model), round, nb::none(), nb::none());
      });
    };
    spec.sum_clipped = [this, train, calls](std::span<const float> model, uint64_t /*client*/,
                                            std::span<const uint32_t> drawn, double clip_norm,
                                            std::span<float> sum) {
      return Answer(calls, sum, [&] {
        const std::vector<uint32_t> units(drawn.begin(), drawn.end());
        return CallFunction(train.get(), ModelArray(model), round_, units, clip_norm);
      });
    };
    return spec;
  }

  template <typename Call>
  static absl::Status Answer(const PythonCalls& calls, std::span<float> update, const Call& call) {
    bool answered = false;
    const absl::Status called = calls.Run([&] {
      const nb::object returned = call();
      if (returned.is_none()) return;
      CopyUpdate(returned, "the update", update);
      answered = true;
    });
    if (!called.ok() || answered) return called;
    return absl::CancelledError("the member was asked to stop");
  }

  // Tells the round to the trainers of units, which Trainer::SumClippedGradients does not.
  class Rounds final : public trainer::UpdateSource {
   public:
    Rounds(trainer::UpdateSource& updates, uint32_t& round) : updates_(updates), round_(round) {}
    absl::Status Update(const secagg::Attempt& attempt, std::span<const float> model,
                        std::span<float> update) override {
      round_ = attempt.number.round;
      return updates_.Update(attempt, model, update);
    }

   private:
    trainer::UpdateSource& updates_;
    uint32_t& round_;
  };

  absl::StatusOr<SiteMemberEnd> RunUnlocked(const PythonObject& train, const PythonObject& told,
                                            const PythonCalls& calls) {
    TACET_ASSIGN_OR_RETURN(SiteTraining training, TrainingOf(*member_, site_));
    trainer::FunctionLearnerSpec spec = LearnerOf(train, calls);
    TACET_ASSIGN_OR_RETURN(agreement::InitialModel initial, member_->InitialModel());
    spec.initial = std::move(initial.parameters);
    if (unit() != accounting::Unit::kClient) {
      TACET_ASSIGN_OR_RETURN(const uint64_t units, UnitsOf(unit(), site_));
      spec.units = {units};
    }
    TACET_ASSIGN_OR_RETURN(training.learner, trainer::NewFunctionLearner(std::move(spec)));
    crypto::SystemEntropy coins;
    TACET_ASSIGN_OR_RETURN(
        const auto learner,
        trainer::LearnerUpdates::Create(member_->manifest(), *training.learner, 0, coins));
    Rounds updates(*learner, round_);
    const auto tell = [&](std::string_view kind, std::string_view text) {
      // What it raises arrives after the run.
      (void)calls.Run([&] { CallFunction(told.get(), kind, text); });
    };
    size_t told_violations = 0;
    return member_->Run(
        {.training = training, .updates = updates, .own_code = true},
        {.stop = [this] { return stop_.load() || InterpreterExits(); },
         .on_warning = [&](const std::string& text) { tell("warning", text); },
         .on_begin = nullptr,
         .on_trouble =
             [&](const absl::Status& trouble) { tell("trouble", base::Message(trouble)); },
         .on_progress =
             [&](const member::MemberSession& session) {
               for (; told_violations < session.violations().size(); ++told_violations) {
                 const member::NodeEvent& violation = session.violations()[told_violations];
                 tell("violation", fmt::format("{}: {}", violation.what, violation.text));
               }
               tell("progress", fmt::format("{}", session.next_round()));
             }});
  }

  std::unique_ptr<SiteMember> member_;
  SiteOptions site_;
  std::atomic<bool> stop_ = false, running_ = false;
  uint32_t round_ = 0;
};

std::unique_ptr<Member> OpenMember(const std::string& home, const std::string& server,
                                   const std::string& proxy, std::optional<std::string> policy,
                                   std::optional<std::string> passphrase_file,
                                   std::optional<std::string> key_file, SiteOptions site,
                                   const Keywords& ledger) {
  config::RunConfig own;
  for (const auto& [key, value] : ledger) {
    ThrowIfError(config::SetKey(own, nb::cast<std::string>(key), SettingOf(value)));
  }
  site.ledger = own.ledger;
  const storage::file::UnlockSource unlock{.passphrase_file = std::move(passphrase_file),
                                           .key_file = std::move(key_file)};
  auto opened = WithoutLock([&] {
    return SiteMember::Open(
        {.home = home, .server = server, .proxy = proxy, .policy = std::move(policy)},
        [&] { return unlock.Existing("site's identity"); });
  });
  return std::make_unique<Member>(ValueOrThrow(std::move(opened)), std::move(site));
}

// A copy of an update that Python may change afterwards, checked.
nb::object CheckedUpdate(nb::handle update, uint64_t dimension) {
  std::vector<float> values(dimension);
  CopyUpdate(update, "the update", values);
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    throw StatusError(base::InvalidArgument(
        "the update: value {} is {}, not a finite number; correct the training, such as by a lower "
        "learning rate, or return zeros",
        i, values[i]));
  }
  return nb::cast(ArrayOf(std::move(values)));
}

}  // namespace

void BindMember(nb::module_& module) {
  nb::class_<Member>(module, "Member", "A site's member of a live federation.")
      .def_static(
          "open",
          [](const std::string& home, const std::string& server, const std::string& proxy,
             std::optional<std::string> policy, std::optional<std::string> passphrase_file,
             std::optional<std::string> key_file, const std::string& data, uint64_t records,
             uint64_t persons, const Keywords& ledger) {
            return OpenMember(home, server, proxy, std::move(policy), std::move(passphrase_file),
                              std::move(key_file),
                              {.data = data, .records = records, .persons = persons, .ledger = {}},
                              ledger);
          },
          "home"_a, "server"_a, "proxy"_a, "policy"_a.none(), "passphrase_file"_a.none(),
          "key_file"_a.none(), "data"_a, "records"_a, "persons"_a, "ledger"_a)
      .def("begin", &Member::Begin, "Forget an earlier stop().")
      .def("stop", &Member::Stop, "End the run in progress.")
      .def("run", &Member::Run, "train"_a, "tell"_a, "Take part; JSON of the end.")
      .def_prop_ro(
          "initial_model", &Member::InitialModel,
          nb::for_getter(nb::sig("def initial_model(self) -> numpy.typing.NDArray[numpy.float32]")))
      .def_prop_ro("dimension",
                   [](const Member& m) { return m.site().manifest().spec().dimension; })
      .def_prop_ro("rounds", [](const Member& m) { return m.site().manifest().spec().rounds; })
      .def_prop_ro("run_folder", [](const Member& m) { return m.site().run_folder().string(); })
      .def_prop_ro("number", [](const Member& m) { return *m.site().membership().member; })
      .def_prop_ro("name",
                   [](const Member& m) {
                     const auto& membership = m.site().membership();
                     return membership.manifest.members()[*membership.member].name;
                   })
      .def_prop_ro("federation",
                   [](const Member& m) { return m.site().membership().manifest.federation(); })
      .def_prop_ro("unit",
                   [](const Member& m) { return std::string(accounting::UnitName(m.unit())); });
  module.def("checked_update", &CheckedUpdate, "update"_a, "dimension"_a,
             nb::sig("def checked_update(update: object, dimension: int) -> "
                     "numpy.typing.NDArray[numpy.float32]"));
}

}  // namespace tacet::python
