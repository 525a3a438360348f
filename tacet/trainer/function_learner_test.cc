#include "tacet/trainer/function_learner.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tacet::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

FunctionLearnerSpec OfClients() {
  return {.initial = {1, 2},
          .clients = 3,
          .train = [](uint32_t round, uint64_t client, std::span<const float> model,
                      std::span<float> update) {
            update[0] = model[0] + static_cast<float>(round);
            update[1] = static_cast<float>(client);
            return absl::OkStatus();
          }};
}

// Every unit's part is (1, 0), clipped or not.
FunctionLearnerSpec OfRecords(float part) {
  return {.initial = {0, 0},
          .clients = 2,
          .unit = accounting::Unit::kRecord,
          .units = {5, 4},
          .sum_clipped = [part](uint64_t, std::span<const uint32_t> units, double,
                                std::span<const float>, std::span<float> sum) {
            sum[0] = part * static_cast<float>(units.size());
            sum[1] = 0;
            return absl::OkStatus();
          }};
}

std::string RefusalOf(FunctionLearnerSpec spec) {
  return std::string(NewFunctionLearner(std::move(spec)).status().message());
}

TEST(FunctionLearnerTest, ItsFunctionsAreCalled) {
  const auto learner = *NewFunctionLearner(OfClients());
  EXPECT_EQ(learner->dimension(), 2u);
  EXPECT_EQ(learner->clients(), 3u);
  EXPECT_EQ(learner->Evaluate(learner->InitialModel(), 1)->samples, 0u);
  std::vector<float> update(2);
  ASSERT_TRUE((*learner->NewTrainer())->Train(learner->InitialModel(), 4, 2, update).ok());
  EXPECT_THAT(update, ElementsAre(5, 2));
}

TEST(FunctionLearnerTest, AnUpdateThatIsNotFiniteIsRefused) {
  FunctionLearnerSpec spec = OfClients();
  spec.train = [](uint32_t, uint64_t, std::span<const float>, std::span<float> update) {
    update[1] = std::numeric_limits<float>::quiet_NaN();
    return absl::OkStatus();
  };
  const auto learner = *NewFunctionLearner(std::move(spec));
  std::vector<float> update(2);
  const absl::Status refused =
      (*learner->NewTrainer())->Train(learner->InitialModel(), 0, 2, update);
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("client 2: value 1 is nan, not a finite number; correct its"));
}

TEST(FunctionLearnerTest, ASumOfUnitsThatWereNotClippedIsRefused) {
  const std::vector<uint32_t> units = {0, 2, 3};
  std::vector<float> sum(2);
  const auto clipped = *NewFunctionLearner(OfRecords(0.5F));
  EXPECT_TRUE((*clipped->NewTrainer())
                  ->SumClippedGradients(clipped->InitialModel(), 1, units, 0.5, sum)
                  .ok());
  EXPECT_THAT(sum, ElementsAre(1.5F, 0));
  const auto whole = *NewFunctionLearner(OfRecords(1));
  const absl::Status refused =
      (*whole->NewTrainer())->SumClippedGradients(whole->InitialModel(), 1, units, 0.5, sum);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("has norm 3, 3 units clipped to 0.5"));
}

// The sum of many units is just below the middle of two floats in each coordinate, and one more
// unit moves it just above a middle: each coordinate then moves by a unit in the last place more
// than the part. The largest b is 2^8 for C = 1 and 2^12 parameters.
TEST(FunctionLearnerTest, RoundingDoesNotMoveASumByMoreThanTheClipNorm) {
  constexpr size_t kDimension = 4096;
  constexpr uint32_t kOthers = 17'000;
  constexpr double kLastPlace = 0x1p-16;  // of floats from 128 to 256
  const auto moved = [&](double used_room) {
    FunctionLearnerSpec spec{.initial = std::vector<float>(kDimension),
                             .clients = 1,
                             .unit = accounting::Unit::kRecord,
                             .units = {kOthers + 1}};
    spec.sum_clipped = [&](uint64_t, std::span<const uint32_t> units, double clip_norm,
                           std::span<const float>, std::span<float> sum) {
      const double part = clip_norm * (1 + used_room) / std::sqrt(double{kDimension});
      for (size_t i = 0; i < sum.size(); ++i) {
        const double places = std::round(part / kLastPlace) * kLastPlace;
        const double others = 255 + 0.5 * kLastPlace - (part - places) - 1e-9;
        sum[i] = static_cast<float>(units.size() > kOthers ? others + part + 2e-9 : others);
      }
      return absl::OkStatus();
    };
    const auto learner = *NewFunctionLearner(std::move(spec));
    const auto trainer = *learner->NewTrainer();
    std::vector<uint32_t> units(kOthers + 1);
    std::iota(units.begin(), units.end(), 0);
    std::vector<float> with(kDimension), without(kDimension);
    EXPECT_TRUE(trainer->SumClippedGradients(learner->InitialModel(), 0, units, 1, with).ok());
    units.pop_back();
    EXPECT_TRUE(trainer->SumClippedGradients(learner->InitialModel(), 0, units, 1, without).ok());
    double squares = 0;
    for (size_t i = 0; i < kDimension; ++i) {
      squares += std::pow(double{with[i]} - double{without[i]}, 2);
    }
    return std::sqrt(squares);
  };
  EXPECT_LE(moved(0), 1);
  EXPECT_GT(moved(kRoundingRoom / (1 - kRoundingRoom)), 1);  // without the room
}

TEST(FunctionLearnerTest, IncompleteSpecsAreRefused) {
  FunctionLearnerSpec spec = OfClients();
  spec.clients = 0;
  EXPECT_THAT(RefusalOf(spec), HasSubstr("clients is 0"));
  spec = OfClients();
  spec.initial.clear();
  EXPECT_THAT(RefusalOf(spec), HasSubstr("no parameters"));
  spec = OfClients();
  spec.initial[1] = std::numeric_limits<float>::infinity();
  EXPECT_THAT(RefusalOf(spec), HasSubstr("parameter 1 is not a finite"));
  spec = OfClients();
  spec.train = nullptr;
  EXPECT_THAT(RefusalOf(spec), HasSubstr("no function"));
  spec = OfClients();
  spec.units = {1};
  EXPECT_THAT(RefusalOf(spec), HasSubstr("numbers of units are given for 1 clients"));
  spec = OfRecords(1);
  spec.units.clear();
  EXPECT_THAT(RefusalOf(spec), HasSubstr("must be given for 2"));
}

}  // namespace
}  // namespace tacet::trainer
