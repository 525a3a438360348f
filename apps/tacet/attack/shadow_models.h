// Many shadow models, each trained on a random half of the candidates of a membership test.
#ifndef TACET_APPS_TACET_ATTACK_SHADOW_MODELS_H_
#define TACET_APPS_TACET_ATTACK_SHADOW_MODELS_H_

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "apps/tacet/attack/attacked_run.h"
#include "apps/tacet/attack/shadow_training.h"
#include "tacet/attack/likelihood_ratio.h"

namespace tacet::app::attack {

struct ShadowPlan {
  ShadowRecipe recipe;
  uint64_t sites = 0;  // clients are spread over so many; 0: each client is a client
  uint64_t count = 64;
  uint64_t seed = 1;
  uint64_t threads = 1;
  // Where what each model said is kept, so that an interrupted attack goes on; a name that differs
  // whenever anything differs that the results depend on.
  std::filesystem::path folder;
  std::string title;  // for progress
};

// Models 2 j and 2 j + 1 divide every stratum between them: with an even count each candidate is in
// just half of all models. The same for the same seed, whatever the number of threads and of
// models. Progress goes to `out`.
absl::StatusOr<std::vector<tacet::attack::ShadowModel>> TrainShadowModels(
    const ShadowPlan& plan, const Candidates& candidates, std::FILE* out);

// Outputs of a model for each candidate, averaged over its samples: `confidences` the log odds of
// the true label, `losses` the cross-entropy in nats.
struct Statements {
  std::vector<double> confidences;
  std::vector<double> losses;
};
absl::StatusOr<Statements> AttestationsOf(const models::Architecture& architecture,
                                          std::span<const float> model,
                                          const Candidates& candidates);

}  // namespace tacet::app::attack

#endif  // TACET_APPS_TACET_ATTACK_SHADOW_MODELS_H_
