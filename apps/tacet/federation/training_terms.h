// Options of `tacet federation` for the terms of a training, or query, that is to begin.
#ifndef TACET_APPS_TACET_FEDERATION_TRAINING_TERMS_H_
#define TACET_APPS_TACET_FEDERATION_TRAINING_TERMS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "apps/tacet/program/options.h"
#include "tacet/agreement/manifest.h"
#include "tacet/config/run_config.h"
#include "tacet/storage/file/coordinator_folder.h"

namespace tacet::app::federation {

struct PlannedTraining {
  storage::file::TrainingTerms terms;
  agreement::Manifest plan;           // with keys that nobody has
  std::vector<std::string> warnings;  // about its protection
};

class TrainingTermsFlags {
 public:
  void Register(program::Options& options);
  // As if they had been given. `config` or `query` is empty.
  static TrainingTermsFlags Of(std::string config, std::string query,
                               std::optional<std::string> initial_model);

  bool given() const { return !config_.empty() || !query_.empty() || initial_model_.has_value(); }

  // As they are on the command line, each behind a blank; empty when not given.
  std::string AsGiven() const;

  // The files that were given, each with the SHA-256 of its content. Errors of reading them.
  absl::StatusOr<std::string> AsRead() const;

  // For `members` sites, 0 for as many as the cohort. InvalidArgument for files that cannot be
  // read, settings that only a simulation can have, and terms that cannot be planned.
  absl::StatusOr<PlannedTraining> Load(uint64_t members) const;

 private:
  absl::StatusOr<config::RunConfig> Terms(uint64_t members) const;
  absl::StatusOr<std::vector<float>> InitialModel(const config::RunConfig& config) const;

  std::string config_, query_;
  std::optional<std::string> initial_model_;
};

}  // namespace tacet::app::federation

#endif  // TACET_APPS_TACET_FEDERATION_TRAINING_TERMS_H_
