#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fmt/core.h"

#include "apps/tacet/client/client_command.h"
#include "apps/tacet/client/external_training.h"
#include "apps/tacet/client/site_ledger.h"
#include "apps/tacet/client/site_policy.h"
#include "apps/tacet/client/site_run.h"
#include "apps/tacet/client/site_training.h"
#include "apps/tacet/federation/membership.h"
#include "apps/tacet/program/stop_signal.h"
#include "apps/tacet/program/unlock_flags.h"
#include "apps/tacet/run/policy_file.h"
#include "tacet/base/json.h"
#include "tacet/base/status.h"
#include "tacet/crypto/certificates.h"
#include "tacet/crypto/random.h"
#include "tacet/member/member_loop.h"
#include "tacet/member/member_session.h"
#include "tacet/member/remote_server.h"
#include "tacet/policy/permission.h"
#include "tacet/storage/file/member_state_folder.h"
#include "tacet/storage/file/node_log_file.h"
#include "tacet/storage/file/site_folder.h"
#include "tacet/trainer/learner_updates.h"
#include "tacet/transport/https/https_wire.h"

namespace tacet::app::client {
namespace {

using member::MemberSession;
using storage::file::Membership;
using storage::file::SiteFolder;

constexpr uint64_t kSecondsADay = 86'400;

// Ends the calls in progress as soon as a signal arrives.
class WireStopper {
 public:
  explicit WireStopper(protocol::Wire& wire)
      : thread_([&wire](const std::stop_token& token) {
          while (!token.stop_requested()) {
            if (program::StopSignal::Arrived()) return wire.Stop();
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
          }
        }) {}

 private:
  std::jthread thread_;
};

class ClientRunCommand : public program::Command {
 public:
  std::string_view name() const override { return "run"; }
  std::string_view summary() const override {
    return "take part in the federation until it is done: train, seal, upload, decrypt, verify; "
           "exit code 0 when the training is complete, 3 when it is not";
  }

  void Register(program::Options& options) override {
    options.AddString("home", "folder of the site: its keys, its invitation, its state", &home_);
    options.AddString("server", "HOST:PORT of the federation's server", &server_);
    options.AddString("proxy",
                      "HTTP proxy to the server, http://[USER:PASSWORD@]HOST:PORT; when not given, "
                      "the proxy of the environment variables https_proxy, all_proxy and no_proxy",
                      &proxy_);
    data_.Register(options);
    external_.Register(options);
    options.AddString("policy",
                      "the site's policy, signed by its officer in FILE.sig; when not given, "
                      "policy.toml in the site's folder",
                      &policy_);
    ledger_flags_.Register(options);
    options.AddFlag("json", "print one JSON object at the end, nothing else on standard output",
                    &json_);
    unlock_.Register(options);
    options.Require("server");
  }

