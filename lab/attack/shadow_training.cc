#include "lab/attack/shadow_training.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include "tacet/agreement/cohort.h"
#include "tacet/base/status.h"
#include "tacet/crypto/seeded_random.h"
#include "tacet/dp/clip.h"
#include "tacet/dp/gaussian.h"
#include "tacet/trainer/unit_sampling.h"

namespace tacet::lab::attack {
namespace {

bool IsClientUnit(const agreement::ManifestSpec& spec) {
  return spec.privacy.unit == accounting::Unit::kClient;
}

class ShadowTraining {
 public:
  ShadowTraining(const ShadowRecipe& recipe, const trainer::Learner& learner, uint64_t seed,
                 uint64_t number)
      : recipe_(recipe),
        spec_(recipe.federation),
        learner_(learner),
        draws_(crypto::SeededRandom(seed, "shadow draws", number)),
        noise_(crypto::SeededRandom(seed, "shadow noise", number)),
        update_(learner.dimension()) {
    for (uint64_t client = 0; client < learner.clients(); ++client) {
      units_ += static_cast<double>(learner.units(client));
    }
    cohort_ = static_cast<uint32_t>(
        std::clamp<double>(std::round(recipe.cohort_share * static_cast<double>(learner.clients())),
                           1, static_cast<double>(learner.clients())));
  }

  absl::StatusOr<std::vector<float>> Run() {
    TACET_ASSIGN_OR_RETURN(trainer_, learner_.NewTrainer());
    agreement::ServerOptimizerSpec optimizer_spec = spec_.optimizer;
    optimizer_spec.rounds = spec_.rounds;
    TACET_ASSIGN_OR_RETURN(
        agreement::ServerOptimizer optimizer,
        agreement::ServerOptimizer::Create(optimizer_spec, learner_.dimension()));
    std::vector<float> model = learner_.InitialModel();
    std::vector<double> average(model.size());
    for (uint32_t round = 0; round < spec_.rounds; ++round) {
      TACET_RETURN_IF_ERROR(Average(model, round, average));
      optimizer.Apply(round, average, model);
    }
    return learner_.WholeModel(model);
  }

 private:
  absl::Status Average(std::span<const float> model, uint32_t round, std::span<double> average) {
    const std::vector<uint64_t> cohort = Cohort();
    double mean_samples = 0;
    for (const uint64_t client : cohort) {
      mean_samples += static_cast<double>(learner_.training_samples(client)) /
                      static_cast<double>(cohort.size());
    }
    std::ranges::fill(average, 0);
    for (const uint64_t client : cohort) {
      TACET_RETURN_IF_ERROR(Contribute(model, round, client, mean_samples));
      for (size_t i = 0; i < average.size(); ++i) average[i] += static_cast<double>(update_[i]);
    }
    const double divisor = IsClientUnit(spec_) ? static_cast<double>(cohort.size())
                                               : spec_.sampling.record_rate * units_;
    for (double& value : average) value /= divisor;
    AddNoise(average);
    return absl::OkStatus();
  }

  std::vector<uint64_t> Cohort() {
    if (IsClientUnit(spec_)) {
      std::vector<uint64_t> drawn =
          agreement::DrawCohort(*spec_.sampling.method, learner_.clients(), cohort_, draws_);
      if (!drawn.empty()) return drawn;  // nobody by all coins of a Poisson cohort: everybody
    }
    std::vector<uint64_t> all(learner_.clients());
    std::iota(all.begin(), all.end(), uint64_t{0});
    return all;
  }

  // The update that `client` sends, in update_.
  absl::Status Contribute(std::span<const float> model, uint32_t round, uint64_t client,
                          double mean_samples) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const double clip_norm =
        spec_.mechanism.without_clipping ? kInfinity : spec_.mechanism.clip_norm;
    if (!IsClientUnit(spec_)) {
      const std::vector<uint32_t> drawn =
          trainer::DrawUnits(learner_.units(client), spec_.sampling.record_rate, draws_);
      TACET_RETURN_IF_ERROR(
          trainer_->SumClippedGradients(model, client, drawn, clip_norm, update_));
      dp::ClipAndClamp(update_, kInfinity, spec_.mechanism.coordinate_bound, update_);
      return absl::OkStatus();
    }
    TACET_RETURN_IF_ERROR(trainer_->Train(model, round, client, update_));
    if (recipe_.weigh_by_samples && mean_samples > 0) {
      const double weight = static_cast<double>(learner_.training_samples(client)) / mean_samples;
      for (float& value : update_) value = static_cast<float>(static_cast<double>(value) * weight);
    }
    dp::ClipAndClamp(update_, clip_norm, spec_.mechanism.coordinate_bound, update_);
    return absl::OkStatus();
  }

  void AddNoise(std::span<double> average) {
    if (recipe_.average_noise == 0) return;
    std::vector<double> normal(average.size());
    dp::FillGaussian(dp::GaussianSampler::kDefault, noise_, normal);
    for (size_t i = 0; i < average.size(); ++i) average[i] += recipe_.average_noise * normal[i];
  }

  const ShadowRecipe& recipe_;
  const agreement::ManifestSpec& spec_;
  const trainer::Learner& learner_;
  crypto::Random draws_;
  crypto::Random noise_;
  std::unique_ptr<trainer::Trainer> trainer_;
  std::vector<float> update_;
  double units_ = 0;  // of all clients
  uint32_t cohort_ = 0;
};

}  // namespace

ShadowRecipe RecipeOf(const agreement::ManifestSpec& agreed, const training::LearnerSpec& learner,
                      bool weigh_by_samples) {
  ShadowRecipe recipe{
      .learner = learner, .federation = agreed, .weigh_by_samples = weigh_by_samples};
  recipe.learner.held_out_share = 0;
  const auto cohort = static_cast<double>(agreed.sampling.cohort);
  recipe.cohort_share = cohort / static_cast<double>(agreed.sampling.clients);
  if (agreed.mechanism.without_noise) return recipe;
  const auto shares =
      static_cast<double>(accounting::NoiseShares(agreement::PrivacyOf(agreed, agreed.rounds)));
  const double in_the_sum =
      agreed.mechanism.noise_stddev * std::sqrt(agreement::ExpectedUploads(agreed) / shares);
  recipe.average_noise =
      in_the_sum / (IsClientUnit(agreed) ? cohort : agreed.sampling.expected_batch);
  return recipe;
}

absl::StatusOr<std::vector<float>> TrainShadow(const ShadowRecipe& recipe, data::Dataset dataset,
                                               uint64_t seed, uint64_t number) {
  TACET_ASSIGN_OR_RETURN(const auto learner,
                         training::NewLearner(recipe.learner, std::move(dataset)));
  return ShadowTraining(recipe, *learner, seed, number).Run();
}

}  // namespace tacet::lab::attack
