#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "fmt/core.h"

#include "apps/tacet/client/client_command.h"
#include "apps/tacet/client/external_training_flags.h"
#include "apps/tacet/client/ledger_flags.h"
#include "apps/tacet/client/site_data_flags.h"
#include "apps/tacet/program/console.h"
#include "apps/tacet/program/unlock_flags.h"
#include "tacet/accounting/guarantee_in_words.h"
#include "tacet/base/json.h"
#include "tacet/base/status.h"
#include "tacet/base/stop_signal.h"
#include "tacet/base/unix_clock.h"
#include "tacet/config/site_config.h"
#include "tacet/crypto/certificates.h"
#include "tacet/member/member_session.h"
#include "tacet/member/violation_advice.h"
#include "tacet/run/run_output.h"
#include "tacet/site/app_member.h"
#include "tacet/site/external_training.h"
#include "tacet/site/site_ledger.h"
#include "tacet/site/site_member.h"
#include "tacet/site/site_training.h"
#include "tacet/storage/file/membership.h"
#include "tacet/trainer/learner_updates.h"

namespace tacet::app::client {
namespace {

using member::MemberSession;

class ClientRunCommand : public program::Command {
 public:
  std::string_view name() const override { return "run"; }
  std::string_view summary() const override {
    return "take part in the federation until it is done: train, seal, upload, decrypt, verify; "
           "exit code 0 when the training is complete, 3 when it is not, 1 after an error";
  }

  void Register(program::Options& options) override {
    options.AddString("home", "folder of the site: its keys, its invitation, its state",
                      &flags_.home);
    options.AddString("server", "HOST:PORT of the federation's server", &flags_.server);
    options.AddString("proxy",
                      "HTTP proxy to the server, http://[USER:PASSWORD@]HOST:PORT; when not given, "
                      "the proxy of the environment variables https_proxy, all_proxy and no_proxy",
                      &flags_.proxy);
    options.AddString(
        "app",
        "used instead of --server: Unix socket at which the app of another framework, "
        "such as Flower, trains and carries this member's calls "
        "(docs/guide/frameworks.md)",
        &flags_.app);
    flags_.data.Register(options);
    options.AddUint("persons",
                    "with --app and unit person: number of persons in the data; with unit record "
                    "--records is needed",
                    &flags_.persons);
    flags_.external.Register(options);
    options.AddString("policy",
                      "the site's policy, signed by its officer in FILE.sig; when not given, "
                      "policy.toml in the site's folder",
                      &flags_.policy);
    flags_.ledger.Register(options);
    options.AddFlag("follow",
                    "keep running from epoch to epoch: make and leave the keys of the next epoch, "
                    "join what the officer's policy accepts without a person, and take part in it",
                    &flags_.follow);
    options.AddDouble("look-seconds", "with --follow: seconds between looks for an invitation",
                      &flags_.look_seconds);
    options.AddFlag("json", "print one JSON object at each end, nothing else on standard output",
                    &flags_.json);
    flags_.unlock.Register(options);
  }

  absl::Status Run() override {
    TACET_RETURN_IF_ERROR(flags_.external.Check());
    TACET_RETURN_IF_ERROR(CheckPath());
    TACET_ASSIGN_OR_RETURN(
        auto member,
        site::SiteMember::Open(
            {.home = flags_.home,
             .server = flags_.server,
             .proxy = flags_.proxy,
             .policy = flags_.policy,
             .follows = flags_.follow ? std::optional(flags_.look_seconds) : std::nullopt},
            [this] { return flags_.unlock.Existing("site's identity"); }));
    if (!flags_.follow) return RunEpoch(*member).status();
    Stoppable();
    site::FollowEpochs(std::move(member),
                       {.run = [this](const site::SiteMember& now) { return RunEpoch(now); },
                        .connect = [](const site::SiteMember& now) { return now.Connect(); },
                        .hooks = Hooks()});
    return absl::OkStatus();
  }
  int exit_code() const override { return complete_ ? 0 : program::kIncomplete; }

 private:
  absl::StatusOr<site::SiteMemberEnd> RunEpoch(const site::SiteMember& member) {
    complete_ = false;
    failures_ = 0;
    TACET_ASSIGN_OR_RETURN(const site::SiteTraining training, Training(member));
    site::SiteMemberHooks hooks = Hooks();
    hooks.on_begin = [&] {
      told_violations_ = told_refusals_ = 0;  // of the session that begins
      Introduce(member.membership(), training);
      Stoppable();
    };
    TACET_ASSIGN_OR_RETURN(site::SiteMemberEnd end, flags_.app.empty()
                                                        ? RunForServer(member, training, hooks)
                                                        : RunForApp(member, training, hooks));
    complete_ = end.complete;
    Finish(member, end);
    if (failures_ == 0) return end;
    return base::FailedPrecondition(
        "the training of this site failed in {} attempts, which were charged: zeros were sealed in "
        "its place. Only this site is told",
        failures_);
  }

