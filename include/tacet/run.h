// A run on disk: figures of its rounds, its guarantee, its model and a query's answers.
#ifndef TACET_RUN_H_
#define TACET_RUN_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/guarantee.h"

namespace tacet {

namespace api {
struct RunParts;
}  // namespace api

// Quality of a model on samples that no client trained on. A figure that was not measured is
// absent.
struct Evaluation {
  std::optional<double> accuracy = std::nullopt;  // share of correct samples, in [0, 1]
  std::optional<double> loss = std::nullopt;      // mean, finite; in nats for cross-entropy
  std::optional<double> auc = std::nullopt;       // area under the ROC curve, in [0, 1]
  uint64_t samples = 0;                           // above 0 where there is a figure
};

// Figures of one round whose sum was applied to the model.
struct RoundFigures {
  uint32_t round = 0;             // from 0
  uint32_t participants = 0;      // uploads in the sum
  uint32_t attempts = 0;          // of this round, all charged
  uint64_t charged_attempts = 0;  // of all rounds so far
  // Epsilon of the attempts so far, for the worst observer that has a guarantee. A forecast: it
  // would hold for a run that was fixed beforehand to end here. Absent without a guarantee.
  std::optional<double> charged_epsilon = std::nullopt;
  // For the model after the round; absent where nothing was measured or published.
  std::optional<double> accuracy = std::nullopt;
  std::optional<double> loss = std::nullopt;
  std::optional<double> auc = std::nullopt;
  // Absent where this process did not measure them.
  std::optional<uint64_t> upload_bytes = std::nullopt;  // of one upload
  std::optional<double> seconds = std::nullopt;         // of the whole round
};

struct Interval {
  double low = 0;   // may be -infinity
  double high = 0;  // may be infinity
};

// One number of an answer. Without `value` it is suppressed: a count that it follows from is below
// the query's floor, or the noise leaves it undefined. The other figures are then absent, too.
struct Estimate {
  std::string quantity = {};  // "count", "mean", "survival", ... (docs/formats/query.md)
  std::string group = {};     // subgroup or column; empty: all rows
  std::string at = {};        // cell, quantile, time or edge; empty: there is one such number
  std::optional<double> value = std::nullopt;
  // Standard deviation that the noise alone gives the value, and with the sampling error of the
  // rows. Counts and sums are about these rows: for them the two are the same. An error or an
  // interval that nobody can state is absent (docs/formats/query.md).
  std::optional<double> noise_error = std::nullopt;
  std::optional<double> standard_error = std::nullopt;
  std::optional<Interval> interval = std::nullopt;  // of the query's confidence
  // For rows that were left out: more than 5 % of all that were asked for, beyond the noise.
  bool too_many = false;

  bool suppressed() const { return !value.has_value(); }
};

// Answer to one question of a query.
struct Answer {
  std::string question = {};              // its name
  std::string kind = {};                  // "count", "mean", "survival", ...
  std::vector<Estimate> estimates = {};   // in the order of docs/formats/query.md
  std::vector<std::string> methods = {};  // estimators and post-processing, by name
};

// The content of a run's directory when it was opened. Immutable; copying is cheap, and copies may
// be used by any thread.
class Run {
 public:
  // Reads the run in the directory `path`, of this library or of the program `tacet`, also while it
  // continues. Nothing is changed. NotFound when `path` holds no run; DataLoss and InvalidArgument
  // name the file that is damaged, too large, or contradicts itself.
  static absl::StatusOr<Run> Open(const std::filesystem::path& path);

  const std::filesystem::path& path() const;

  // Whether the run has ended and wrote its summary.
  bool finished() const;

  // Words for what makes the run less private than a federation, such as "insecure-seed" or
  // "no-noise". Empty for a run that a federation could agree on.
  const std::vector<std::string>& labels() const;

  // Rounds 0, 1, 2, ... without a gap.
  const std::vector<RoundFigures>& rounds() const;

  // Guarantee after all attempts that the agreement permits, at most its budget. A run that ended
  // early has the same one: its end may depend on its models. Takes 0.1 to a few seconds.
  // FailedPrecondition before anything was charged.
  absl::StatusOr<Guarantee> ComputeGuarantee() const;

  // Parameters after the last round, shape (d,). NotFound while the run has written none. DataLoss
  // when they are not those of the last round, by the digest key that the run keeps; a copy of a
  // run without that key cannot tell.
  absl::StatusOr<std::vector<float>> Model() const;

  // Answers of a query, in the order of its questions; empty for a training, and before the query
  // was answered. DataLoss names the file that does not fit the agreement, the query or the
  // released sum.
  absl::StatusOr<std::vector<Answer>> Answers() const;

 private:
  explicit Run(std::shared_ptr<const api::RunParts> parts);

  std::shared_ptr<const api::RunParts> parts_;
};

}  // namespace tacet

#endif  // TACET_RUN_H_
