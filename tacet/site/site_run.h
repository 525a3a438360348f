// Run directory of a site in a live federation. `tacet report` and `tacet audit` read it like one
// of `tacet simulate`.
#ifndef TACET_SITE_SITE_RUN_H_
#define TACET_SITE_SITE_RUN_H_

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/stopwatch.h"
#include "tacet/base/text_sink.h"
#include "tacet/ledger/privacy_ledger.h"
#include "tacet/member/member_session.h"
#include "tacet/run/run_output.h"
#include "tacet/site/run_ledger.h"
#include "tacet/site/site_abstentions.h"
#include "tacet/site/site_training.h"
#include "tacet/storage/file/run_directory.h"
#include "tacet/storage/file/site_folder.h"

namespace tacet::site {

// `home`/run of a federation's first training, `home`/run-N of the one that began with epoch N.
std::filesystem::path RunFolderOf(const std::filesystem::path& home, uint32_t training);

struct SiteRunEnd {
  std::string stopped = {};  // why it ended before its last round; empty: it did not, or continues
  std::vector<run::MissingSite> missing = {};  // of a query: whose data are not in the answers
};

// One object serves one process. Figures on the site's own held-out samples are outside of epsilon:
// they are neither computed nor told unless run.publish_evaluation asks for it, and then rounded.
class SiteRun {
 public:
  // The run in the training's folder; all must outlive it; text goes to `out`, each round's line of
  // the metrics to `figures`. FailedPrecondition when it is a run with other settings, or another
  // process uses it.
  static absl::StatusOr<std::unique_ptr<SiteRun>> Open(const std::filesystem::path& home,
                                                       const SiteTraining& training,
                                                       const storage::file::Membership& membership,
                                                       const base::TextSink& out,
                                                       const base::TextSink& figures);

  // `ledger`: of the site's population. DataLoss when it lacks attempts of this training, or of an
  // earlier one, that the training's run has.
  absl::Status Begin(const member::MemberSession& session, const ledger::PrivacyLedger& ledger);
  // Whether the site's data are those that the training last ran with; they are from here on.
  absl::StatusOr<bool> TakeUpData() const;
  // Writes down every round that was applied since the last call.
  absl::Status Progress(const member::MemberSession& session, const ledger::PrivacyLedger& ledger);
  // The model, and when the federation is done the summary.
  absl::StatusOr<SiteRunEnd> End(const member::MemberSession& session,
                                 const ledger::PrivacyLedger& ledger, bool done);

  const std::filesystem::path& path() const { return directory_->path(); }

  // For the worst observer that has a guarantee, infinite where nothing is guaranteed: of all
  // attempts that the agreement permits, and as a forecast of those that were charged so far, under
  // whichever terms.
  absl::StatusOr<double> Epsilon() const;
  absl::StatusOr<double> ChargedEpsilon() const;
  // Complete rounds, as metrics.jsonl has them.
  absl::StatusOr<std::vector<simulation::RoundRecord>> Rounds() const;

 private:
  SiteRun(const SiteTraining& training, const storage::file::Membership& membership,
          std::unique_ptr<storage::file::RunDirectory> directory, const base::TextSink& out,
          const base::TextSink& figures)
      : training_(training),
        membership_(membership),
        directory_(std::move(directory)),
        abstentions_(membership, *directory_),
        reporter_(*directory_, {},
                  {.kind = tacet::audit::RunKind::kMember,
                   .member = *membership.member,
                   .publish_evaluation = training.config.run.publish_evaluation.value_or(false)},
                  out, figures) {}
  // Rounded; nothing when it is not to be published.
  absl::StatusOr<std::optional<trainer::Evaluation>> Evaluate(
      const member::MemberSession& session) const;
  absl::Status OpenRunLedger(const ledger::PrivacyLedger& ledger);
  // Forgets what was written of rounds from `round` on, which were undone.
  absl::Status Undo(uint32_t round);
  // Complete and readable lines of metrics.jsonl, from the first one on; the others are dropped.
  absl::StatusOr<std::vector<std::string>> KeepReadableRounds();
  // Whether a line of metrics.jsonl is about this model.
  absl::StatusOr<bool> IsModelOf(const std::string& line, std::span<const float> model) const;
  absl::Status ForgetAttestations(uint32_t round);
  // Keeps this member's attestation about the model that it has now.
  absl::Status Attest(const member::MemberSession& session);
  absl::Status KeepOthersAttestations(const member::MemberSession& session);
  absl::Status Write(const member::MemberSession& session, uint32_t round);
  absl::Status KeepEarlierManifests();
  const agreement::Manifest& manifest() const { return membership_.manifest.manifest(); }

  const SiteTraining& training_;
  const storage::file::Membership& membership_;
  std::unique_ptr<storage::file::RunDirectory> directory_;
  SiteAbstentions abstentions_;
  run::RunReporter reporter_;
  std::unique_ptr<RunLedger> ledger_;
  base::Stopwatch since_start_, since_round_;
  uint32_t written_ = 0;              // rounds
  size_t undone_ = 0;                 // times
  std::optional<uint32_t> attested_;  // the last round whose beginning was
  std::optional<trainer::Evaluation> last_;
};

}  // namespace tacet::site

#endif  // TACET_SITE_SITE_RUN_H_
