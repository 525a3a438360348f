#include "apps/tacet/attack/membership_attack.h"

#include <algorithm>
#include <utility>

#include "fmt/core.h"

#include "apps/tacet/attack/shadow_models.h"
#include "apps/tacet/simulate/configured_learner.h"
#include "tacet/accounting/true_positive_rate.h"
#include "tacet/attack/likelihood_ratio.h"
#include "tacet/base/status.h"
#include "tacet/crypto/hash.h"

namespace tacet::app::attack {
namespace {

using accounting::Unit;

// What shadow models are trained for, in names of folders.
constexpr std::string_view kShadow = "shadow";
constexpr std::string_view kPower = "power";

// State that all tests of a run share.
struct Attacker {
  const AttackedRun& run;
  const std::filesystem::path& directory;
  const AttackSettings& settings;
  ShadowRecipe recipe;
  std::FILE* out;
};

absl::Status CheckSettings(const AttackSettings& settings) {
  if (settings.shadows < 4 || settings.shadows > 10'000) {
    return base::InvalidArgument("{} shadow models, expected 4 to 10000", settings.shadows);
  }
  if (settings.power_epochs < 1 || settings.power_epochs > 1000) {
    return base::InvalidArgument("{} epochs to check the power, expected 1 to 1000",
                                 settings.power_epochs);
  }
  return absl::OkStatus();
}

// The observers that guarantee something about exchanging one unit for another: a test tells a unit
// that was trained on from one that was not, which took its place.
absl::StatusOr<std::vector<accounting::ObservedRounds>> GuaranteedObservers(
    const AttackedRun& run) {
  std::vector<accounting::ObservedRounds> observers;
  if (!run.has_guarantee()) return observers;
  accounting::FederationPrivacySpec spec = agreement::PrivacyOf(run.permitted()).back();
  spec.privacy.neighbouring = accounting::Neighbouring::kReplaceOne;
  TACET_ASSIGN_OR_RETURN(std::vector<accounting::ObservedRounds> all,
                         accounting::ObserveFederation(spec));
  for (accounting::ObservedRounds& observer : all) {
    const bool known = std::ranges::any_of(observers, [&](const accounting::ObservedRounds& other) {
      return other.observer == observer.observer;
    });
    if (observer.standing == accounting::Standing::kGuarantee && !known) {
      observers.push_back(std::move(observer));
    }
  }
  return observers;
}

absl::StatusOr<std::vector<ObserverBound>> BoundsOf(
    const AttackedRun& run, const std::vector<accounting::ObservedRounds>& observers) {
  std::vector<ObserverBound> bounds;
  TACET_ASSIGN_OR_RETURN(const accounting::Guarantees guarantees,
                         agreement::GuaranteesOf(run.permitted()));
  for (const accounting::ObservedRounds& observer : observers) {
    const accounting::PrivacyRow* headline = guarantees.HeadlineOf(observer.observer);
    ObserverBound bound{.observer = observer.observer,
                        .epsilon = headline == nullptr ? std::nullopt : headline->epsilon,
                        .releases = observer.releases,
                        .max_true_positive_rates = {}};
    for (const double rate : kFalsePositiveRates) {
      TACET_ASSIGN_OR_RETURN(bound.max_true_positive_rates.emplace_back(),
                             accounting::MaxTruePositiveRate(
                                 {{.round = observer.round, .count = observer.releases}}, rate));
    }
    bounds.push_back(std::move(bound));
  }
  return bounds;
}

MeasuredAttack Measure(AttackMethod method, std::span<const double> scores,
                       const std::vector<bool>& is_member) {
  const tacet::attack::MembershipScores split = tacet::attack::SplitScores(scores, is_member);
  MeasuredAttack measured{.method = method,
                          .auc = tacet::attack::AreaUnderCurve(split),
                          .auc_interval = {},
                          .points = {}};
  if (measured.auc.has_value()) {
    measured.auc_interval = tacet::attack::AreaInterval(*measured.auc, split.members.size(),
                                                        split.non_members.size(), kShownConfidence);
  }
  for (const double rate : kFalsePositiveRates) {
    measured.points.push_back({.point = tacet::attack::PointAt(split, rate)});
  }
  return measured;
}

// Both attacks, from what the attacked model said of the candidates.
absl::StatusOr<std::vector<MeasuredAttack>> MeasureBoth(
    const Statements& said, std::span<const tacet::attack::ShadowModel> shadows,
    const std::vector<bool>& is_member) {
  std::vector<double> small_losses;
  for (const double loss : said.losses) small_losses.push_back(-loss);
  TACET_ASSIGN_OR_RETURN(const std::vector<double> ratios,
                         tacet::attack::LikelihoodRatios(said.confidences, shadows));
  return std::vector<MeasuredAttack>{Measure(AttackMethod::kLossThreshold, small_losses, is_member),
                                     Measure(AttackMethod::kLikelihoodRatio, ratios, is_member)};
}

// Every point of every test with the bound of `stream`, all together at kJointConfidence.
absl::Status CompareAll(const std::vector<accounting::RepeatedEvent>& stream,
                        std::vector<UnitTest>& tests) {
  std::vector<MeasuredPoint*> points;
  for (UnitTest& test : tests) {
    for (MeasuredAttack& measured : test.attacks) {
      for (MeasuredPoint& point : measured.points) points.push_back(&point);
    }
  }
  const auto bound = [&stream](double false_positive_rate) {
    return accounting::MaxTruePositiveRate(stream, false_positive_rate);
  };
  for (MeasuredPoint* const point : points) {
    TACET_ASSIGN_OR_RETURN(
        point->comparison,
        CompareWithBound(point->point, bound, LimitConfidence(kJointConfidence, points.size())));
  }
  return absl::OkStatus();
}

absl::StatusOr<ShadowRecipe> ShadowRecipeOf(const AttackedRun& run,
                                            const training::LearnerSpec& learner,
                                            const AttackSettings& settings) {
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
  const AttackSettings& settings = attacker.settings;
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
  TACET_ASSIGN_OR_RETURN(std::vector<tacet::attack::ShadowModel> shadows,
                         TrainShadowModels(plan, candidates, attacker.out));
  const tacet::attack::ShadowModel attacked = std::move(shadows.back());
  shadows.pop_back();
  // The loss falls as the odds of the true label rise: the two order a single sample alike.
  Statements said{.confidences = attacked.confidences, .losses = {}};
  for (const double confidence : said.confidences) said.losses.push_back(-confidence);
  PowerCheck check;
  check.epochs = attacker.settings.power_epochs;
  check.members = static_cast<uint64_t>(std::ranges::count(attacked.trained_on, true));
  check.non_members = attacked.trained_on.size() - check.members;
  TACET_ASSIGN_OR_RETURN(check.attacks, MeasureBoth(said, shadows, attacked.trained_on));
  return check;
}

absl::StatusOr<UnitTest> TestUnit(const Attacker& attacker, const Candidates& candidates) {
  fmt::print(attacker.out, "{:<12}{} members, {} that are not\n",
             accounting::UnitName(candidates.unit), candidates.members(), candidates.non_members());
  TACET_ASSIGN_OR_RETURN(
      const std::vector<tacet::attack::ShadowModel> shadows,
      TrainShadowModels(PlanOf(attacker, candidates, kShadow), candidates, attacker.out));
  TACET_ASSIGN_OR_RETURN(const Statements said, AttestationsOf(attacker.run.architecture(),
                                                               attacker.run.model(), candidates));
  UnitTest test{.unit = candidates.unit,
                .members = candidates.members(),
                .non_members = candidates.non_members(),
                .samples = candidates.data.samples(),
                .attacks = {},
                .power = {}};
  TACET_ASSIGN_OR_RETURN(test.attacks, MeasureBoth(said, shadows, candidates.is_member));
  if (attacker.settings.check_power) {
    TACET_ASSIGN_OR_RETURN(test.power, CheckPower(attacker, candidates));
  }
  return test;
}

// The unit that epsilon speaks of, then records, whose members a weaker test must find too.
std::vector<Unit> UnitsToTest(Unit guaranteed) {
  if (guaranteed == Unit::kRecord) return {Unit::kRecord};
  return {guaranteed, Unit::kRecord};
}

}  // namespace

std::string_view AttackMethodName(AttackMethod method) {
  return method == AttackMethod::kLossThreshold ? "loss-threshold" : "likelihood-ratio";
}

bool PowerCheck::passed() const {
  const tacet::attack::OperatingPoint point = at_one_percent();
  return non_members >= kMinNonMembers && point.true_positive_rate() >= kMinTruePositiveRate &&
         point.TruePositiveInterval(kShownConfidence).low > kFalsePositiveRates[1];
}

tacet::attack::OperatingPoint PowerCheck::at_one_percent() const {
  for (const MeasuredAttack& measured : attacks) {
    if (measured.method == AttackMethod::kLikelihoodRatio) return measured.points[1].point;
  }
  return {};
}

std::vector<BoundComparison> AttackResult::comparisons() const {
  std::vector<BoundComparison> all;
  for (const UnitTest& test : tests) {
    for (const MeasuredAttack& measured : test.attacks) {
      for (const MeasuredPoint& point : measured.points) {
        if (point.comparison.has_value()) all.push_back(*point.comparison);
      }
    }
  }
  return all;
}

bool AttackResult::exceeds_bound() const {
  return std::ranges::any_of(comparisons(), [](const BoundComparison& comparison) {
    return comparison.verdict == BoundVerdict::kExceeded;
  });
}

absl::StatusOr<AttackResult> AttackRun(const AttackedRun& run,
                                       const std::filesystem::path& directory,
                                       const AttackSettings& settings, std::FILE* out) {
  TACET_RETURN_IF_ERROR(CheckSettings(settings));
  TACET_ASSIGN_OR_RETURN(const training::LearnerSpec learner,
                         simulate::LearnerSpecOf(run.config()));
  TACET_ASSIGN_OR_RETURN(const std::vector<accounting::ObservedRounds> observers,
                         GuaranteedObservers(run));
  TACET_ASSIGN_OR_RETURN(ShadowRecipe recipe, ShadowRecipeOf(run, learner, settings));
  Attacker attacker{.run = run,
                    .directory = directory,
                    .settings = settings,
                    .recipe = std::move(recipe),
                    .out = out};
  AttackResult result;
  result.shadow_model = attacker.recipe.learner.model;
  result.shadow_rounds = attacker.recipe.federation.rounds;
  for (const Unit unit : UnitsToTest(run.agreed().privacy.unit)) {
    const std::string_view name = accounting::UnitName(unit);
    if (settings.unit != "all" && settings.unit != name) continue;
    const absl::StatusOr<Candidates> candidates = run.CandidatesOf(unit, settings.clients);
    if (candidates.status().code() == absl::StatusCode::kFailedPrecondition) {
      result.not_tested.push_back(fmt::format("{}: {}", name, base::Message(candidates.status())));
      continue;
    }
    TACET_RETURN_IF_ERROR(candidates.status());
    TACET_ASSIGN_OR_RETURN(result.tests.emplace_back(), TestUnit(attacker, *candidates));
  }
  if (result.tests.empty()) {
    return base::FailedPrecondition(
        "nobody can be attacked: {}",
        result.not_tested.empty()
            ? fmt::format("a run of unit {} has no test of unit {}",
                          accounting::UnitName(run.agreed().privacy.unit), settings.unit)
            : result.not_tested.front());
  }
  if (!observers.empty()) {
    const accounting::ObservedRounds& external = observers.front();
    TACET_RETURN_IF_ERROR(
        CompareAll({{.round = external.round, .count = external.releases}}, result.tests));
  }
  TACET_ASSIGN_OR_RETURN(result.bounds, BoundsOf(run, observers));
  return result;
}

}  // namespace tacet::app::attack
