#include "lab/kernels/conv_network.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/cpu.h"
#include "tacet/base/status.h"
#include "tacet/models/network_contract_for_test.h"
#include "tacet/models/reference_network_for_test.h"

namespace tacet::models {
namespace {

// Before any test of this program makes a network.
[[maybe_unused]] const bool kRegistered = [] {
  lab::kernels::RegisterConvForm();
  return true;
}();

std::vector<NetworkCase> ConvCases() {
  return {
      // Odd extents: the pools leave a row and a column out.
      {"small_cnn", {.model = "femnist-cnn", .input_shape = {9, 7}, .hidden = {}, .classes = 3}},
      {"cnn", {.model = "femnist-cnn", .input_shape = {28, 28}, .hidden = {}, .classes = 62}},
      // Wider than a tile, and more positions than a strip.
      {"wide_cnn", {.model = "femnist-cnn", .input_shape = {17, 67}, .hidden = {}, .classes = 4}},
      {"small_norm",
       {.model = "femnist-cnn-norm", .input_shape = {9, 7}, .hidden = {}, .classes = 3}},
      {"norm",
       {.model = "femnist-cnn-norm", .input_shape = {28, 28}, .hidden = {}, .classes = 62}}};
}

INSTANTIATE_TEST_SUITE_P(Conv, NetworkTest, testing::ValuesIn(ConvCases()),
                         [](const auto& test) { return test.param.name; });

Architecture Femnist(const std::string& model = "femnist-cnn") {
  return *Architecture::Create(
      {.model = model, .input_shape = {28, 28}, .hidden = {}, .classes = 62});
}

const char* const kConvModels[] = {"femnist-cnn", "femnist-cnn-norm"};

bool HasBf16() {
  return base::MayUse(base::Target::kAmxBf16) || base::MayUse(base::Target::kAvx512Bf16);
}

// The kernels are used wherever the processor allows, so that the tests above are about them.
TEST(ConvNetworkTest, RunsWhereTheProcessorHasIt) {
  const std::string f32 = base::ActiveSimd() == base::Simd::kAvx512 ? "conv-f32" : "onednn";
  const std::string fast = base::MayUse(base::Target::kAmxBf16) ? "conv-amx" : f32;
  const std::string bf16 = base::MayUse(base::Target::kAmxBf16) ? "conv-amx"
                           : HasBf16()                          ? "conv-bf16"
                                                                : "";
  for (const char* model : kConvModels) {
    for (const auto& [precision, form] :
         {std::pair(Precision::kAuto, fast), std::pair(Precision::kF32, f32),
          std::pair(Precision::kBf16, bf16)}) {
      const auto network =
          Network::Create(Femnist(model), 2, Network::Mode::kTraining, {.precision = precision});
      if (form.empty()) {
        EXPECT_THAT(base::Message(network.status()), HasSubstr("no code in bf16 for this model"));
        continue;
      }
      ASSERT_TRUE(network.ok()) << network.status();
      EXPECT_EQ((*network)->form(), form);
    }
  }
  const Architecture logistic =
      *Architecture::Create({.model = "logistic", .input_shape = {13}, .hidden = {}, .classes = 5});
  EXPECT_THAT(base::Message(Network::Create(logistic, 2, Network::Mode::kTraining,
                                            {.precision = Precision::kBf16})
                                .status()),
              HasSubstr("no code in bf16 for this model"));
  EXPECT_EQ((*Network::Create(logistic, 2, Network::Mode::kTraining))->form(), "onednn");
}

// The cost of bf16 products: the angle between the gradient and that of the exact network.
void ExpectBf16PointsWhereTheReferencePoints(const Architecture& architecture) {
  const std::vector<float> parameters = SomeNetworkParameters(architecture);
  const auto network =
      Network::Create(architecture, 20, Network::Mode::kTraining, {.precision = Precision::kBf16});
  ASSERT_TRUE(network.ok()) << network.status();
  for (const size_t size : {20, 3}) {
    const NetworkBatch batch = SomeNetworkBatch(architecture, size);
    ASSERT_TRUE((*network)->Load(parameters).ok());
    std::ranges::copy(batch.inputs, (*network)->input().begin());
    ASSERT_TRUE((*network)->Step(batch.labels, 4096).ok());
    std::vector<float> changed(parameters.size());
    ASSERT_TRUE((*network)->Store(changed).ok());
    const ReferenceResult expected =
        RunReference(architecture, ToDouble(parameters), ToDouble(batch.inputs), batch.labels);
    double product = 0, ours = 0, reference = 0;
    for (size_t i = 0; i < changed.size(); ++i) {
      const double gradient = static_cast<double>(parameters[i]) - static_cast<double>(changed[i]);
      product += gradient * expected.gradient[i];
      ours += gradient * gradient;
      reference += expected.gradient[i] * expected.gradient[i];
    }
    const double cosine = product / std::sqrt(ours * reference);
    EXPECT_GE(cosine, 0.998) << size;
    EXPECT_LT(cosine, 0.99999999) << "not bf16";
    EXPECT_NEAR(std::sqrt(ours / reference) / 4096, 1, 0.01) << size;
  }
}

TEST(ConvNetworkTest, GradientsOfBf16PointWhereTheReferencePoints) {
  if (!HasBf16()) GTEST_SKIP() << "no bf16 products here";
  for (const char* model : kConvModels) {
    SCOPED_TRACE(model);
    ExpectBf16PointsWhereTheReferencePoints(Femnist(model));
  }
}

TEST(ConvNetworkTest, AStepInBf16DoesNotDependOnThreadOrHistory) {
  if (!HasBf16()) GTEST_SKIP() << "no bf16 products here";
  const Architecture architecture = Femnist();
  const std::vector<float> parameters = SomeNetworkParameters(architecture);
  const auto create = [&] {
    return *Network::Create(architecture, 5, Network::Mode::kTraining,
                            {.precision = Precision::kBf16});
  };
  const auto step = [&](Network& network, size_t size) {
    const NetworkBatch batch = SomeNetworkBatch(architecture, size);
    std::vector<float> result(parameters.size());
    std::ranges::copy(batch.inputs, network.input().begin());
    EXPECT_TRUE(network.Load(parameters).ok() && network.Step(batch.labels, 0.1f).ok() &&
                network.Store(result).ok());
    return result;
  };
  const std::vector<float> expected = step(*create(), 3);
  const std::unique_ptr<Network> used = create();
  EXPECT_NE(step(*used, 5), expected);
  EXPECT_EQ(step(*used, 3), expected);
  std::vector<float> elsewhere;
  std::thread([&] { elsewhere = step(*used, 3); }).join();
  EXPECT_EQ(elsewhere, expected);
}

// Neither training nor the samples next to it change a bit of a sample's scores.
void ExpectScoresDependOnModelAndSampleOnly(const Architecture& architecture) {
  const std::vector<float> parameters = SomeNetworkParameters(architecture);
  for (const Precision precision : {Precision::kF32, Precision::kBf16}) {
    if (precision == Precision::kBf16 ? !HasBf16() : base::ActiveSimd() != base::Simd::kAvx512) {
      continue;
    }
    NetworkBatch batch = SomeNetworkBatch(architecture, 23);
    for (size_t i = 0; i < batch.inputs.size(); i += 784) {  // paper above the writing
      std::fill_n(batch.inputs.begin() + static_cast<ptrdiff_t>(i), 17 * 28, 0.0f);
    }
    const auto last_scores = [&](Network::Mode mode, uint32_t size) {
      auto network = Network::Create(architecture, 23, mode, {.precision = precision});
      EXPECT_TRUE(network.ok() && (*network)->Load(parameters).ok());
      std::copy(batch.inputs.end() - size * 784, batch.inputs.end(), (*network)->input().begin());
      const auto scores = (*network)->Forward(size);
      EXPECT_TRUE(scores.ok());
      return std::vector<float>(scores->end() - 62, scores->end());
    };
    const std::vector<float> alone = last_scores(Network::Mode::kInference, 1);
    EXPECT_EQ(last_scores(Network::Mode::kInference, 23), alone);
    EXPECT_EQ(last_scores(Network::Mode::kTraining, 23), alone);
    EXPECT_EQ(last_scores(Network::Mode::kTraining, 1), alone);
  }
}

TEST(ConvNetworkTest, ScoresDependOnModelAndSampleOnly) {
  for (const char* model : kConvModels) {
    SCOPED_TRACE(model);
    ExpectScoresDependOnModelAndSampleOnly(Femnist(model));
  }
}

}  // namespace
}  // namespace tacet::models
