// The likelihood ratio attack on a run (Carlini et al. 2022), from shadow models, and the check of
// its power on a model that remembers its samples.
#ifndef TACET_LAB_ATTACK_SHADOW_ATTACK_H_
#define TACET_LAB_ATTACK_SHADOW_ATTACK_H_

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "apps/tacet/attack/attacked_run.h"
#include "apps/tacet/attack/membership_attack.h"
#include "tacet/attack/operating_point.h"

namespace tacet::lab::attack {

inline constexpr char kLikelihoodRatio[] = "likelihood-ratio";

struct ShadowAttackSettings {
  app::attack::AttackSettings candidates;
  uint64_t shadows = 64;
  std::string shadow_model = "auto";  // auto: the run's, but mlp for a convolutional one
  uint64_t shadow_rounds = 0;         // 0: the run's
  uint64_t seed = 1;
  uint64_t threads = 1;
  bool check_power = false;
  uint64_t power_epochs = 100;
};

// Both attacks on a model that was made to remember its samples: what they find there.
struct PowerCheck {
  uint64_t epochs = 0;
  uint64_t members = 0;
  uint64_t non_members = 0;
  std::vector<app::attack::MeasuredAttack> attacks;

  static constexpr uint64_t kMinNonMembers = 100;  // fewer show no false-positive rate of 1 %
  static constexpr double kMinTruePositiveRate = 0.1;

  // The likelihood ratio, at a false-positive rate of 1 %.
  tacet::attack::OperatingPoint at_one_percent() const;
  // There are kMinNonMembers, the true-positive rate there is at least kMinTruePositiveRate, and
  // the low end of its interval is above 1 %.
  bool passed() const;
};

struct ShadowAttackResult {
  app::attack::AttackResult attacks;
  std::vector<std::optional<PowerCheck>> power;  // one for each test of `attacks`
  std::string shadow_model;
  uint64_t shadow_rounds = 0;
};

// Attacks the run in `directory`, whose folder attack/ keeps what the shadow models said. Progress
// goes to `out`. InvalidArgument for settings out of range; FailedPrecondition when no test is
// possible.
absl::StatusOr<ShadowAttackResult> ShadowAttack(const app::attack::AttackedRun& run,
                                                const std::filesystem::path& directory,
                                                const ShadowAttackSettings& settings,
                                                std::FILE* out);

}  // namespace tacet::lab::attack

#endif  // TACET_LAB_ATTACK_SHADOW_ATTACK_H_
