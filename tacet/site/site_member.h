// Member of a live federation at its site: keys, policy, run directory, ledger and server of one
// home. `tacet client run` and the Python package run it.
#ifndef TACET_SITE_SITE_MEMBER_H_
#define TACET_SITE_SITE_MEMBER_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/agreement/member_keys.h"
#include "tacet/base/json.h"
#include "tacet/base/text_sink.h"
#include "tacet/crypto/locked_secret.h"
#include "tacet/crypto/secret.h"
#include "tacet/member/member_session.h"
#include "tacet/protocol/wire.h"
#include "tacet/site/epoch_follower.h"
#include "tacet/site/site_run.h"
#include "tacet/site/site_training.h"
#include "tacet/storage/file/site_folder.h"
#include "tacet/trainer/update_source.h"

namespace tacet::site {

struct SiteMemberSpec {
  std::filesystem::path home;
  std::string server;                 // HOST:PORT, for Connect
  std::string proxy;                  // empty: as the environment says
  std::optional<std::string> policy;  // none: policy.toml in the home
  // Seconds between looks at the mail of a site that follows its epochs (EpochFollower); none: it
  // follows none.
  std::optional<double> follows = std::nullopt;
};

struct SiteMemberHooks {
  // Whether to end. Asked several times a second, from two threads.
  std::function<bool()> stop;
  // The others may be empty. A warning for the site's people, before `on_begin`, and about mail at
  // the server also behind it: the run continues, and the warning stays at the site.
  std::function<void(const std::string& text)> on_warning;
  // Once policy, ledger and state permit a session, before its first call.
  std::function<void()> on_begin;
  // About an epoch that was joined, or is not, by a site that follows its epochs.
  std::function<void(const std::string& text)> on_note;
  // A failure after which the call or the step is tried again.
  std::function<void(const absl::Status& trouble)> on_trouble;
  // The error of the site's training in whose place zeros are sealed. The run continues: whether a
  // site is there must not depend on its data either. Nobody outside the site is told.
  std::function<void(const absl::Status& failure)> on_failure = nullptr;
  // After a step that was acted on.
  std::function<void(const member::MemberSession& session)> on_progress;
};

struct SiteMemberRun {
  const SiteTraining& training;
  trainer::UpdateSource& updates;
  protocol::Wire& wire;         // to the server; stopped when the run is asked to end
  base::TextSink out = {};      // lines about rounds
  base::TextSink figures = {};  // of each round, as a line of metrics.jsonl
};

struct SiteMemberEnd {
  uint32_t rounds = 0;  // applied in all
  bool done = false;    // the server begins no further attempt
  bool complete = false;
  std::string stopped;  // why it ended before its last round; empty: it did not, or continues
  std::vector<simulation::RoundRecord> of_rounds;  // as metrics.jsonl has them
  std::vector<run::MissingSite> missing;           // of a query: whose data are not in the answers
  uint64_t charged_attempts = 0;
  // For the training's guarantee, and as a forecast of its charges (SiteRun); of all charges in the
  // ledger of the population. Infinite without a bound.
  double epsilon = 0;
  double charged_epsilon = 0;
  double ledger_epsilon = 0;
  std::vector<std::string> violations;  // names, of this run
  std::filesystem::path run;            // directory
  // The site has joined another epoch, or has another certificate: it is to be opened again.
  bool moved = false;
  // Epoch of an invitation that waits at the server for a person to accept it.
  std::optional<uint32_t> waiting_epoch = std::nullopt;
};

class SiteMember {
 public:
  // NotFound and FailedPrecondition when the home has no identity, has not joined, is the server's,
  // or its epoch names no server; only then `unlocker` is asked. Its errors, and those of a wrong
  // passphrase or key file.
  static absl::StatusOr<std::unique_ptr<SiteMember>> Open(
      SiteMemberSpec spec, const std::function<absl::StatusOr<crypto::Unlocker>()>& unlocker);
  // The same home as its disk has it now, without asking for the unlocker again. Of a site that
  // follows its epochs: any other has wiped it.
  absl::StatusOr<std::unique_ptr<SiteMember>> OpenAgain() const;

