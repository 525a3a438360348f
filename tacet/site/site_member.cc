#include "tacet/site/site_member.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <span>
#include <thread>
#include <utility>

#include "tacet/base/failure_cause.h"
#include "tacet/base/json_lists.h"
#include "tacet/base/status.h"
#include "tacet/base/stopwatch.h"
#include "tacet/config/configured_data.h"
#include "tacet/config/policy_file.h"
#include "tacet/crypto/random.h"
#include "tacet/member/backoff.h"
#include "tacet/member/member_loop.h"
#include "tacet/member/remote_server.h"
#include "tacet/policy/permission.h"
#include "tacet/secagg/committee.h"
#include "tacet/site/site_ledger.h"
#include "tacet/site/site_mail.h"
#include "tacet/site/site_policy.h"
#include "tacet/site/site_rows.h"
#include "tacet/storage/file/member_state_folder.h"
#include "tacet/storage/file/membership.h"
#include "tacet/storage/file/node_log_file.h"
#include "tacet/storage/file/posix_file.h"
#include "tacet/storage/file/seat_anchor_file.h"
#include "tacet/trainer/update_source.h"

namespace tacet::site {
namespace {

using member::MemberSession;
using storage::file::Membership;
using storage::file::SiteFolder;

constexpr size_t kAnchorNameBytes = 16;
constexpr std::chrono::minutes kBetweenMailLooks(10);  // at the mail of a running site
// After a run of a site that follows its epochs has failed.
constexpr double kBetweenTriesSeconds = 600;
constexpr uint32_t kMailSeconds = 5;  // for a call about mail, without which the run continues
// The same for a site that fetches an enclosure: in 5 s a slow way never brings a whole part.
constexpr uint32_t kFollowingMailSeconds = 60;

// Ends the calls in progress as soon as the run is to end.
class WireStopper {
 public:
  WireStopper(protocol::Wire& wire, const std::function<bool()>& stop)
      : thread_([&wire, &stop](const std::stop_token& token) {
          while (!token.stop_requested()) {
            if (stop()) return wire.Stop();
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
          }
        }) {}

