// Training by a site's own program, which receives and returns parameters in files
// (docs/guide/external-training.md).
#ifndef TACET_SITE_EXTERNAL_TRAINING_H_
#define TACET_SITE_EXTERNAL_TRAINING_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/agreement/manifest.h"
#include "tacet/trainer/update_source.h"

namespace tacet::site {

struct ExternalTrainingSpec {
  std::vector<std::string> program;  // with its arguments; found in PATH unless it names a folder
  std::filesystem::path folder;      // in which the files are exchanged; made when it is missing
  double most_seconds = 3600;        // for one round; > 0
  // Asked several times a second: true ends the program, and the round is trained again later.
  std::function<bool()> stop = [] { return false; };
};

// Runs PROGRAM ARGUMENTS... MODEL RESULT ROUND: it reads d parameters from the file MODEL and
// leaves d new ones in the file RESULT, all little-endian binary32. The update is the difference.
// The files are readable by this user alone, and gone afterwards.
class ExternalTraining final : public trainer::UpdateSource {
 public:
  // InvalidArgument without a program, or where the unit is not the client: what one record or
  // person adds would have to be clipped, which a program outside cannot be seen to do.
  // FailedPrecondition when the program cannot be run, before anything is charged.
  static absl::StatusOr<std::unique_ptr<ExternalTraining>> Create(
      const agreement::Manifest& manifest, ExternalTrainingSpec spec);

  // Cancelled when it was stopped; DeadlineExceeded when it took too long; FailedPrecondition when
  // the program could not be run or ended with an error; DataLoss when what it left is not d finite
  // parameters.
  absl::Status Update(const trainer::AttemptContext& context, std::span<const float> model,
                      std::span<float> update) override;

 private:
  explicit ExternalTraining(ExternalTrainingSpec spec) : spec_(std::move(spec)) {}

  absl::Status Run(uint32_t round) const;
  std::filesystem::path ModelFile() const { return spec_.folder / "model.f32"; }
  std::filesystem::path ResultFile() const { return spec_.folder / "result.f32"; }

  ExternalTrainingSpec spec_;
};

}  // namespace tacet::site

#endif  // TACET_SITE_EXTERNAL_TRAINING_H_