  const storage::file::Membership& membership() const { return membership_; }
  const agreement::Manifest& manifest() const { return membership_.manifest.manifest(); }
  const SiteMemberSpec& spec() const { return spec_; }
  absl::StatusOr<agreement::InitialModel> InitialModel() const { return folder_.InitialModel(); }

  // Run directory of the present training, which need not exist yet.
  std::filesystem::path run_folder() const {
    return RunFolderOf(spec_.home, membership_.manifest.training());
  }

  // Connection to spec().server. InvalidArgument names the field of the spec that cannot be used.
  absl::StatusOr<std::unique_ptr<protocol::Wire>> Connect() const;

  // Takes part until the federation is done, `hooks.stop` says so, or the site itself fails.
  // Failures that pass, such as a full disk, are retried: `on_begin` may be called again. Errors:
  // PermissionDenied names the limit of the policy that the agreement does not keep; those of
  // OpenSiteLedger, SiteRun::Open and RunMember.
  absl::StatusOr<SiteMemberEnd> Run(const SiteMemberRun& run, const SiteMemberHooks& hooks) const;

  // For a site that follows its epochs: looks at the mail until the site has moved, `hooks.stop`
  // says so, or the time is over. True: it has moved.
  bool AwaitMove(protocol::Wire& wire, const SiteMemberHooks& hooks, double most_seconds) const;

 private:
  struct EpochKeys {
    crypto::SecretBytes epoch;
    agreement::ExchangeKeys exchange;
  };
  SiteMember(SiteMemberSpec spec, storage::file::SiteFolder folder,
             storage::file::Membership membership, agreement::MemberKeys keys, EpochKeys epoch_keys,
             std::shared_ptr<const crypto::Unlocker> unlocker)
      : spec_(std::move(spec)),
        folder_(std::move(folder)),
        membership_(std::move(membership)),
        keys_(std::move(keys)),
        epoch_keys_(std::move(epoch_keys)),
        unlocker_(std::move(unlocker)) {}

  static absl::StatusOr<std::unique_ptr<SiteMember>> OpenWith(
      SiteMemberSpec spec, storage::file::SiteFolder folder, storage::file::Membership membership,
      std::shared_ptr<const crypto::Unlocker> unlocker);
  absl::StatusOr<SiteMemberEnd> RunOnce(const SiteMemberRun& run,
                                        const SiteMemberHooks& hooks) const;
  struct MailLook {
    std::optional<uint32_t> waiting;  // epoch of an invitation for which a person is needed
    bool moved = false;
  };
  // Tells of an invitation that waits at the server, and leaves the prekey there if one was made.
  // Changes nothing else: a person accepts the invitation. With a follower it may join it.
  MailLook LookAtMail(protocol::Wire& wire, const SiteMemberHooks& hooks,
                      EpochFollower* follower) const;
  // None where the site follows no epochs.
  std::optional<EpochFollower> Follower(const SiteMemberHooks& hooks) const;
  // Whether the disk has another epoch or certificate than this object.
  bool HasMoved() const;

  SiteMemberSpec spec_;
  storage::file::SiteFolder folder_;
  storage::file::Membership membership_;
  agreement::MemberKeys keys_;
  EpochKeys epoch_keys_;
  std::shared_ptr<const crypto::Unlocker> unlocker_;
};

struct FollowedRun {
  // Takes part in the epoch of a member, with these hooks.
  std::function<absl::StatusOr<SiteMemberEnd>(const SiteMember& member)> run;
  // To the server of its epoch, for mail.
  std::function<absl::StatusOr<std::unique_ptr<protocol::Wire>>(const SiteMember& member)> connect;
  SiteMemberHooks hooks;
};
// A site that follows its epochs from that of `first` on, until `hooks.stop` says so. Where a
// training is complete it waits for the next epoch. A run that fails is told as trouble, and tried
// again after some minutes, or in the next epoch.
void FollowEpochs(std::unique_ptr<SiteMember> first, const FollowedRun& followed);

// The end of a run as `tacet client run --json` prints it.
base::JsonValue SiteMemberEndJson(const storage::file::Membership& membership,
                                  const SiteMemberEnd& end);

}  // namespace tacet::site

#endif  // TACET_SITE_SITE_MEMBER_H_