  absl::Status Run() override {
    TACET_RETURN_IF_ERROR(external_.Check());
    TACET_ASSIGN_OR_RETURN(SiteFolder folder, SiteFolder::Open(home_));
    TACET_ASSIGN_OR_RETURN(const Membership membership, Joined(folder));
    TACET_ASSIGN_OR_RETURN(const crypto::Unlocker unlocker, unlock_.Existing("site's identity"));
    TACET_ASSIGN_OR_RETURN(const agreement::MemberKeys keys, folder.UnlockKeys(unlocker));
    TACET_ASSIGN_OR_RETURN(
        const crypto::SecretBytes epoch_key,
        agreement::DecryptEpochKey(membership.sealed_epoch_key, membership.manifest,
                                   *membership.member, keys.sealing));
    TACET_ASSIGN_OR_RETURN(const crypto::ExchangeKey exchange_key,
                           folder.TakeUpExchangeKey(membership, unlocker));
    TACET_ASSIGN_OR_RETURN(const SiteTraining training,
                           LoadSiteTraining(data_, membership.manifest, *membership.member));
    if (external_.chosen() && training.config.run.publish_evaluation.value_or(false)) {
      return base::InvalidArgument(
          "run.publish_evaluation = true with --train-with: figures on rows that the program "
          "trained "
          "on would mislead. Set it to false, and evaluate in the program");
    }
    if (training.learner == nullptr && !external_.chosen()) {
      return base::InvalidArgument(
          "the agreed model is external ({}): give the program that trains it with --train-with",
          training.config.model.architecture);
    }
    if (training.query.has_value() && external_.chosen()) {
      return base::InvalidArgument(
          "the agreement is about a query: tacet answers it itself, remove --train-with");
    }
    TACET_ASSIGN_OR_RETURN(const std::optional<SignedPolicy> policy,
                           LoadSitePolicy(PolicyPath(home_, policy_), keys.officer));
    TACET_ASSIGN_OR_RETURN(policy::Permission permission,
                           AskPolicy(policy, keys, membership, training));
    TACET_ASSIGN_OR_RETURN(const std::vector<float> initial, folder.InitialModel());
    TACET_ASSIGN_OR_RETURN(const auto run, SiteRun::Open(std::filesystem::path(home_), training,
                                                         membership, json_ ? stderr : stdout));
    TACET_ASSIGN_OR_RETURN(const auto state,
                           storage::file::MemberStateFolder::Open(std::filesystem::path(home_) /
                                                                  storage::file::kMemberState));
    TACET_ASSIGN_OR_RETURN(const run::LedgerConfig asked_for, ledger_flags_.Over(training.ledger));
    TACET_ASSIGN_OR_RETURN(const SiteLedger site,
                           OpenSiteLedger({.home = home_,
                                           .config = asked_for,
                                           .data = training.site_data,
                                           .manifest = membership.manifest.manifest(),
                                           .state = *state,
                                           .policy = policy,
                                           .permission = permission}));
    ledger::PrivacyLedger& ledger = *site.ledger;
    TACET_ASSIGN_OR_RETURN(const auto log, storage::file::NodeLogFile::Open(
                                               std::filesystem::path(home_) / "node-log.jsonl"));
    TACET_ASSIGN_OR_RETURN(const auto wire, transport::https::HttpsWire::Create(
                                                {.server = server_,
                                                 .proxy = proxy_,
                                                 .server_key = membership.manifest.server().tls_key,
                                                 .authority = membership.manifest.authority(),
                                                 .certificate = membership.certificate},
                                                keys.tls));
    crypto::SystemEntropy entropy;
    const auto wait = [](double seconds) {
      return program::StopSignal::Wait(std::chrono::duration<double>(seconds));
    };
    const auto tell = [this](const absl::Status& trouble) { TellTrouble(trouble); };
    member::RetryPolicy retry_policy({}, entropy, wait, tell);
    const member::RemoteServer server(membership.manifest, *membership.member, keys.signing, *wire,
                                      base::SystemUnixSeconds, std::ref(retry_policy));
    ExternalTraining* external = nullptr;
    TACET_ASSIGN_OR_RETURN(const auto updates,
                           Updates(membership.manifest.manifest(), training, entropy, external));
    TACET_ASSIGN_OR_RETURN(const auto session,
                           MemberSession::Create({.manifest = membership.manifest,
                                                  .member = *membership.member,
                                                  .signing_key = keys.signing,
                                                  .exchange_key = exchange_key,
                                                  .epoch_key = epoch_key,
                                                  .server = server,
                                                  .state = *state,
                                                  .updates = *updates,
                                                  .log = *log,
                                                  .ledger = ledger,
                                                  .permission = std::move(permission),
                                                  .entropy = entropy,
                                                  .rule = site.rule,
                                                  .earlier = membership.earlier()},
                                                 initial));
    Introduce(membership, training);
    const program::StopSignal stop("\ntacet: ending; once more to end at once\n");
    const WireStopper stopper(*wire);
    TACET_RETURN_IF_ERROR(run->Begin(*session, ledger));
    const absl::Status ended = member::RunMember(
        *session, {}, entropy,
        {.wait =
             [&](double seconds) {
               // Zeros were sent in place of what the site's program failed to give.
               const bool failed = external != nullptr && !external->failure().ok();
               return !failed && wait(seconds);
             },
         .on_trouble = tell,
         .on_progress =
             [&](const MemberSession& now) {
               TellViolations(now);
               // What a full disk does not take is written with a later round, or at the end.
               if (const absl::Status written = run->Progress(now, ledger); !written.ok()) {
                 TellTrouble(written);
               }
             }});
    if (!ended.ok() && ended.code() != absl::StatusCode::kCancelled) return ended;
    TACET_RETURN_IF_ERROR(run->End(*session, ledger, ended.ok()));
    if (external != nullptr && !external->failure().ok()) {
      return base::Annotate(external->failure(),
                            "--train-with failed, and zeros were sealed in its place. Repair the "
                            "program and run this again");
    }
    complete_ = session->next_round() == membership.manifest.manifest().spec().rounds;
    Finish(*session, membership, ledger, run->path(), ended.ok());
    return absl::OkStatus();
  }
  int exit_code() const override { return complete_ ? 0 : program::kIncomplete; }

 private:
  absl::StatusOr<Membership> Joined(const SiteFolder& folder) const {
    TACET_ASSIGN_OR_RETURN(Membership membership, federation::MembershipOf(folder, home_));
    if (!membership.member.has_value()) {
      return base::FailedPrecondition("{} is the server's folder: tacet server runs it", home_);
    }
    if (membership.manifest.server().name.empty()) {
      return base::FailedPrecondition(
          "the manifest of epoch {} names no server: the coordinating member enrols it (tacet "
          "federation enrol) and begins an epoch (tacet federation rotate)",
          membership.manifest.epoch());
    }
    return membership;
  }

  static absl::StatusOr<policy::Permission> AskPolicy(const std::optional<SignedPolicy>& policy,
                                                      const agreement::MemberKeys& keys,
                                                      const Membership& membership,
                                                      const SiteTraining& training) {
    const agreement::SignedManifest& manifest = membership.manifest;
    if (!policy.has_value()) return policy::Permission::WithoutPolicy(keys.officer, manifest);
    TACET_ASSIGN_OR_RETURN(
        const policy::DataUse use,
        run::DataUseOf(training.config, manifest.members()[*membership.member].name,
                       training.records));
    return policy::Permission::ByPolicy(policy->policy, policy->source, manifest, use);
  }