 private:
  std::jthread thread_;
};

// False when the run is to end.
bool Wait(double seconds, const std::function<bool()>& stop) {
  constexpr std::chrono::milliseconds kStep(50);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!stop() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(kStep);
  return !stop();
}

absl::StatusOr<Membership> Joined(const SiteFolder& folder, const std::filesystem::path& home) {
  TACET_ASSIGN_OR_RETURN(Membership membership, storage::file::MembershipOf(folder, home));
  if (!membership.member.has_value()) {
    return base::FailedPrecondition("{} is the server's folder: tacet server runs it",
                                    home.string());
  }
  if (membership.manifest.server().name.empty()) {
    return base::FailedPrecondition(
        "the manifest of epoch {} names no server: the coordinating member enrols it (tacet "
        "federation enrol) and begins an epoch (tacet federation rotate)",
        membership.manifest.epoch());
  }
  return membership;
}

// Null for a member without a seat. Federations of one name have other anchors.
absl::StatusOr<std::unique_ptr<member::SeatAnchor>> AnchorOfSeat(
    const Membership& membership, const crypto::PublicKey& signing_key, const std::string& path) {
  const agreement::Manifest& manifest = membership.manifest.manifest();
  if (!secagg::SeatOf(manifest.committee(), *membership.member).has_value()) return nullptr;
  crypto::Sha256Hasher hasher;
  hasher.Update(membership.chain.empty() ? manifest.hash() : membership.chain.front().hash);
  hasher.Update(signing_key);
  const crypto::Digest key = hasher.Finish();
  return storage::file::OpenSeatAnchor(base::ToHex(std::span(key).first<kAnchorNameBytes>()), path);
}

absl::StatusOr<policy::Permission> AskPolicy(const std::optional<SignedPolicy>& policy,
                                             const agreement::MemberKeys& keys,
                                             const Membership& membership,
                                             const SiteTraining& training) {
  const agreement::SignedManifest& manifest = membership.manifest;
  if (!policy.has_value()) return policy::Permission::WithoutPolicy(keys.officer, manifest);
  TACET_ASSIGN_OR_RETURN(
      const policy::DataUse use,
      config::DataUseOf(training.config, manifest.members()[*membership.member].name,
                        training.records));
  return policy::Permission::ByPolicy(policy->policy, policy->source, manifest, use);
}

// For data that look as if they were not the right ones. No table decides what is charged.
absl::Status Warn(const SiteLedger& site, const SiteRun& run, const SiteTraining& training,
                  const SiteMemberHooks& hooks) {
  std::vector<std::string> warnings;
  TACET_ASSIGN_OR_RETURN(const bool same_data, run.TakeUpData());
  if (!same_data) {
    warnings.push_back(fmt::format(
        "{} holds other data than this training ran with before. They are charged to the same "
        "ledger; if they are the wrong ones, stop this run",
        training.data.name));
  }
  const std::string& path = training.config.data.path;
  if (!path.empty()) {
    TACET_ASSIGN_OR_RETURN(const data::CsvOptions csv, config::CsvOptionsOf(training.config));
    for (std::string& text :
         RowWarnings(site.folder, site.ledger->header().population, path, csv.separator)) {
      warnings.push_back(std::move(text));
    }
  }
  for (const std::string& text : warnings) {
    if (hooks.on_warning) hooks.on_warning(text);
  }
  return absl::OkStatus();
}

absl::StatusOr<SiteMemberEnd> EndOf(const MemberSession& session,
                                    const agreement::Manifest& manifest,
                                    const ledger::PrivacyLedger& ledger, const SiteRun& run,
                                    SiteRunEnd ended, bool done) {
  const absl::StatusOr<accounting::EpsilonBounds> spent = ledger.spending().Epsilon();
  SiteMemberEnd end{
      .rounds = session.next_round(),
      .done = done,
      .complete = session.next_round() == manifest.spec().rounds,
      .stopped = std::move(ended.stopped),
      .of_rounds = {},
      .missing = std::move(ended.missing),
      .charged_attempts = ledger.ChargesOf(manifest.federation(), manifest.spec().training),
      .ledger_epsilon = spent.ok() ? spent->epsilon() : std::numeric_limits<double>::infinity(),
      .violations = {},
      .run = run.path()};
  TACET_ASSIGN_OR_RETURN(end.of_rounds, run.Rounds());
  TACET_ASSIGN_OR_RETURN(end.epsilon, run.Epsilon());
  TACET_ASSIGN_OR_RETURN(end.charged_epsilon, run.ChargedEpsilon());
  for (const member::NodeEvent& violation : session.violations()) {
    end.violations.push_back(violation.what);
  }
  return end;
}

// Those of `source`, whose failures are told.
class ToldUpdates final : public trainer::UpdateSource {
 public:
  ToldUpdates(trainer::UpdateSource& source,
              const std::function<void(const absl::Status& failure)>& tell)
      : source_(source), tell_(tell) {}

  uint64_t units() const override { return source_.units(); }
  absl::Status Update(const trainer::AttemptContext& context, std::span<const float> model,
                      std::span<float> update) override {
    absl::Status made = source_.Update(context, model, update);
    // Aborted: the code was killed, and starts again.
    if (!made.ok() && !absl::IsCancelled(made) && !absl::IsAborted(made) && tell_) {
      tell_(base::Annotate(made, fmt::format("round {}", context.round)));
    }
    return made;
  }

