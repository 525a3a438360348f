// Many shadow models, each trained on a random half of the candidates of a membership test.
#ifndef TACET_LAB_ATTACK_SHADOW_MODELS_H_
#define TACET_LAB_ATTACK_SHADOW_MODELS_H_

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "apps/tacet/attack/membership_attack.h"
#include "lab/attack/likelihood_ratio.h"
#include "lab/attack/shadow_training.h"

namespace tacet::lab::attack {

struct ShadowPlan {
  ShadowRecipe recipe;
  uint64_t sites = 0;  // clients are spread over so many; 0: each client is a client
  uint64_t count = 64;
  uint64_t seed = 1;
  uint64_t threads = 1;
  // Where what each model said is kept, so that an interrupted attack continues; a name that
  // differs whenever anything differs that the results depend on.
  std::filesystem::path folder;
  std::string title;  // for progress
};

// Models 2 j and 2 j + 1 divide every stratum between them: with an even count each candidate is in
// just half of all models. The same for the same seed, whatever the number of threads and of
// models. Progress goes to `out`.
absl::StatusOr<std::vector<ShadowModel>> TrainShadowModels(
    const ShadowPlan& plan, const app::attack::Candidates& candidates, std::FILE* out);

}  // namespace tacet::lab::attack

#endif  // TACET_LAB_ATTACK_SHADOW_MODELS_H_
