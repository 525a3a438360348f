// Flags that select a site's own training program.
#ifndef TACET_APPS_TACET_CLIENT_EXTERNAL_TRAINING_FLAGS_H_
#define TACET_APPS_TACET_CLIENT_EXTERNAL_TRAINING_FLAGS_H_

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "apps/tacet/program/options.h"
#include "tacet/site/external_training.h"

namespace tacet::app::client {

class ExternalTrainingFlags {
 public:
  void Register(program::Options& options);

  bool chosen() const { return program_.has_value(); }
  // InvalidArgument when arguments are given and no program.
  absl::Status Check() const;
  site::ExternalTrainingSpec Spec(std::filesystem::path folder, std::function<bool()> stop) const;

 private:
  std::optional<std::string> program_;
  std::vector<std::string> arguments_;
  double most_seconds_ = 3600;
};

}  // namespace tacet::app::client

#endif  // TACET_APPS_TACET_CLIENT_EXTERNAL_TRAINING_FLAGS_H_