  site::SiteMemberHooks Hooks() {
    return {.stop = base::StopSignal::Arrived,
            .on_warning =
                [](const std::string& text) { fmt::print(stderr, "tacet: warning: {}\n", text); },
            .on_begin = nullptr,
            .on_note = [](const std::string& text) { fmt::print(stderr, "tacet: {}\n", text); },
            .on_trouble = [this](const absl::Status& trouble) { TellTrouble(trouble); },
            .on_failure = [this](const absl::Status& failure) { TellFailure(failure); },
            .on_progress = [this](const MemberSession& now) { TellEvents(now); }};
  }

  // Each later signal ends the run in good order.
  void Stoppable() {
    if (!stop_.has_value()) stop_.emplace("\ntacet: ending; once more to end at once\n");
  }

  absl::Status CheckPath() const {
    if (flags_.follow && (!flags_.app.empty() || flags_.external.chosen())) {
      return base::InvalidArgument(
          "--follow excludes --app and --train-with: a person chooses the code that trains");
    }
    if (!(flags_.look_seconds >= 0.1 && flags_.look_seconds <= base::kSecondsADay)) {
      return base::InvalidArgument("--look-seconds is {}: expected 0.1 to {}", flags_.look_seconds,
                                   base::kSecondsADay);
    }
    if (flags_.server.empty() == flags_.app.empty()) {
      return base::InvalidArgument(
          "give --server HOST:PORT, or --app SOCKET where another framework carries the calls");
    }
    if (!flags_.app.empty() && (flags_.external.chosen() || !flags_.proxy.empty())) {
      return base::InvalidArgument("--app excludes --train-with and --proxy");
    }
    return absl::OkStatus();
  }

  absl::StatusOr<site::SiteMemberEnd> RunForServer(const site::SiteMember& member,
                                                   const site::SiteTraining& training,
                                                   const site::SiteMemberHooks& hooks) const {
    TACET_ASSIGN_OR_RETURN(const auto updates, Updates(member, training));
    TACET_ASSIGN_OR_RETURN(const auto wire, member.Connect());
    return member.Run({.training = training, .updates = *updates, .wire = *wire, .out = Out()},
                      hooks);
  }

  absl::StatusOr<site::SiteMemberEnd> RunForApp(const site::SiteMember& member,
                                                const site::SiteTraining& training,
                                                const site::SiteMemberHooks& hooks) const {
    const bool person = member.manifest().spec().privacy.unit == accounting::Unit::kPerson;
    const uint64_t units = person ? flags_.persons : training.records;
    return site::RunForApp(member, training,
                           {.socket = flags_.app,
                            .units = units > 0 ? std::optional(units) : std::nullopt,
                            .out = Out()},
                           hooks);
  }

  base::TextSink Out() const { return program::Console(flags_.json ? stderr : stdout); }

  absl::StatusOr<site::SiteTraining> Training(const site::SiteMember& member) const {
    TACET_ASSIGN_OR_RETURN(
        site::SiteTraining training,
        LoadSiteTraining(flags_.data, member.membership().manifest, *member.membership().member));
    if (flags_.external.chosen() && training.config.run.publish_evaluation.value_or(false)) {
      return base::InvalidArgument(
          "run.publish_evaluation = true with --train-with: figures on rows that the program "
          "trained "
          "on would mislead. Set it to false, and evaluate in the program");
    }
    if (!flags_.app.empty() && training.learner != nullptr) {
      return base::InvalidArgument(
          "tacet trains the agreed model itself: --app is for model.name = \"external\"");
    }
    if (training.learner == nullptr && !flags_.external.chosen() && flags_.app.empty()) {
      return base::InvalidArgument(
          "the agreed model is external ({}): give the program that trains it with --train-with, "
          "or run this member from Python with tacet.Member",
          config::ArchitectureText(training.config));
    }
    if (training.query.has_value() && flags_.external.chosen()) {
      return base::InvalidArgument(
          "the agreement is about a query: tacet answers it itself, remove --train-with");
    }
    TACET_ASSIGN_OR_RETURN(training.ledger, flags_.ledger.Over(training.ledger));
    return training;
  }

  absl::StatusOr<std::unique_ptr<trainer::UpdateSource>> Updates(
      const site::SiteMember& member, const site::SiteTraining& training) const {
    if (!flags_.external.chosen()) {
      return trainer::LearnerUpdates::Create(member.manifest(), *training.learner, 0);
    }
    return site::ExternalTraining::Create(
        member.manifest(), flags_.external.Spec(std::filesystem::path(flags_.home) / "exchange",
                                                [] { return base::StopSignal::Arrived(); }));
  }

