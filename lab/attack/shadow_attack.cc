#include "lab/attack/shadow_attack.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "fmt/core.h"

#include "apps/tacet/simulate/configured_learner.h"
#include "lab/attack/likelihood_ratio.h"
#include "lab/attack/shadow_models.h"
#include "lab/attack/shadow_training.h"
#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/config/run_config.h"
#include "tacet/crypto/hash.h"

namespace tacet::lab::attack {
namespace {

using app::attack::AttackedRun;
using app::attack::Candidates;
using app::attack::MeasuredAttack;

// The purpose of shadow models, in names of folders.
constexpr std::string_view kShadow = "shadow";
constexpr std::string_view kPower = "power";

// State that all tests of a run share.
struct Attacker {
  const AttackedRun& run;
  const std::filesystem::path& directory;
  const ShadowAttackSettings& settings;
  ShadowRecipe recipe;
  std::FILE* out;
};

absl::Status CheckSettings(const ShadowAttackSettings& settings) {
  if (settings.shadows < 4 || settings.shadows > 10'000) {
    return base::InvalidArgument("{} shadow models, expected 4 to 10000", settings.shadows);
  }
  if (settings.power_epochs < 1 || settings.power_epochs > 1000) {
    return base::InvalidArgument("{} epochs to check the power, expected 1 to 1000",
                                 settings.power_epochs);
  }
  return absl::OkStatus();
}

absl::StatusOr<MeasuredAttack> LikelihoodRatio(std::span<const double> confidences,
                                               std::span<const ShadowModel> shadows,
                                               const std::vector<bool>& is_member) {
  TACET_ASSIGN_OR_RETURN(const std::vector<double> ratios, LikelihoodRatios(confidences, shadows));
  return app::attack::Measure(kLikelihoodRatio, ratios, is_member);
}

absl::StatusOr<ShadowRecipe> ShadowRecipeOf(const AttackedRun& run,
                                            const training::LearnerSpec& learner,
                                            const ShadowAttackSettings& settings) {
  ShadowRecipe recipe =
      RecipeOf(run.agreed(), learner, run.config().federation.weights == "samples");
  if (settings.shadow_rounds != 0) {
    recipe.federation.rounds = recipe.learner.rounds =
        static_cast<uint32_t>(settings.shadow_rounds);
  }
  std::string model = settings.shadow_model;
  // The parameters with which a run began fit its own model alone.
  const bool has_start = !learner.start.empty();
  if (model == "auto") {
    model = learner.model.starts_with("femnist") && !has_start ? "mlp" : learner.model;
  }
  if (model != learner.model && has_start) {
    return base::InvalidArgument(
        "--shadow-model is {}, but the run began with parameters of {}: leave it out", model,
        learner.model);
  }
  if (model != learner.model) {
    recipe.learner.model = model;
    if (model == "mlp") recipe.learner.hidden = {64};
    recipe.learner.precision = models::Precision::kAuto;
  }
  return recipe;
}

// Plain gradient descent over all samples at one place, long enough to remember them.
ShadowRecipe RememberingRecipe(const ShadowRecipe& of, uint64_t epochs) {
  ShadowRecipe recipe;
  recipe.learner = {.model = "mlp",
                    .hidden = {128},
                    .seed = of.learner.seed,
                    .held_out_share = 0,
                    .local_epochs = static_cast<uint32_t>(epochs),
                    .learning_rate = 0.1,
                    .learning_rate_final = 0.1,
                    .rounds = 1};
  recipe.federation.rounds = 1;
  recipe.federation.mechanism.coordinate_bound = 1e9;
  recipe.federation.mechanism.without_noise = recipe.federation.mechanism.without_clipping = true;
  return recipe;
}

// Everything that decides what a shadow model says, as a name for its folder.
std::string FolderName(std::string_view purpose, const Attacker& attacker,
                       const Candidates& candidates) {
  config::RunConfig config = attacker.run.config();
  config.data.path.clear();
  config.run.threads = 0;
  const ShadowAttackSettings& settings = attacker.settings;
  crypto::Sha256Hasher hasher;
  hasher.Update(base::AsBytes(config::RunConfigToml(config)));
  hasher.Update(base::AsBytes(fmt::format(
      "{} {} {} {} {} {}", purpose, settings.seed, attacker.recipe.learner.model,
      attacker.recipe.federation.rounds, attacker.recipe.average_noise, candidates.rows.size())));
  if (purpose == kPower) hasher.Update(base::AsBytes(fmt::format("{}", settings.power_epochs)));
  hasher.Update(attacker.run.KeyedDigest(candidates.data));
  return fmt::format("{}-{}-{}", purpose, accounting::UnitName(candidates.unit),
                     base::ToHex(hasher.Finish()).substr(0, 12));
}

ShadowPlan PlanOf(const Attacker& attacker, const Candidates& candidates,
                  std::string_view purpose) {
  return {.recipe = attacker.recipe,
          .sites = attacker.run.config().data.sites,
          .count = attacker.settings.shadows,
          .seed = attacker.settings.seed,
          .threads = attacker.settings.threads,
          .folder = attacker.directory / "attack" / FolderName(purpose, attacker, candidates),
          .title = std::string(purpose)};
}

// One model more than the attack needs is trained, and attacked with the others as its shadows.
absl::StatusOr<PowerCheck> CheckPower(const Attacker& attacker, const Candidates& candidates) {
  ShadowPlan plan = PlanOf(attacker, candidates, kPower);
  plan.recipe = RememberingRecipe(attacker.recipe, attacker.settings.power_epochs);
  plan.sites = 1;
  plan.count += 1;
  TACET_ASSIGN_OR_RETURN(std::vector<ShadowModel> shadows,
                         TrainShadowModels(plan, candidates, attacker.out));
  const ShadowModel attacked = std::move(shadows.back());
  shadows.pop_back();
  // The loss falls as the odds of the true label rise: the two order a single sample alike.
  std::vector<double> losses;
  for (const double confidence : attacked.confidences) losses.push_back(-confidence);
  PowerCheck check;
  check.epochs = attacker.settings.power_epochs;
  check.members = static_cast<uint64_t>(std::ranges::count(attacked.trained_on, true));
  check.non_members = attacked.trained_on.size() - check.members;
  check.attacks.push_back(app::attack::LossThreshold(losses, attacked.trained_on));
  TACET_ASSIGN_OR_RETURN(check.attacks.emplace_back(),
                         LikelihoodRatio(attacked.confidences, shadows, attacked.trained_on));
  return check;
}

}  // namespace

tacet::attack::OperatingPoint PowerCheck::at_one_percent() const {
  for (const MeasuredAttack& measured : attacks) {
    if (measured.method == kLikelihoodRatio) return measured.points[1].point;
  }
  return {};
}

bool PowerCheck::passed() const {
  const tacet::attack::OperatingPoint point = at_one_percent();
  return non_members >= kMinNonMembers && point.true_positive_rate() >= kMinTruePositiveRate &&
         point.TruePositiveInterval(app::attack::kShownConfidence).low >
             app::attack::kFalsePositiveRates[1];
}

absl::StatusOr<ShadowAttackResult> ShadowAttack(const AttackedRun& run,
                                                const std::filesystem::path& directory,
                                                const ShadowAttackSettings& settings,
                                                std::FILE* out) {
  TACET_RETURN_IF_ERROR(CheckSettings(settings));
  TACET_ASSIGN_OR_RETURN(const training::LearnerSpec learner,
                         app::simulate::LearnerSpecOf(run.config()));
  TACET_ASSIGN_OR_RETURN(ShadowRecipe recipe, ShadowRecipeOf(run, learner, settings));
  const Attacker attacker{.run = run,
                          .directory = directory,
                          .settings = settings,
                          .recipe = std::move(recipe),
                          .out = out};
  ShadowAttackResult result;
  result.shadow_model = attacker.recipe.learner.model;
  result.shadow_rounds = attacker.recipe.federation.rounds;
  const auto likelihood_ratio =
      [&](const Candidates& candidates,
          const app::attack::ModelOutputs& outputs) -> absl::StatusOr<std::vector<MeasuredAttack>> {
    fmt::print(out, "{:<12}{} members, {} that are not\n", accounting::UnitName(candidates.unit),
               candidates.members(), candidates.non_members());
    TACET_ASSIGN_OR_RETURN(
        const std::vector<ShadowModel> shadows,
        TrainShadowModels(PlanOf(attacker, candidates, kShadow), candidates, out));
    std::vector<MeasuredAttack> measured;
    TACET_ASSIGN_OR_RETURN(measured.emplace_back(),
                           LikelihoodRatio(outputs.confidences, shadows, candidates.is_member));
    std::optional<PowerCheck>& power = result.power.emplace_back();
    if (settings.check_power) {
      TACET_ASSIGN_OR_RETURN(power, CheckPower(attacker, candidates));
    }
    return measured;
  };
  TACET_ASSIGN_OR_RETURN(result.attacks,
                         app::attack::AttackRun(run, settings.candidates, likelihood_ratio));
  return result;
}

}  // namespace tacet::lab::attack
