#include "tacet/models/max_pool.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/crypto/seeded_random.h"

namespace tacet::models {
namespace {

using ::testing::ElementsAre;

TEST(MaxPoolTest, ChoosesTheLargestAndSendsTheGradientBack) {
  // Two maps of 2 x 5; the last column is left out.
  const PoolShape shape = {.outer = 2, .height = 2, .width = 5, .inner = 1};
  const std::vector<float> source = {1, 2, -5, -6, 9,  //
                                     3, 0, -7, -4, 9,  //
                                     8, 8, -1, -1, 9,  //
                                     8, 8, -2, -3, 9};
  std::vector<float> result(4), back(20, 99);
  std::vector<int32_t> winner(4);
  MaxPool(shape, false, source.data(), result.data(), winner.data());
  EXPECT_THAT(result, ElementsAre(3, -4, 8, -1));
  EXPECT_THAT(winner, ElementsAre(2, 3, 0, 0));  // the first of equals
  const std::vector<float> gradient = {1, 2, 3, 4};
  MaxPoolBackward(shape, gradient.data(), winner.data(), back.data());
  EXPECT_THAT(back, ElementsAre(0, 0, 0, 0, 0, 1, 0, 0, 2, 0, 3, 0, 4, 0, 0, 0, 0, 0, 0, 0));

  MaxPool(shape, true, source.data(), result.data(), winner.data());
  EXPECT_THAT(result, ElementsAre(3, 0, 8, 0));
  EXPECT_THAT(winner, ElementsAre(2, 4, 0, 4));
  MaxPoolBackward(shape, gradient.data(), winner.data(), back.data());
  EXPECT_THAT(back, ElementsAre(0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0));
}

// Blocks of 16 take another path than other widths; both say what one channel at a time says.
TEST(MaxPoolTest, BlocksOfChannelsAgreeWithSingleChannels) {
  crypto::Random random = crypto::SeededRandom(1, "test pool");
  for (const size_t inner : {size_t{3}, size_t{8}, size_t{16}}) {
    const PoolShape blocked = {.outer = 3, .height = 5, .width = 6, .inner = inner};
    const PoolShape single = {.outer = 3 * inner, .height = 5, .width = 6, .inner = 1};
    // Goes from [outer][position][inner] to [outer][inner][position].
    const auto unblock = [&](const auto& values, size_t positions) {
      auto plain = values;
      for (size_t i = 0; i < values.size(); ++i) {
        const size_t lane = i % inner, position = i / inner % positions,
                     map = i / inner / positions;
        plain[(map * inner + lane) * positions + position] = values[i];
      }
      return plain;
    };
    std::vector<float> source(3 * 30 * inner), gradient(blocked.results());
    for (float& value : source) value = static_cast<float>(crypto::Uniform(random) - 0.5);
    for (float& value : gradient) value = static_cast<float>(crypto::Uniform(random) - 0.5);
    std::vector<float> result(blocked.results()), expected(blocked.results());
    std::vector<int32_t> winner(blocked.results()), expected_winner(blocked.results());
    MaxPool(blocked, true, source.data(), result.data(), winner.data());
    MaxPool(single, true, unblock(source, 30).data(), expected.data(), expected_winner.data());
    EXPECT_EQ(unblock(result, 6), expected);
    EXPECT_EQ(unblock(winner, 6), expected_winner);
    std::vector<float> back(source.size()), expected_back(source.size());
    MaxPoolBackward(blocked, gradient.data(), winner.data(), back.data());
    MaxPoolBackward(single, unblock(gradient, 6).data(), expected_winner.data(),
                    expected_back.data());
    EXPECT_EQ(unblock(back, 30), expected_back);
  }
}

}  // namespace
}  // namespace tacet::models