  void Introduce(const storage::file::Membership& membership,
                 const site::SiteTraining& training) const {
    const agreement::SignedManifest& manifest = membership.manifest;
    Say("federation  {}, epoch {}: {} is member {} of {}\n", manifest.federation(),
        manifest.epoch(), manifest.members()[*membership.member].name, *membership.member,
        manifest.members().size());
    if (training.learner == nullptr) {
      Say("data        {}, for {}\n", training.data.name,
          flags_.app.empty() ? "the program of --train-with" : "the framework's app");
    } else {
      Say("data        {}: {} samples to train on\n", training.data.name,
          training.learner->training_samples(0));
    }
    for (const std::string& note : training.data_notes) {
      fmt::print(stderr, "tacet: {}\n", note);
    }
    if (flags_.app.empty()) {
      Say("server      {}\n", flags_.server);
    } else {
      Say("app         connects at {}\n", flags_.app);
    }
    const absl::StatusOr<crypto::CertificateFacts> facts =
        crypto::ReadCertificate(membership.certificate);
    const uint64_t now = base::SystemUnixSeconds();
    if (facts.ok() && facts->not_after < now + storage::file::kCertificateWarningSeconds) {
      fmt::print(stderr,
                 "tacet: this site's certificate {}: ask the coordinating member for a new "
                 "invitation\n",
                 facts->not_after <= now ? "has ended"
                                         : fmt::format("ends in {} days", (facts->not_after - now) /
                                                                              base::kSecondsADay));
    }
  }

  template <typename... Args>
  void Say(fmt::format_string<Args...> format, Args&&... args) const {
    if (flags_.json) return;
    fmt::print(format, std::forward<Args>(args)...);
    std::fflush(stdout);
  }

  void TellTrouble(const absl::Status& trouble) {
    const std::string text = base::Message(trouble);
    if (base::StopSignal::Arrived() || text == last_trouble_) return;
    last_trouble_ = text;
    fmt::print(stderr, "tacet: {}; trying again\n", text);
  }

  void TellFailure(const absl::Status& failure) {
    ++failures_;
    fmt::print(
        stderr,
        "tacet: {}; zeros are sealed in its place, and only this site is told. Repair it: it "
        "is run again in the next round\n",
        base::Message(failure));
  }

  void TellEvents(const MemberSession& session) {
    last_trouble_.clear();
    for (; told_violations_ < session.violations().size(); ++told_violations_) {
      const member::NodeEvent& violation = session.violations()[told_violations_];
      fmt::print(stderr, "tacet: PROTOCOL VIOLATION {}: {}\ntacet: next step: {}\n", violation.what,
                 violation.text, member::ViolationAdvice(violation.what));
    }
    for (; told_refusals_ < session.refusals().size(); ++told_refusals_) {
      const member::NodeEvent& refusal = session.refusals()[told_refusals_];
      fmt::print(stderr, "tacet: round {} attempt {} continues without this site's data: {}\n",
                 refusal.attempt->round, refusal.attempt->attempt, refusal.text);
    }
  }

  void Finish(const site::SiteMember& member, const site::SiteMemberEnd& end) const {
    const auto text = [](double epsilon) {
      return std::isfinite(epsilon) ? fmt::format("{:.3f}", epsilon)
                                    : std::string("without a bound");
    };
    const bool goes_on = end.moved && !end.complete;
    Say("{}: {} of {} rounds, {} attempts charged, {} protocol violations; model, ledger and "
        "metrics are in {}\n",
        end.complete ? "the training is complete"
        : goes_on    ? "the site has gone on to another epoch"
        : end.done   ? "the training is not complete, and the server begins no further attempt"
                     : "the training is not complete: run this again to continue",
        end.rounds, member.manifest().spec().rounds, end.charged_attempts, end.violations.size(),
        end.run.string());
    if (!end.stopped.empty()) Say("why: {}\n", end.stopped);
    if (!end.of_rounds.empty()) Say("givers: {}\n", run::GiversText(end.of_rounds));
    for (const run::MissingSite& site : end.missing) {
      Say("missing: no data of {} are in the answers ({})\n", site.name, site.cause);
    }
    Say("privacy: epsilon {} for all {} attempts that the agreement permits; forecast {} for those "
        "charged so far; {} for all charges in the ledger of these data\n",
        text(end.epsilon), member.manifest().attempt_budget(), text(end.charged_epsilon),
        text(end.ledger_epsilon));
    Say("{}\n", accounting::kWhyLedgersDiffer);
    if (flags_.json) fmt::print("{}\n", site::SiteMemberEndJson(member.membership(), end).Dump(2));
  }

  struct Flags {
    std::string home = "tacet-site";
    std::string server, proxy, app;
    uint64_t persons = 0;
    SiteDataFlags data;
    ExternalTrainingFlags external;
    std::optional<std::string> policy;
    LedgerFlags ledger;
    bool follow = false;
    double look_seconds = 60;
    bool json = false;
    program::UnlockFlags unlock;
  };
  Flags flags_;

  std::optional<base::StopSignal> stop_;
  bool complete_ = false;
  uint64_t failures_ = 0;  // of this site's training
  size_t told_violations_ = 0;
  size_t told_refusals_ = 0;
  std::string last_trouble_;
};

}  // namespace

std::unique_ptr<program::Command> NewClientRunCommand() {
  return std::make_unique<ClientRunCommand>();
}

}  // namespace tacet::app::client
