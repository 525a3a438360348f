#include "tacet/models/architecture.h"

#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"

namespace tacet::models {
namespace {

using ::testing::HasSubstr;

const ArchitectureSpec kPaper = {
    .model = "femnist-cnn", .input_shape = {28, 28}, .hidden = {}, .classes = 62};

TEST(ArchitectureTest, ThePapersNetworkHas486654Parameters) {
  ASSERT_OK_AND_ASSIGN(const auto architecture, Architecture::Create(kPaper));
  EXPECT_EQ(architecture.dimension(), 486'654u);
  std::vector<uint64_t> counts;
  uint64_t next = 0;
  for (const Layer& layer : architecture.layers()) {
    if (layer.weights == 0) continue;
    EXPECT_EQ(layer.first_parameter, next);
    next += layer.weights + layer.biases;
    counts.push_back(layer.weights + layer.biases);
  }
  EXPECT_THAT(counts, testing::ElementsAre(3'328, 73'792, 401'536, 7'998));
}

TEST(ArchitectureTest, NormsStandBeforeTheDenseLayersAndHaveNoParameters) {
  ArchitectureSpec spec = kPaper;
  spec.model = "femnist-cnn-norm";
  ASSERT_OK_AND_ASSIGN(const auto with, Architecture::Create(spec));
  ASSERT_OK_AND_ASSIGN(const auto without, Architecture::Create(kPaper));
  EXPECT_EQ(with.dimension(), 486'654u);
  std::vector<Layer> others;
  std::vector<double> gains;
  for (size_t i = 0; i < with.layers().size(); ++i) {
    const Layer& layer = with.layers()[i];
    if (layer.kind != LayerKind::kNorm) {
      others.push_back(layer);
      continue;
    }
    gains.push_back(layer.gain);
    EXPECT_EQ(layer.weights + layer.biases, 0u);
    EXPECT_EQ(layer.input, layer.output);
    EXPECT_EQ(with.layers()[i - 1].kind, LayerKind::kRelu);
    EXPECT_EQ(with.layers()[i + 1].kind, LayerKind::kDense);
  }
  EXPECT_THAT(gains, testing::ElementsAre(0.6, 1.0));
  ASSERT_EQ(others.size(), without.layers().size());
  for (size_t i = 0; i < others.size(); ++i) {
    EXPECT_EQ(others[i].kind, without.layers()[i].kind);
    EXPECT_EQ(others[i].first_parameter, without.layers()[i].first_parameter);
    EXPECT_EQ(others[i].weights, without.layers()[i].weights);
  }
}

TEST(ArchitectureTest, CountsParametersOfTheOtherModels) {
  EXPECT_EQ(Architecture::Create({"logistic", {28, 28}, {}, 62})->dimension(), 785u * 62);
  EXPECT_EQ(Architecture::Create({"mlp", {13}, {20, 10}, 2})->dimension(),
            14u * 20 + 21 * 10 + 11 * 2);
}

TEST(ArchitectureTest, RefusesWhatCannotBe) {
  const auto expect_error = [](const ArchitectureSpec& spec, const std::string& message) {
    const auto result = Architecture::Create(spec);
    ASSERT_FALSE(result.ok()) << message;
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(base::Message(result.status()), HasSubstr(message));
  };
  expect_error({"resnet", {28, 28}, {}, 62},
               "model is \"resnet\"; it must be femnist-cnn, femnist-cnn-norm, mlp or logistic");
  expect_error({"femnist-cnn", {784}, {}, 62}, "needs images of at least 4 x 4");
  expect_error({"femnist-cnn", {28, 3}, {}, 62}, "model femnist-cnn needs images of at least 4");
  expect_error({"femnist-cnn-norm", {3, 9}, {}, 62}, "model femnist-cnn-norm needs images of at");
  expect_error({"femnist-cnn", {1u << 14, 1u << 14}, {}, 62}, "parameters, at most");
  expect_error({"logistic", {}, {}, 62}, "the samples have no features");
  expect_error({"logistic", {5, 0}, {}, 62}, "an extent of 0");
  expect_error({"logistic", {1u << 20, 1u << 20}, {}, 62}, "an extent of 1048576");
  expect_error({"logistic", {13}, {}, 1}, "needs 2 to");
  expect_error({"mlp", {13}, {}, 2}, "at least one hidden layer");
  expect_error({"mlp", {13}, {0}, 2}, "hidden layer of width 0");
}

// Mean and variance of 401,408 uniform weights: six standard errors, false alarm 2e-9.
TEST(ArchitectureTest, InitialWeightsHaveHesVariance) {
  const auto architecture = Architecture::Create(kPaper);
  const std::vector<float> parameters = architecture->InitialParameters(1, 0.2);
  for (const Layer& layer : architecture->layers()) {
    if (layer.weights == 0) continue;
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < layer.weights; ++i) {
      const double value = parameters[layer.first_parameter + i];
      sum += value;
      squares += value * value;
    }
    const bool last = layer.output.size() == 62;
    const auto count = static_cast<double>(layer.weights);
    const double variance = (last ? 0.04 : 1.0) * 2 * static_cast<double>(layer.biases) / count;
    EXPECT_NEAR(sum / count, 0, 6 * std::sqrt(variance / count));
    // A uniform variable's square has variance 4/5 of its squared variance.
    EXPECT_NEAR(squares / count, variance, 6 * variance * std::sqrt(0.8 / count));
    for (uint64_t i = 0; i < layer.biases; ++i) {
      EXPECT_EQ(parameters[layer.first_parameter + layer.weights + i], 0.0f);
    }
  }
}

TEST(ArchitectureTest, InitialisationDependsOnTheSeedOnly) {
  const auto architecture = Architecture::Create({"logistic", {4}, {}, 2});
  const std::vector<float> one = architecture->InitialParameters(1, 1);
  EXPECT_EQ(one, architecture->InitialParameters(1, 1));
  EXPECT_NE(one, architecture->InitialParameters(2, 1));
}

}  // namespace
}  // namespace tacet::models