  absl::StatusOr<std::unique_ptr<trainer::UpdateSource>> Updates(
      const agreement::Manifest& manifest, const SiteTraining& training, crypto::Entropy& coins,
      ExternalTraining*& external) const {
    if (!external_.chosen()) {
      return trainer::LearnerUpdates::Create(manifest, *training.learner, 0, coins);
    }
    TACET_ASSIGN_OR_RETURN(
        std::unique_ptr<ExternalTraining> created,
        ExternalTraining::Create(manifest,
                                 external_.Spec(std::filesystem::path(home_) / "exchange",
                                                [] { return program::StopSignal::Arrived(); })));
    external = created.get();
    return std::unique_ptr<trainer::UpdateSource>(std::move(created));
  }

  void Introduce(const Membership& membership, const SiteTraining& training) const {
    const agreement::SignedManifest& manifest = membership.manifest;
    Say("federation  {}, epoch {}: {} is member {} of {}\n", manifest.federation(),
        manifest.epoch(), manifest.members()[*membership.member].name, *membership.member,
        manifest.members().size());
    if (training.learner == nullptr) {
      Say("data        {}, for the program of --train-with\n", training.data.name);
    } else {
      Say("data        {}: {} samples to train on\n", training.data.name,
          training.learner->training_samples(0));
    }
    Say("server      {}\n", server_);
    const absl::StatusOr<crypto::CertificateFacts> facts =
        crypto::ReadCertificate(membership.certificate);
    const uint64_t now = base::SystemUnixSeconds();
    if (facts.ok() && facts->not_after < now + federation::kCertificateWarningSeconds) {
      fmt::print(stderr,
                 "tacet: this site's certificate {}: ask the coordinating member for a new "
                 "invitation\n",
                 facts->not_after <= now
                     ? "has ended"
                     : fmt::format("ends in {} days", (facts->not_after - now) / kSecondsADay));
    }
  }

  template <typename... Args>
  void Say(fmt::format_string<Args...> format, Args&&... args) const {
    if (json_) return;
    fmt::print(format, std::forward<Args>(args)...);
    std::fflush(stdout);
  }

  void TellTrouble(const absl::Status& trouble) {
    const std::string text = base::Message(trouble);
    if (program::StopSignal::Arrived() || text == last_trouble_) return;
    last_trouble_ = text;
    fmt::print(stderr, "tacet: {}; trying again\n", text);
  }

  void TellViolations(const MemberSession& session) {
    last_trouble_.clear();
    for (; told_violations_ < session.violations().size(); ++told_violations_) {
      const member::NodeEvent& violation = session.violations()[told_violations_];
      fmt::print(stderr, "tacet: PROTOCOL VIOLATION {}: {}\n", violation.what, violation.text);
    }
  }

  void Finish(const MemberSession& session, const Membership& membership,
              const ledger::PrivacyLedger& ledger, const std::filesystem::path& run,
              bool done) const {
    const uint64_t charged = ledger.ChargesOf(membership.manifest.manifest().federation());
    const absl::StatusOr<accounting::EpsilonBounds> spent = ledger.spending().Epsilon();
    const double epsilon = spent.ok() ? spent->epsilon() : std::numeric_limits<double>::infinity();
    const uint32_t rounds = membership.manifest.manifest().spec().rounds;
    Say("{}: {} of {} rounds, {} attempts charged, epsilon {} in the ledger, {} protocol "
        "violations; model, ledger and metrics are in {}\n",
        complete_ ? "the training is complete"
        : done    ? "the training is not complete, and the server begins no further attempt"
                  : "the training is not complete: run this again to go on",
        session.next_round(), rounds, charged,
        std::isfinite(epsilon) ? fmt::format("{:.3f}", epsilon) : "without a bound",
        session.violations().size(), run.string());
    if (!json_) return;
    base::JsonValue violations = base::JsonValue::MakeArray();
    for (const member::NodeEvent& violation : session.violations())
      violations.Append(violation.what);
    fmt::print("{}\n", base::JsonValue::MakeObject()
                           .Set("federation", membership.manifest.federation())
                           .Set("member", membership.manifest.members()[*membership.member].name)
                           .Set("epoch", membership.manifest.epoch())
                           .Set("rounds", session.next_round())
                           .Set("done", done)
                           .Set("complete", complete_)
                           .Set("charged_attempts", charged)
                           .Set("epsilon", epsilon)
                           .Set("alarms", std::move(violations))
                           .Set("run", run.string())
                           .Dump(2));
  }

  std::string home_ = "tacet-site";
  std::string server_, proxy_;
  SiteDataFlags data_;
  ExternalTrainingFlags external_;
  std::optional<std::string> policy_;
  LedgerFlags ledger_flags_;
  bool json_ = false;
  program::UnlockFlags unlock_;

  bool complete_ = false;
  size_t told_violations_ = 0;
  std::string last_trouble_;
};

}  // namespace

std::unique_ptr<program::Command> NewClientRunCommand() {
  return std::make_unique<ClientRunCommand>();
}

}  // namespace tacet::app::client
