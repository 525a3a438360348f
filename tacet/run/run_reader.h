// Reader of a run directory: everything in it that later commands report, checked.
#ifndef TACET_RUN_RUN_READER_H_
#define TACET_RUN_RUN_READER_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/agreement/charged_terms.h"
#include "tacet/agreement/manifest.h"
#include "tacet/base/bytes.h"
#include "tacet/base/json.h"
#include "tacet/config/run_config.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/signing.h"
#include "tacet/ledger/ledger_recovery.h"
#include "tacet/run/run_output.h"
#include "tacet/simulation/simulation.h"
#include "tacet/trainer/learner.h"

namespace tacet::run {

// start.json
struct RunStart {
  // For the model before the first round; absent when it was not published.
  std::optional<trainer::Evaluation> evaluation = {};
  std::string commit = "unknown";  // of the programs that worked on the run, ", " between
  RunPart part;
  std::optional<crypto::PublicKey> audit_key = {};  // absent when the run lost it
};

struct RunRecord {
  std::filesystem::path path;
  std::string name;      // the directory's own name, for headings: bytes of any kind
  std::string settings;  // config.toml as it stands
  config::RunConfig config;
  std::vector<std::string> labels;  // why the run is less than private: SimulationLabels
  std::optional<RunStart> start;    // absent before the first round began
  // Complete rounds, 0, 1, 2, ... without a gap. Their epsilon is infinite where there is no
  // guarantee.
  std::vector<simulation::RoundRecord> rounds;
  // Charged attempts that gave no sum, and why.
  std::vector<std::pair<secagg::AttemptNumber, simulation::Refusal>> refused;
  // Attempts that were begun, as a simulation wrote them down before it sealed anything.
  std::vector<secagg::AttemptNumber> begun;
  // Signed statements about the models of a live member's rounds.
  std::vector<base::Bytes> attestations;
  std::vector<base::Bytes> abstentions;
  // Canonical bytes by their hash, of those manifests that the ledger's charges name and the run
  // kept: agreement::ReadManifestBytes.
  std::map<crypto::Digest, base::Bytes> manifests;
  // summary.json as it stands; absent while the run continues, or when it was broken off.
  std::optional<base::JsonValue> summary;
  // Whole and chained, and not older than `rounds`; absent before anything was charged.
  std::optional<ledger::RecoveredLedger> ledger;

  bool finished() const { return summary.has_value(); }
};

// A line of metrics.jsonl. DataLoss names the member that is wrong.
absl::StatusOr<simulation::RoundRecord> RoundOf(std::string_view line);

// A whole file. NotFound when there is none, DataLoss when it has more than `most` bytes.
absl::StatusOr<std::string> ReadText(const std::filesystem::path& path, uintmax_t most);

// Reads the run in `path`, also while a process works on it, and changes nothing. NotFound when it
// holds no run; DataLoss and InvalidArgument name the file, and in metrics.jsonl the line, that is
// damaged, too large or contradicts itself.
absl::StatusOr<RunRecord> LoadRun(const std::filesystem::path& path);

// The agreement that the run was charged for, with the members of the last charge: read from the
// manifest that the run kept, and planned. FailedPrecondition when nothing was charged yet, or the
// manifest's file is missing.
absl::StatusOr<agreement::Manifest> ManifestOf(const RunRecord& run);

// Every agreement that the run was charged for, planned, with the attempts under each; the one of
// ManifestOf last. More than one where members or terms changed while the training continued.
// Errors as above; a simulation's lost manifests are taken to be of the agreement that it has.
absl::StatusOr<std::vector<agreement::ChargedTerms>> TermsOf(const RunRecord& run);

// Whether `model`, all parameters of it, is the one that the round has, by the digest key that the
// run keeps. NotFound and the other errors of storage::file::ReadDigestKey where it keeps none.
absl::StatusOr<bool> IsModelOf(const RunRecord& run, const simulation::RoundRecord& round,
                               std::span<const float> model);

// Attempts that the run charged for, by its ledger; by its rounds where it has none.
uint64_t ChargedAttempts(const RunRecord& run);

}  // namespace tacet::run

#endif  // TACET_RUN_RUN_READER_H_
