#include "tacet/training/row_scores.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"

namespace tacet::training {
namespace {

using ::testing::HasSubstr;

// Rows that a logistic model sees as they are.
data::Dataset Rows(uint32_t classes) {
  return *data::Dataset::Create({.name = "rows",
                                 .input_shape = {2},
                                 .features = std::vector<float>{1, 0, 0, 1, 2, -1},
                                 .labels = {0, 1, classes - 1},
                                 .sample_clients = {0, 0, 0},
                                 .client_names = {"a"},
                                 .classes = classes});
}

models::Architecture Logistic(uint32_t classes) {
  return *models::Architecture::Create(
      {.model = "logistic", .input_shape = {2}, .hidden = {}, .classes = classes});
}

TEST(LabelLogOddsTest, IsTheLogarithmOfTheOdds) {
  // Scores of class k: w_k x + b_k.
  const std::vector<float> model = {1, 2, -1, 0.5f, 3, -2, 0.25f, 0, -0.5f};
  const std::vector<uint32_t> rows = {2, 0};
  ASSERT_OK_AND_ASSIGN(const auto odds, LabelLogOdds(Logistic(3), model, Rows(3), rows));
  const double row2[] = {1 * 2 - 2 * 1 + 0.25, -1 * 2 - 0.5, 3 * 2 + 2 - 0.5};
  const double row0[] = {1 + 0.25, -1, 3 - 0.5};
  const auto expected = [](const double* s, int label) {
    const double all = std::exp(s[0]) + std::exp(s[1]) + std::exp(s[2]);
    const double p = std::exp(s[label]) / all;
    return std::log(p / (1 - p));
  };
  EXPECT_NEAR(odds[0], expected(row2, 2), 1e-5);
  EXPECT_NEAR(odds[1], expected(row0, 0), 1e-5);
}

TEST(LabelLogOddsTest, StaysFiniteWhereTheProbabilityRoundsToOne) {
  const std::vector<float> model = {0, 0, 0, 0, 500, -500};
  const std::vector<uint32_t> rows = {0, 1};
  const auto odds = LabelLogOdds(Logistic(2), model, Rows(2), rows);
  const auto margins = Margins(Logistic(2), model, Rows(2), rows);
  ASSERT_TRUE(odds.ok() && margins.ok());
  EXPECT_EQ((*odds)[0], 1000);
  EXPECT_EQ((*odds)[1], -1000);
  EXPECT_EQ((*margins)[0], -1000);  // of class 1 over class 0
}

TEST(LabelLogOddsTest, RefusesOtherClasses) {
  EXPECT_THAT(base::Message(LabelLogOdds(Logistic(2), std::vector<float>(6), Rows(3), {}).status()),
              HasSubstr("samples of 2 values in 2 classes, rows has samples of 2 in 3"));
}

}  // namespace
}  // namespace tacet::training
