#include "tacet/member.h"

#include <atomic>
#include <utility>

#include "fmt/core.h"

#include "tacet/api/core/privacy_model.h"
#include "tacet/api/live/run_parts.h"
#include "tacet/base/status.h"
#include "tacet/config/agreed_query.h"
#include "tacet/config/site_config.h"
#include "tacet/ledger/ledger_format.h"
#include "tacet/site/site_data.h"
#include "tacet/site/site_member.h"
#include "tacet/storage/file/unlock_source.h"
#include "tacet/trainer/function_learner.h"
#include "tacet/trainer/update_source.h"

namespace tacet {
namespace api {

class MemberParts {
 public:
  MemberParts(std::unique_ptr<site::SiteMember> member, const MemberOptions& options)
      : member_(std::move(member)), options_(options) {}

  const site::SiteMember& site() const { return *member_; }
  const agreement::ManifestSpec& spec() const { return member_->manifest().spec(); }
  const MemberOptions& options() const { return options_; }

  // False when a run is in progress.
  bool Begin() { return !running_.exchange(true); }
  void End() { running_ = false; }

 private:
  std::unique_ptr<site::SiteMember> member_;
  MemberOptions options_;
  std::atomic<bool> running_ = false;
};

namespace {

ledger::ChargingRule RuleOf(ChargingRule rule) {
  return rule == ChargingRule::kOwnSeals ? ledger::ChargingRule::kOwnSeals
                                         : ledger::ChargingRule::kAnnouncedAttempts;
}

accounting::Composition CompositionOf(Composition composition) {
  return composition == Composition::kOneEvent ? accounting::Composition::kOneEvent
                                               : accounting::Composition::kAnyEvents;
}

config::LedgerConfig LedgerOf(const SiteLedgerOptions& options) {
  config::LedgerConfig config;
  if (options.folder.has_value()) config.folder = options.folder->string();
  if (options.anchor.has_value()) config.anchor = options.anchor->string();
  config.budget_epsilon = options.budget_epsilon;
  if (options.composition.has_value()) config.composition = CompositionOf(*options.composition);
  if (options.rule.has_value()) config.rule = RuleOf(*options.rule);
  return config;
}

// Units of this site, for the units record and person; else 0.
absl::StatusOr<uint64_t> UnitsOf(accounting::Unit unit, const MemberOptions& options) {
  if (unit == accounting::Unit::kClient) return 0;
  const bool record = unit == accounting::Unit::kRecord;
  const std::optional<uint64_t>& units = record ? options.records : options.persons;
  if (units.has_value() && *units > 0) return *units;
  const std::string_view name = record ? "records" : "persons";
  return base::InvalidArgument("{} is missing: with unit {} it is the number of this site's {}",
                               name, accounting::UnitName(unit), name);
}

// The caller's function, which writes into the memory that is sealed.
class FunctionUpdates final : public trainer::UpdateSource {
 public:
  FunctionUpdates(uint64_t units, const MemberFunctions& functions)
      : units_(units), functions_(functions) {}

  uint64_t units() const override { return units_; }
  absl::Status Update(const trainer::AttemptContext& context, std::span<const float> model,
                      std::span<float> update) override {
    MemberTask task{.round = context.round, .attempt = context.attempt, .model = model};
    if (context.units.has_value()) {
      task.units = *context.units;
      task.clip_norm = context.clip_norm * (1 - trainer::kRoundingRoom);
    }
    TACET_RETURN_IF_ERROR(functions_.train(task, update));
    return context.units.has_value()
               ? trainer::CheckSum(update, 0, context.units->size(), context.clip_norm)
               : trainer::CheckUpdate(update, 0);
  }