 private:
  trainer::UpdateSource& source_;
  const std::function<void(const absl::Status& failure)>& tell_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<SiteMember>> SiteMember::Open(
    SiteMemberSpec spec, const std::function<absl::StatusOr<crypto::Unlocker>()>& ask) {
  TACET_ASSIGN_OR_RETURN(SiteFolder folder, SiteFolder::Open(spec.home));
  TACET_ASSIGN_OR_RETURN(Membership membership, Joined(folder, spec.home));
  TACET_ASSIGN_OR_RETURN(crypto::Unlocker asked, ask());
  auto unlocker = std::make_shared<const crypto::Unlocker>(std::move(asked));
  return OpenWith(std::move(spec), std::move(folder), std::move(membership), std::move(unlocker));
}

absl::StatusOr<std::unique_ptr<SiteMember>> SiteMember::OpenAgain() const {
  TACET_ASSIGN_OR_RETURN(SiteFolder folder, SiteFolder::Open(spec_.home));
  TACET_ASSIGN_OR_RETURN(Membership membership, Joined(folder, spec_.home));
  return OpenWith(spec_, std::move(folder), std::move(membership), unlocker_);
}

absl::StatusOr<std::unique_ptr<SiteMember>> SiteMember::OpenWith(
    SiteMemberSpec spec, SiteFolder folder, Membership membership,
    std::shared_ptr<const crypto::Unlocker> unlocker) {
  TACET_ASSIGN_OR_RETURN(agreement::MemberKeys keys, folder.UnlockKeys(*unlocker));
  TACET_ASSIGN_OR_RETURN(agreement::ExchangeKeys exchange_keys,
                         folder.TakeUpExchangeKeys(membership, *unlocker));
  // Joined() cannot check it without the keys.
  absl::StatusOr<crypto::SecretBytes> epoch_key =
      agreement::DecryptEpochKey(membership.sealed_epoch_key, membership.manifest,
                                 *membership.member, keys.sealing, exchange_keys.kem);
  if (!epoch_key.ok()) {
    return base::DataLoss(
        "{} cannot be used ({}): `tacet client join FILE --coordinator FINGERPRINT` replaces it",
        folder.invitation_path().string(), base::Message(epoch_key.status()));
  }
  // Wiped where nothing is unlocked later.
  if (!spec.follows.has_value()) unlocker.reset();
  return std::unique_ptr<SiteMember>(new SiteMember(
      std::move(spec), std::move(folder), std::move(membership), std::move(keys),
      {.epoch = *std::move(epoch_key), .exchange = std::move(exchange_keys)}, std::move(unlocker)));
}

absl::StatusOr<std::unique_ptr<protocol::Wire>> SiteMember::Connect() const {
  const std::string server = spec_.follows.has_value()
                                 ? AddressOfServer(membership_.manifest.server(), spec_.server)
                                 : spec_.server;
  return ConnectToServer(server, spec_.proxy, membership_, keys_);
}

absl::StatusOr<SiteMemberEnd> SiteMember::Run(const SiteMemberRun& run,
                                              const SiteMemberHooks& hooks) const {
  crypto::SystemEntropy entropy;
  member::Backoff pause({}, entropy);
  while (true) {
    absl::StatusOr<SiteMemberEnd> end = RunOnce(run, hooks);
    // Everything is read again once there is room.
    if (base::CauseOf(end.status()) != base::FailureCause::kNoRoom) return end;
    if (hooks.on_trouble) hooks.on_trouble(end.status());
    if (!Wait(pause.NextSeconds(), hooks.stop)) return end;
  }
}

std::optional<EpochFollower> SiteMember::Follower(const SiteMemberHooks& hooks) const {
  if (!spec_.follows.has_value()) return std::nullopt;
  return EpochFollower({.home = spec_.home,
                        .policy = spec_.policy,
                        .keys = keys_,
                        .unlocker = *unlocker_,
                        .on_note = hooks.on_note});
}

bool SiteMember::HasMoved() const {
  const absl::StatusOr<Membership> now = folder_.Joined();
  return now.ok() && (now->manifest.manifest().hash() != manifest().hash() ||
                      now->certificate != membership_.certificate);
}

bool SiteMember::AwaitMove(protocol::Wire& wire, const SiteMemberHooks& hooks,
                           double most_seconds) const {
  std::optional<EpochFollower> follower = Follower(hooks);
  const base::Stopwatch waited;
  while (!LookAtMail(wire, hooks, follower ? &*follower : nullptr).moved) {
    const double left = most_seconds - waited.Seconds();
    if (left <= 0 || !Wait(std::min(left, spec_.follows.value_or(left)), hooks.stop)) return false;
  }
  return true;
}

SiteMember::MailLook SiteMember::LookAtMail(protocol::Wire& wire, const SiteMemberHooks& hooks,
                                            EpochFollower* follower) const {
  if (spec_.server.empty()) return {};
  const protocol::MailClient mail(manifest().federation(), keys_.signing, wire,
                                  follower == nullptr ? kMailSeconds : kFollowingMailSeconds);
  const auto warn = [&hooks](const std::string& text) {
    if (hooks.on_warning) hooks.on_warning(text);
  };
  if (follower != nullptr) {
    const absl::StatusOr<EpochFollower::Looked> looked = follower->Look(mail);
    // The way to the server has its own words; what the site has to know is told.
    if (!looked.ok() && !protocol::IsRetryable(looked.status()))
      warn(base::Message(looked.status()));
    return {.waiting = looked.ok() ? looked->waiting : std::nullopt, .moved = HasMoved()};
  }
  // Another process may have joined a later epoch, and have left other keys.
  const absl::StatusOr<Membership> now = folder_.Joined();
  const Membership& joined = now.ok() ? *now : membership_;
  const absl::StatusOr<std::optional<FoundLetter>> found = LookForLetter(mail, joined);
  if (found.status().code() == absl::StatusCode::kPermissionDenied) {
    warn(base::Message(found.status()));
  }
  MailLook look;
  if (found.ok() && found->has_value() && (*found)->is_news) {
    look.waiting = (*found)->letter.epoch;
    warn(
        fmt::format("an invitation to epoch {} waits at the server. See what it changes, and "
                    "accept it: tacet client join --home {} --server {}",
                    *look.waiting, spec_.home.string(), spec_.server));
  } else if (found.ok() && found->has_value()) {
    // For an epoch that the site joined by a file, or before it could say so. Not dropped, it
    // expires.
    (void)EndLetter(mail, joined, (*found)->digest);
  }
  // The training does not wait for it. Where it fails, the next look leaves it.
  (void)LeaveUnusedPrekey(mail, folder_);
  return look;
}

absl::StatusOr<SiteMemberEnd> SiteMember::RunOnce(const SiteMemberRun& run,
                                                  const SiteMemberHooks& hooks) const {
  const SiteTraining& training = run.training;
  const agreement::SignedManifest& manifest = membership_.manifest;
  TACET_ASSIGN_OR_RETURN(const std::optional<SignedPolicy> policy,
                         LoadSitePolicy(PolicyPath(spec_.home, spec_.policy), keys_.officer));
  TACET_ASSIGN_OR_RETURN(policy::Permission permission,
                         AskPolicy(policy, keys_, membership_, training));
  TACET_ASSIGN_OR_RETURN(const agreement::InitialModel initial, InitialModel());
  TACET_ASSIGN_OR_RETURN(const auto directory,
                         SiteRun::Open(spec_.home, training, membership_, run.out, run.figures));
  TACET_ASSIGN_OR_RETURN(const auto state, storage::file::MemberStateFolder::Open(
                                               spec_.home / storage::file::kMemberState));
  TACET_ASSIGN_OR_RETURN(const SiteLedger site,
                         OpenSiteLedger({.home = spec_.home,
                                         .config = training.ledger,
                                         .manifest = manifest.manifest(),
                                         .member = static_cast<uint32_t>(*membership_.member),
                                         .state = *state,
                                         .policy = policy,
                                         .permission = permission}));
  TACET_ASSIGN_OR_RETURN(
      const std::unique_ptr<member::SeatAnchor> anchor,
      AnchorOfSeat(membership_, keys_.signing.public_key(), training.ledger.anchor));
  ledger::PrivacyLedger& ledger = *site.ledger;
  TACET_ASSIGN_OR_RETURN(const auto log,
                         storage::file::NodeLogFile::Open(spec_.home / "node-log.jsonl"));
  crypto::SystemEntropy entropy;
  ToldUpdates updates(run.updates, hooks.on_failure);
  const auto wait = [&](double seconds) { return Wait(seconds, hooks.stop); };
  member::RetryPolicy retry_policy({}, entropy, wait, hooks.on_trouble);
  const member::RemoteServer server(manifest, *membership_.member, keys_.signing, run.wire,
                                    base::SystemUnixSeconds, std::ref(retry_policy));
  TACET_ASSIGN_OR_RETURN(const auto session,
                         MemberSession::Create({.manifest = manifest,
                                                .member = *membership_.member,
                                                .signing_key = keys_.signing,
                                                .exchange_keys = epoch_keys_.exchange,
                                                .epoch_key = epoch_keys_.epoch,
                                                .server = server,
                                                .state = *state,
                                                .updates = updates,
                                                .log = *log,
                                                .ledger = ledger,
                                                .permission = std::move(permission),
                                                .entropy = entropy,
                                                .rule = site.rule,
                                                .earlier = membership_.earlier(),
                                                .anchor = anchor.get()},
                                               initial));
  TACET_RETURN_IF_ERROR(Warn(site, *directory, training, hooks));
  if (hooks.on_begin) hooks.on_begin();
  const WireStopper stopper(run.wire, hooks.stop);
  std::optional<EpochFollower> follower = Follower(hooks);
  EpochFollower* const follows = follower ? &*follower : nullptr;
  MailLook mail = LookAtMail(run.wire, hooks, follows);
  TACET_RETURN_IF_ERROR(directory->Begin(*session, ledger));
  auto looked = std::chrono::steady_clock::now();
  const std::chrono::duration<double> between =
      spec_.follows.has_value() ? std::chrono::duration<double>(*spec_.follows) : kBetweenMailLooks;
  const auto look_when_due = [&] {
    if (std::chrono::steady_clock::now() - looked < between) return;
    mail = LookAtMail(run.wire, hooks, follows);
    looked = std::chrono::steady_clock::now();
  };
  // The site's charges and statements are on its disk before each wait, so a wait may be the last.
  const auto wait_and_look = [&](double seconds) {
    for (look_when_due(); !mail.moved; look_when_due()) {
      const double next = std::min(seconds, between.count());
      if (!wait(next)) return false;
      seconds -= next;
      if (seconds <= 0) return true;
    }
    return false;
  };
  const member::MemberLoopHooks loop_hooks{
      .wait = wait_and_look,
      .on_trouble =
          [&](const absl::Status& trouble) {
            // The server may have continued to another epoch.
            looked -= std::chrono::duration_cast<std::chrono::steady_clock::duration>(between);
            if (hooks.on_trouble) hooks.on_trouble(trouble);
          },
      .on_progress =
          [&](const MemberSession& now) {
            // A line that a full disk does not take is written with a later round, or at the end.
            const absl::Status written = directory->Progress(now, ledger);
            if (hooks.on_progress) hooks.on_progress(now);
            if (!written.ok() && hooks.on_trouble) hooks.on_trouble(written);
          }};
  const absl::Status ended = mail.moved ? absl::CancelledError("the site has joined another epoch")
                                        : member::RunMember(*session, {}, entropy, loop_hooks);
  if (!mail.moved) mail = LookAtMail(run.wire, hooks, follows);
  if (!ended.ok() && ended.code() != absl::StatusCode::kCancelled) return ended;
  // A server that left the epoch behind the last round did not say that it was the last.
  const bool is_done =
      ended.ok() || (mail.moved && session->next_round() == manifest.manifest().spec().rounds);
  TACET_ASSIGN_OR_RETURN(SiteRunEnd run_end, directory->End(*session, ledger, is_done));
  TACET_ASSIGN_OR_RETURN(SiteMemberEnd end, EndOf(*session, manifest.manifest(), ledger, *directory,
                                                  std::move(run_end), is_done));
  end.moved = mail.moved;
  end.waiting_epoch = mail.waiting;
  return end;
}

void FollowEpochs(std::unique_ptr<SiteMember> first, const FollowedRun& followed) {
  const SiteMemberHooks& hooks = followed.hooks;
  const auto tell = [&hooks](const absl::Status& trouble) {
    if (!trouble.ok() && hooks.on_trouble) hooks.on_trouble(trouble);
  };
  std::unique_ptr<SiteMember> member = std::move(first);
  while (!hooks.stop()) {
    const absl::StatusOr<SiteMemberEnd> end = followed.run(*member);
    tell(end.status());
    if (!end.ok() || !end->moved) {
      const absl::StatusOr<std::unique_ptr<protocol::Wire>> wire = followed.connect(*member);
      tell(wire.status());
      const double seconds = end.ok() && end->done && wire.ok()
                                 ? std::numeric_limits<double>::infinity()
                                 : kBetweenTriesSeconds;
      if (wire.ok()) {
        const WireStopper stopper(**wire, hooks.stop);
        (void)member->AwaitMove(**wire, hooks, seconds);
      } else {
        Wait(seconds, hooks.stop);
      }
    }
    while (!hooks.stop()) {
      absl::StatusOr<std::unique_ptr<SiteMember>> again = member->OpenAgain();
      tell(again.status());
      if (again.ok()) {
        member = *std::move(again);
        break;
      }
      Wait(kBetweenTriesSeconds, hooks.stop);
    }
  }
}

base::JsonValue SiteMemberEndJson(const Membership& membership, const SiteMemberEnd& end) {
  const agreement::SignedManifest& manifest = membership.manifest;
  base::JsonValue violations = base::JsonValue::MakeArray();
  for (const std::string& violation : end.violations) violations.Append(violation);
  return base::JsonValue::MakeObject()
      .Set("federation", manifest.federation())
      .Set("member", manifest.members()[*membership.member].name)
      .Set("epoch", manifest.epoch())
      .Set("rounds", end.rounds)
      .Set("done", end.done)
      .Set("complete", end.complete)
      .Set("stopped", base::OrNull(end.stopped))
      .Set("givers", run::GiversJson(end.of_rounds))
      .Set("abstained_rounds",
           std::ranges::count(end.of_rounds, true, &simulation::RoundRecord::abstains))
      .Set("charged_attempts", end.charged_attempts)
      .Set("epsilon", end.epsilon)
      .Set("charged_epsilon", end.charged_epsilon)
      .Set("ledger_epsilon", end.ledger_epsilon)
      .Set("violations", std::move(violations))
      .Set("waiting_epoch",
           end.waiting_epoch.has_value() ? base::JsonValue(*end.waiting_epoch) : base::JsonValue())
      .Set("run", end.run.string());
}

}  // namespace tacet::site
