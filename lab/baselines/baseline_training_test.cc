#include "lab/baselines/baseline_training.h"

#include <cmath>
#include <cstdint>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/trainer/function_learner.h"

namespace tacet::app::baselines {
namespace {

using ::testing::ElementsAre;

constexpr uint64_t kClients = 50;
constexpr uint64_t kDimension = 2000;

dp::MechanismSpec MechanismOfAll() {
  dp::MechanismSpec spec;
  spec.dimension = kDimension;
  spec.params.clip_norm = 1;
  spec.params.coordinate_bound = 0.1;
  spec.params.noise_stddev = 2;
  spec.params.scale = 0.02;
  spec.cohort = spec.min_participants = kClients;
  spec.attempts = 20;
  spec.max_epsilon = 5;
  return spec;
}

class BaselineTrainingTest : public ::testing::Test {
 protected:
  BaselineTrainingTest() {
    trainer::FunctionLearnerSpec spec{.initial = std::vector<float>(kDimension, 1),
                                      .clients = kClients};
    spec.train = [this](uint32_t round, uint64_t client, std::span<const float>,
                        std::span<float> update) -> absl::Status {
      if (client == fails_) return base::Unavailable("client {} fails", client);
      std::ranges::fill(update, client < kClients / 2 ? 0.02F : 0.01F);
      const std::lock_guard lock(mutex_);
      EXPECT_TRUE(trained_.insert({round, client}).second) << "twice: " << client;
      return absl::OkStatus();
    };
    spec.evaluate = [this](std::span<const float> model) -> absl::StatusOr<trainer::Evaluation> {
      model_.assign(model.begin(), model.end());
      return trainer::Evaluation{.accuracy = 0.5};
    };
    learner_ = *trainer::NewFunctionLearner(std::move(spec));
  }

  absl::StatusOr<trainer::Evaluation> Train(const BaselinePlan& plan, size_t threads) {
    trained_.clear();
    rounds_.clear();
    return TrainWithBaseline(plan, *learner_,
                             {.rounds = 2,
                              .cohort = kClients,
                              .optimizer = {.rounds = 2},
                              .threads = threads,
                              .on_round = [this](uint32_t done) { rounds_.push_back(done); }},
                             entropy_);
  }

  crypto::InsecureSeededEntropy entropy_{1, "baseline training"};
  std::unique_ptr<trainer::Learner> learner_;
  uint64_t fails_ = kClients;
  std::mutex mutex_;
  std::set<std::pair<uint32_t, uint64_t>> trained_;
  std::vector<uint32_t> rounds_;
  std::vector<float> model_;  // that was evaluated
};

TEST_F(BaselineTrainingTest, AppliesTheMeanOfAllUpdatesOnAnyNumberOfThreads) {
  for (const Baseline baseline : kBaselines) {
    const auto plan = BaselinePlan::Create(baseline, MechanismOfAll());
    ASSERT_TRUE(plan.ok()) << plan.status();
    for (const size_t threads : {1, 3, 64}) {
      const auto evaluation = Train(*plan, threads);
      ASSERT_TRUE(evaluation.ok()) << evaluation.status();
      EXPECT_EQ(evaluation->accuracy, 0.5);
      EXPECT_EQ(trained_.size(), 2 * kClients);
      EXPECT_THAT(rounds_, ElementsAre(1, 2));
      double sum = 0;
      for (const float value : model_) sum += value;
      // Two rounds with a mean of 0.015; seven deviations of the noise in the average value.
      const double stddev = std::sqrt(2.0 / kDimension) * plan->sum_stddev() / kClients;
      EXPECT_LT(7 * stddev, 0.02);
      EXPECT_NEAR(sum / kDimension, 1.03, 7 * stddev) << BaselineName(baseline) << threads;
    }
  }
}

TEST_F(BaselineTrainingTest, ClientsThatCannotTrainEndIt) {
  fails_ = 7;
  const auto evaluation = Train(*BaselinePlan::Create(Baseline::kSkellam, MechanismOfAll()), 3);
  EXPECT_EQ(base::Message(evaluation.status()), "client 7 fails");
}

}  // namespace
}  // namespace tacet::app::baselines