 private:
  const uint64_t units_;
  const MemberFunctions& functions_;
};

// The parts that `tacet client run` loads, except the learner, which is the caller's code.
absl::StatusOr<site::SiteTraining> TrainingOf(const MemberParts& parts) {
  const MemberOptions& options = parts.options();
  site::SiteTraining training;
  TACET_ASSIGN_OR_RETURN(
      training.config,
      config::SiteConfigOf(parts.site().membership().manifest.annex(), std::nullopt));
  if (config::IsQuery(training.config)) {
    return base::InvalidArgument(
        "the agreement is about a query, which needs no training: `tacet client run` answers it");
  }
  training.config.data.path = options.data.string();
  TACET_ASSIGN_OR_RETURN(training.data, site::DataOfFiles(options.data));
  training.records = options.records.value_or(0);
  training.ledger = LedgerOf(options.ledger);
  return training;
}

site::SiteMemberHooks HooksOf(const MemberFunctions& functions, size_t& told_violations,
                              absl::Status& first_failure) {
  site::SiteMemberHooks hooks{.stop = functions.stop ? functions.stop : [] { return false; },
                              .on_warning = nullptr,
                              .on_begin = nullptr,
                              .on_note = nullptr,
                              .on_trouble = functions.on_trouble,
                              .on_failure =
                                  [&](const absl::Status& failure) {
                                    first_failure.Update(failure);
                                    if (functions.on_failure) functions.on_failure(failure);
                                  },
                              .on_progress = nullptr};
  if (functions.on_warning) {
    hooks.on_warning = [&functions](const std::string& text) { functions.on_warning(text); };
  }
  hooks.on_progress = [&functions, &told_violations](const member::MemberSession& session) {
    for (; told_violations < session.violations().size(); ++told_violations) {
      const member::NodeEvent& violation = session.violations()[told_violations];
      if (!functions.on_violation) continue;
      functions.on_violation(fmt::format("{}: {}", violation.what, violation.text));
    }
  };
  return hooks;
}

absl::StatusOr<MemberEnd> RunOnce(const MemberParts& parts, const MemberFunctions& functions) {
  TACET_ASSIGN_OR_RETURN(const site::SiteTraining training, TrainingOf(parts));
  TACET_ASSIGN_OR_RETURN(const uint64_t units, UnitsOf(parts.spec().privacy.unit, parts.options()));
  TACET_RETURN_IF_ERROR(trainer::CheckExpectedUnits(parts.spec(), units));
  FunctionUpdates updates(units, functions);
  TACET_ASSIGN_OR_RETURN(const auto wire, parts.site().Connect());
  size_t told_violations = 0;
  absl::Status first_failure;
  TACET_ASSIGN_OR_RETURN(const site::SiteMemberEnd end,
                         parts.site().Run({.training = training,
                                           .updates = updates,
                                           .wire = *wire,
                                           .figures = base::TextSink(functions.on_round)},
                                          HooksOf(functions, told_violations, first_failure)));
  return MemberEnd{.rounds = end.rounds,
                   .done = end.done,
                   .complete = end.complete,
                   .stopped = end.stopped,
                   .charged_attempts = end.charged_attempts,
                   .epsilon = Bound(end.epsilon),
                   .charged_epsilon = Bound(end.charged_epsilon),
                   .ledger_epsilon = Bound(end.ledger_epsilon),
                   .violations = end.violations,
                   .failure = std::move(first_failure),
                   .run = end.run};
}

}  // namespace
}  // namespace api

std::string_view Name(ChargingRule rule) { return ledger::ChargingRuleName(api::RuleOf(rule)); }
std::string_view Name(Composition composition) {
  return accounting::CompositionName(api::CompositionOf(composition));
}

absl::StatusOr<Member> Member::Open(const MemberOptions& options) {
  storage::file::UnlockSource unlock;
  if (options.passphrase_file) unlock.passphrase_file = options.passphrase_file->string();
  if (options.key_file) unlock.key_file = options.key_file->string();
  site::SiteMemberSpec spec{.home = options.home,
                            .server = options.server,
                            .proxy = options.proxy.value_or(""),
                            .policy = std::nullopt};
  if (options.policy) spec.policy = options.policy->string();
  TACET_ASSIGN_OR_RETURN(auto member, site::SiteMember::Open(std::move(spec), [&] {
                           return unlock.Existing("site's identity");
                         }));
  return Member(std::make_shared<api::MemberParts>(std::move(member), options));
}

Member::Member(std::shared_ptr<api::MemberParts> parts) : parts_(std::move(parts)) {}

std::string_view Member::name() const {
  const storage::file::Membership& membership = parts_->site().membership();
  return membership.manifest.members()[*membership.member].name;
}
uint64_t Member::number() const { return *parts_->site().membership().member; }
std::string_view Member::federation() const {
  return parts_->site().membership().manifest.federation();
}
uint32_t Member::epoch() const { return parts_->site().membership().manifest.epoch(); }
Unit Member::unit() const { return api::Public(parts_->spec().privacy.unit); }
uint32_t Member::rounds() const { return parts_->spec().rounds; }
uint64_t Member::dimension() const { return parts_->spec().dimension; }
double Member::learning_rate() const { return parts_->spec().optimizer.learning_rate; }
std::filesystem::path Member::run_folder() const { return parts_->site().run_folder(); }

absl::StatusOr<std::vector<float>> Member::InitialModel() const {
  TACET_ASSIGN_OR_RETURN(agreement::InitialModel initial, parts_->site().InitialModel());
  return std::move(initial.parameters);
}

absl::StatusOr<MemberEnd> Member::Run(const MemberFunctions& functions) const {
  if (!functions.train) return base::InvalidArgument("train is missing: give a function");
  if (!parts_->Begin()) return base::FailedPrecondition("the member is running already");
  struct Running {
    api::MemberParts& parts;
    ~Running() { parts.End(); }
  } running{*parts_};
  return api::RunOnce(*parts_, functions);
}

}  // namespace tacet
