// Shadow models follow the recipe of the run that they represent.
#include "lab/attack/shadow_training.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gtest/gtest.h"

#include "apps/tacet/simulate/configured_learner.h"
#include "apps/tacet/simulate/memory_run.h"
#include "tacet/config/configured_data.h"
#include "tacet/config/run_config.h"

namespace tacet::app {
namespace {

config::RunConfig SmallRun() {
  config::RunConfig config;
  config.data.handwriting_writers = 6;
  config.data.handwriting_min_samples = config.data.handwriting_max_samples = 12;
  config.data.handwriting_classes = 4;
  config.model.name = "logistic";
  config.agreement.rounds = 3;
  config.agreement.sampling.cohort = 6;
  config.agreement.mechanism.coordinate_bound = 0.02;
  config.agreement.mechanism.clip_norm = 0.3;
  config.agreement.optimizer.momentum = 0.5;
  config.run.threads = 1;
  config.agreement.mechanism.without_noise = config.agreement.without_encryption =
      config.run.no_quantisation = true;
  return config;
}

struct Trained {
  std::vector<float> run, shadow;
};

void TrainBoth(const config::RunConfig& config, Trained& trained) {
  const auto dataset = config::LoadRunData(config);
  ASSERT_TRUE(dataset.ok());
  const auto run = app::simulate::TrainInMemory(config, *dataset);
  ASSERT_TRUE(run.ok()) << run.status();
  const lab::attack::ShadowRecipe recipe =
      lab::attack::RecipeOf(run->agreed, *app::simulate::LearnerSpecOf(config), false);
  const auto shadow = lab::attack::TrainShadow(recipe, *dataset, 1, 0);
  ASSERT_TRUE(shadow.ok()) << shadow.status();
  trained = {run->model, *shadow};
}

// Everybody takes part and nothing is noised: the federation and its shadow are one calculation,
// but for the rounding of sums.
void ExpectTheSameModel(const config::RunConfig& config) {
  Trained trained;
  ASSERT_NO_FATAL_FAILURE(TrainBoth(config, trained));
  ASSERT_EQ(trained.shadow.size(), trained.run.size());
  double furthest = 0;
  for (size_t i = 0; i < trained.shadow.size(); ++i) {
    furthest = std::max(furthest, std::abs(static_cast<double>(trained.shadow[i]) -
                                           static_cast<double>(trained.run[i])));
  }
  EXPECT_LT(furthest, 1e-6);
}

TEST(ShadowTrainingTest, TrainsWhatTheFederationTrains) { ExpectTheSameModel(SmallRun()); }

// The attack is on the whole model, of which the federation trains a part.
TEST(ShadowTrainingTest, GivesTheWholeModelWhereAPartIsTrained) {
  config::RunConfig config = SmallRun();
  config.model.name = "mlp";
  config.model.hidden = {8};
  config.model.federated = {"dense2"};
  Trained trained;
  ASSERT_NO_FATAL_FAILURE(TrainBoth(config, trained));
  EXPECT_EQ(trained.shadow.size(), 784u * 8 + 8 + 8 * 4 + 4);
}

TEST(ShadowTrainingTest, TrainsWhatSitesWithRecordsTrain) {
  config::RunConfig config = SmallRun();
  config.agreement.sampling.cohort = 0;
  config.agreement.privacy.unit = accounting::Unit::kRecord;
  config.agreement.sampling.record_rate = 1;
  config.agreement.mechanism.coordinate_bound = 1;
  ExpectTheSameModel(config);
}

TEST(ShadowTrainingTest, AnAverageHasTheNoiseOfTheRun) {
  agreement::ManifestSpec agreed;
  agreed.sampling.clients = 100;
  agreed.sampling.cohort = 25;
  agreed.sampling.min_participants = 16;
  agreed.mechanism.noise_stddev = 4;
  EXPECT_DOUBLE_EQ(lab::attack::RecipeOf(agreed, {}, false).average_noise,
                   4 * std::sqrt(25.0 / 16) / 25);
  EXPECT_DOUBLE_EQ(lab::attack::RecipeOf(agreed, {}, false).cohort_share, 0.25);
  agreed.privacy.colluders = 5;  // shares of clients do not depend on them
  EXPECT_DOUBLE_EQ(lab::attack::RecipeOf(agreed, {}, false).average_noise,
                   4 * std::sqrt(25.0 / 16) / 25);
  agreed.privacy.unit = accounting::Unit::kRecord;
  agreed.sampling.clients = agreed.sampling.cohort = agreed.sampling.min_participants = 4;
  agreed.privacy.colluders = 1;
  agreed.sampling.expected_batch = 50;
  EXPECT_DOUBLE_EQ(lab::attack::RecipeOf(agreed, {}, false).average_noise,
                   4 * std::sqrt(4.0 / 3) / 50);
  agreed.mechanism.without_noise = true;
  EXPECT_EQ(lab::attack::RecipeOf(agreed, {}, false).average_noise, 0);
}

// For 30,000 values, whose deviation is known to 0.4 %: false alarm below 1e-9 (six deviations),
// noise that is 5 % off is found with probability above 0.999.
TEST(ShadowTrainingTest, NoiseIsAddedAsTheRecipeSays) {
  config::RunConfig config = SmallRun();
  config.agreement.rounds = 1;
  config.model.name = "mlp";
  config.model.hidden = {40};
  const auto dataset = config::LoadRunData(config);
  const auto run = app::simulate::TrainInMemory(config, *dataset);
  ASSERT_TRUE(run.ok()) << run.status();
  lab::attack::ShadowRecipe recipe =
      lab::attack::RecipeOf(run->agreed, *app::simulate::LearnerSpecOf(config), false);
  recipe.average_noise = 0.25;
  const auto shadow = lab::attack::TrainShadow(recipe, *dataset, 1, 0);
  ASSERT_TRUE(shadow.ok());
  double squares = 0;
  for (size_t i = 0; i < shadow->size(); ++i) {
    squares += std::pow(static_cast<double>((*shadow)[i]) - static_cast<double>(run->model[i]), 2);
  }
  ASSERT_GT(shadow->size(), 30'000u);
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(shadow->size())), 0.25, 0.25 * 0.025);
  EXPECT_NE(*lab::attack::TrainShadow(recipe, *dataset, 1, 1), *shadow);
  EXPECT_EQ(*lab::attack::TrainShadow(recipe, *dataset, 1, 0), *shadow);
}

}  // namespace
}  // namespace tacet::app
