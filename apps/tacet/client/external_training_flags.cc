#include "apps/tacet/client/external_training_flags.h"

#include <utility>

#include "tacet/base/status.h"

namespace tacet::app::client {

void ExternalTrainingFlags::Register(program::Options& options) {
  options.AddString(
      "train-with",
      "training program of this site, used instead of the built-in trainer; it is called with the "
      "files MODEL and RESULT and the round (docs/guide/external-training.md)",
      &program_);
  options.AddStrings("train-argument",
                     "argument of the training program, placed before MODEL; may be repeated",
                     &arguments_);
  options.AddDouble("train-seconds", "seconds that the training program may take for one round",
                    &most_seconds_);
}

absl::Status ExternalTrainingFlags::Check() const {
  if (chosen() || arguments_.empty()) return absl::OkStatus();
  return base::InvalidArgument("--train-argument is for the program of --train-with");
}

site::ExternalTrainingSpec ExternalTrainingFlags::Spec(std::filesystem::path folder,
                                                       std::function<bool()> stop) const {
  site::ExternalTrainingSpec spec{.program = {*program_},
                                  .folder = std::move(folder),
                                  .most_seconds = most_seconds_,
                                  .stop = std::move(stop)};
  spec.program.insert(spec.program.end(), arguments_.begin(), arguments_.end());
  return spec;
}

}  // namespace tacet::app::client
