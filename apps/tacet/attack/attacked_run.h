// A finished run as a membership test needs it: its model, its terms, and the samples it was
// trained on.
#ifndef TACET_APPS_TACET_ATTACK_ATTACKED_RUN_H_
#define TACET_APPS_TACET_ATTACK_ATTACKED_RUN_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/accounting/privacy_event.h"
#include "tacet/agreement/charged_terms.h"
#include "tacet/agreement/manifest.h"
#include "tacet/config/run_config.h"
#include "tacet/data/dataset.h"
#include "tacet/models/architecture.h"
#include "tacet/run/run_reader.h"
#include "tacet/storage/file/run_directory.h"

namespace tacet::app::attack {

// Candidates of a membership test, in order: records, or all samples of a client or of a person.
// Members are what the model was trained on; samples that were held out for evaluation belong to
// nobody.
struct Candidates {
  accounting::Unit unit = accounting::Unit::kRecord;
  // The candidates' samples at their clients, before clients are spread over sites.
  data::Dataset data;
  std::vector<std::vector<uint32_t>> rows;  // of `data`, by candidate
  std::vector<bool> is_member;
  // Unit record: the client; candidates of one client are halved among themselves. Else 0.
  std::vector<uint64_t> stratum;

  uint64_t members() const;
  uint64_t non_members() const { return rows.size() - members(); }
};

// The directory of a run that is to be attacked. NotFound when `path` is none.
absl::StatusOr<std::unique_ptr<storage::file::RunDirectory>> OpenAttackedDirectory(
    const std::string& path);

class AttackedRun {
 public:
  // `data` replaces the path of the run's data. NotFound when there is no finished run;
  // FailedPrecondition when the data are not those the run's ledger was opened for.
  static absl::StatusOr<AttackedRun> Open(const storage::file::RunDirectory& directory,
                                          const std::optional<std::string>& data);

  // Unit record: samples that the clients trained on against samples of the same clients that were
  // held out. Unit client: clients in the federation against clients of the data set that
  // data.clients left out. Unit person: likewise. At most `clients` of each kind when that is not
  // 0, spread evenly; unit record: all samples of so many clients. FailedPrecondition says why
  // there is nobody of one kind.
  absl::StatusOr<Candidates> CandidatesOf(accounting::Unit unit, uint64_t clients) const;

  const config::RunConfig& config() const { return record_.config; }
  // The agreement that the run was charged for.
  const agreement::Manifest& manifest() const { return manifest_; }
  const agreement::ManifestSpec& agreed() const { return manifest_.spec(); }
  // For which its guarantee holds.
  std::vector<agreement::ChargedTerms> permitted() const {
    return agreement::PermittedTerms(manifest_);
  }
  uint64_t charged_attempts() const { return run::ChargedAttempts(record_); }
  const std::vector<std::string>& labels() const { return record_.labels; }
  const models::Architecture& architecture() const { return architecture_; }
  const std::vector<float>& model() const { return model_; }
  // Names data in the run's attack folder; keyed by the run's data key.
  crypto::Digest KeyedDigest(const data::Dataset& data) const;
  bool has_guarantee() const { return agreed().mechanism.makes_guarantee(); }

 private:
  // Role of a sample of the data set in the run.
  enum class Fate : uint8_t { kLeftOut, kHeldOut, kTrained };

  AttackedRun(run::RunRecord record, agreement::Manifest manifest, crypto::SecretBytes data_key,
              data::Dataset all, models::Architecture architecture)
      : record_(std::move(record)),
        manifest_(std::move(manifest)),
        data_key_(std::move(data_key)),
        all_(std::move(all)),
        architecture_(std::move(architecture)) {}
  absl::Status ReadModel(const storage::file::RunDirectory& directory);
  absl::Status FollowRows();

  run::RunRecord record_;
  agreement::Manifest manifest_;
  crypto::SecretBytes data_key_;
  data::Dataset all_;  // what data.path holds
  models::Architecture architecture_;
  std::vector<float> model_;
  std::vector<Fate> fates_;  // by row of all_
};

}  // namespace tacet::app::attack

#endif  // TACET_APPS_TACET_ATTACK_ATTACKED_RUN_H_
