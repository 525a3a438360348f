#include "tacet/agreement/server_optimizer.h"

#include <span>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"

namespace tacet::agreement {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ServerOptimizer Make(const ServerOptimizerSpec& spec, uint64_t dimension = 2) {
  return *ServerOptimizer::Create(spec, dimension);
}

TEST(ServerOptimizerTest, DefaultsAreFederatedAveraging) {
  ServerOptimizer optimizer = Make({.rounds = 10});
  std::vector<float> model = {1, 2};
  optimizer.Apply(0, std::vector<double>{0.5, -1}, model);
  optimizer.Apply(1, std::vector<double>{0.25, 0}, model);
  EXPECT_THAT(model, ElementsAre(1.75f, 1.0f));
  EXPECT_TRUE(optimizer.velocity().empty());  // without momentum nothing is kept
}

TEST(ServerOptimizerTest, MomentumAndSchedule) {
  ServerOptimizer optimizer =
      Make({.learning_rate = 4, .learning_rate_final = 1, .momentum = 0.5, .rounds = 4}, 1);
  EXPECT_DOUBLE_EQ(optimizer.LearningRate(0), 4);
  EXPECT_DOUBLE_EQ(optimizer.LearningRate(1), 3);
  EXPECT_DOUBLE_EQ(optimizer.LearningRate(3), 1);
  std::vector<float> model = {0};
  optimizer.Apply(0, std::vector<double>{1}, model);  // m = 1, w = 4
  optimizer.Apply(1, std::vector<double>{1}, model);  // m = 1.5, w = 8.5
  EXPECT_THAT(model, ElementsAre(8.5f));
  EXPECT_THAT(optimizer.velocity(), ElementsAre(1.5f));
}

TEST(ServerOptimizerTest, RestoredStateGoesOnTheSame) {
  const ServerOptimizerSpec spec{.learning_rate = 2, .momentum = 0.9, .rounds = 3};
  ServerOptimizer whole = Make(spec), first = Make(spec), second = Make(spec);
  const std::vector<double> average = {0.1, -0.7};
  std::vector<float> a = {1, 1}, b = {1, 1};
  for (uint32_t round = 0; round < 3; ++round) whole.Apply(round, average, a);
  for (uint32_t round = 0; round < 2; ++round) first.Apply(round, average, b);
  ASSERT_TRUE(second.RestoreVelocity(std::move(first).velocity()).ok());
  second.Apply(2, average, b);
  EXPECT_EQ(a, b);
  EXPECT_THAT(base::Message(second.RestoreVelocity(std::vector<float>(3))),
              HasSubstr("has 3 values, it must have 2"));
  EXPECT_FALSE(Make({}).RestoreVelocity(std::vector<float>(2)).ok());
}

TEST(ServerOptimizerTest, PartsAreAppliedAsTheWhole) {
  const ServerOptimizerSpec momentum{.learning_rate = 2, .momentum = 0.9, .rounds = 3};
  const std::vector<double> average = {0.1, -0.7, 3, 0.25, -9};
  for (const ServerOptimizerSpec& spec : {ServerOptimizerSpec{}, momentum}) {
    ServerOptimizer whole = Make(spec, 5), parts = Make(spec, 5);
    std::vector<float> a = {1, 2, 3, 4, 5}, b = a;
    for (uint32_t round = 0; round < 3; ++round) {
      whole.Apply(round, average, a);
      for (const auto& [first, size] : {std::pair<size_t, size_t>{3, 2}, {0, 2}, {2, 1}}) {
        parts.ApplyPart(round, first, std::span(average).subspan(first, size),
                        std::span(b).subspan(first, size));
      }
    }
    EXPECT_EQ(a, b);
    EXPECT_EQ(whole.velocity(), parts.velocity());
  }
}

// The noise of other blocks is dropped: each release is as it was.
TEST(ServerOptimizerTest, ARoundChangesItsBlockAlone) {
  ServerOptimizer optimizer = Make({.rounds = 2, .blocks = 2});
  std::vector<float> model = {0, 0};
  optimizer.Apply(0, std::vector<double>{3, 0.25}, model);
  EXPECT_THAT(model, ElementsAre(3, 0));
  optimizer.Apply(1, std::vector<double>{0.5, 7}, model);
  EXPECT_THAT(model, ElementsAre(3, 7));
  // In parts that do not end where blocks do.
  ServerOptimizer parts = Make({.rounds = 2, .blocks = 2}, 4);
  std::vector<float> whole = {0, 0, 0, 0};
  const std::vector<double> average = {1, 2, 3, 4};
  for (uint32_t round = 0; round < 2; ++round) {
    for (const auto& [first, size] : {std::pair<size_t, size_t>{0, 1}, {1, 2}, {3, 1}}) {
      parts.ApplyPart(round, first, std::span(average).subspan(first, size),
                      std::span(whole).subspan(first, size));
    }
    EXPECT_THAT(whole, ElementsAre(1, 2, round * 3, round * 4));
  }
  const auto refusal = [](const ServerOptimizerSpec& spec, uint64_t dimension) {
    return base::Message(ServerOptimizer::Create(spec, dimension).status());
  };
  EXPECT_THAT(refusal({.rounds = 2, .blocks = 2}, 3), HasSubstr("no 2 equal parts"));
  EXPECT_THAT(refusal({.rounds = 3, .blocks = 2}, 2), HasSubstr("no 2 equal parts"));
  EXPECT_THAT(refusal({.momentum = 0.5, .rounds = 2, .blocks = 2}, 2),
              HasSubstr("no 2 equal parts"));
}

TEST(ServerOptimizerTest, RefusesBadSettings) {
  EXPECT_THAT(base::Message(ServerOptimizer::Create({.learning_rate = 0}, 1).status()),
              HasSubstr("server.learning_rate is 0"));
  EXPECT_THAT(base::Message(ServerOptimizer::Create({.learning_rate_final = -1}, 1).status()),
              HasSubstr("server.learning_rate_final is -1"));
  EXPECT_THAT(base::Message(ServerOptimizer::Create({.momentum = 1}, 1).status()),
              HasSubstr("server.momentum is 1"));
}

}  // namespace
}  // namespace tacet::agreement
