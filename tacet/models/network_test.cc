#include "tacet/models/network.h"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "fmt/core.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <dnnl.hpp>

#include "tacet/base/cpu.h"
#include "tacet/base/status.h"
#include "tacet/crypto/seeded_random.h"
#include "tacet/models/architecture.h"
#include "tacet/models/reference_network_for_test.h"

namespace tacet::models {
namespace {

using ::testing::HasSubstr;

struct Case {
  std::string name;
  ArchitectureSpec spec;
  NetworkOptions options = {.precision = Precision::kF32};
};

void PrintTo(const Case& test, std::ostream* out) { *out << test.name; }

std::vector<Case> Cases() {
  return {
      {"logistic", {.model = "logistic", .input_shape = {13}, .hidden = {}, .classes = 5}},
      {"mlp", {.model = "mlp", .input_shape = {6, 7}, .hidden = {33, 20}, .classes = 10}},
      // Odd extents: the pools leave a row and a column out.
      {"small_cnn", {.model = "femnist-cnn", .input_shape = {9, 7}, .hidden = {}, .classes = 3}},
      {"cnn", {.model = "femnist-cnn", .input_shape = {28, 28}, .hidden = {}, .classes = 62}},
      // Wider than a tile, and more positions than a strip.
      {"wide_cnn", {.model = "femnist-cnn", .input_shape = {17, 67}, .hidden = {}, .classes = 4}},
      {"small_norm",
       {.model = "femnist-cnn-norm", .input_shape = {9, 7}, .hidden = {}, .classes = 3}},
      {"norm", {.model = "femnist-cnn-norm", .input_shape = {28, 28}, .hidden = {}, .classes = 62}},
      {"onednn_small_norm",
       {.model = "femnist-cnn-norm", .input_shape = {9, 7}, .hidden = {}, .classes = 3},
       {.onednn = true}},
      {"onednn_norm",
       {.model = "femnist-cnn-norm", .input_shape = {28, 28}, .hidden = {}, .classes = 62},
       {.onednn = true}},
      {"onednn_small_cnn",
       {.model = "femnist-cnn", .input_shape = {9, 7}, .hidden = {}, .classes = 3},
       {.onednn = true}},
      {"onednn_cnn",
       {.model = "femnist-cnn", .input_shape = {28, 28}, .hidden = {}, .classes = 62},
       {.onednn = true}}};
}

// Everything random, biases too.
std::vector<float> SomeParameters(const Architecture& architecture) {
  std::vector<float> parameters = architecture.InitialParameters(3, 1.0);
  crypto::Random random = crypto::SeededRandom(3, "test biases");
  for (const Layer& layer : architecture.layers()) {
    for (uint64_t i = 0; i < layer.biases; ++i) {
      parameters[layer.first_parameter + layer.weights + i] =
          static_cast<float>(0.2 * crypto::Uniform(random) - 0.1);
    }
  }
  return parameters;
}

struct Batch {
  std::vector<float> inputs;
  std::vector<uint32_t> labels;
};

Batch SomeBatch(const Architecture& architecture, size_t size) {
  crypto::Random random = crypto::SeededRandom(4, "test batch", size);
  Batch batch;
  for (size_t i = 0; i < size * architecture.input_size(); ++i) {
    batch.inputs.push_back(static_cast<float>(crypto::Uniform(random)));
  }
  for (size_t i = 0; i < size; ++i) {
    batch.labels.push_back(static_cast<uint32_t>(random.Below(architecture.classes())));
  }
  return batch;
}

std::vector<double> ToDouble(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

// ||a - b|| / ||b||.
double Distance(std::span<const double> a, std::span<const double> b) {
  double difference = 0, norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(difference / norm);
}

class NetworkTest : public testing::TestWithParam<Case> {
 protected:
  NetworkTest() : architecture_(*Architecture::Create(GetParam().spec)) {}

  std::unique_ptr<Network> NewNetwork(uint32_t max_batch,
                                      Network::Mode mode = Network::Mode::kTraining) {
    auto network = Network::Create(architecture_, max_batch, mode, GetParam().options);
    EXPECT_TRUE(network.ok()) << network.status();
    return *std::move(network);
  }
  void Step(Network& network, const Batch& batch, float learning_rate) {
    std::ranges::copy(batch.inputs, network.input().begin());
    const absl::Status status = network.Step(batch.labels, learning_rate);
    ASSERT_TRUE(status.ok()) << status;
  }
  // The gradient of `batch`: the change of a step with a rate so large that the parameters
  // themselves do not cost it digits.
  std::vector<double> Gradient(Network& network, const std::vector<float>& parameters,
                               const Batch& batch) {
    EXPECT_TRUE(network.Load(parameters).ok());
    Step(network, batch, 4096);
    std::vector<float> changed(parameters.size());
    EXPECT_TRUE(network.Store(changed).ok());
    std::vector<double> gradient(parameters.size());
    for (size_t i = 0; i < gradient.size(); ++i) {
      gradient[i] = (static_cast<double>(parameters[i]) - static_cast<double>(changed[i])) / 4096;
    }
    return gradient;
  }

  const Architecture architecture_;
};

class ReferenceNetworkTest : public testing::TestWithParam<Case> {
 protected:
  const Architecture architecture_ = *Architecture::Create(GetParam().spec);
};

// The reference's analytic gradient against differences (f(w + h) - f(w - h)) / 2h in double: four
// weights and two biases of every layer.
TEST_P(ReferenceNetworkTest, GradientMatchesFiniteDifferences) {
  std::vector<double> parameters = ToDouble(SomeParameters(architecture_));
  const Batch batch = SomeBatch(architecture_, architecture_.dimension() > 100'000 ? 1 : 3);
  const std::vector<double> inputs = ToDouble(batch.inputs);
  const ReferenceResult result = RunReference(architecture_, parameters, inputs, batch.labels);
  crypto::Random random = crypto::SeededRandom(5, "test parameters");
  const double step = 1e-6;
  double largest = 0;
  for (const double value : result.gradient) largest = std::max(largest, std::abs(value));
  for (const Layer& layer : architecture_.layers()) {
    if (layer.weights == 0) continue;
    for (int k = 0; k < 6; ++k) {
      const uint64_t index =
          layer.first_parameter +
          (k < 4 ? random.Below(layer.weights) : layer.weights + random.Below(layer.biases));
      const double before = parameters[index];
      parameters[index] = before + step;
      const double above = RunReference(architecture_, parameters, inputs, batch.labels).loss;
      parameters[index] = before - step;
      const double below = RunReference(architecture_, parameters, inputs, batch.labels).loss;
      parameters[index] = before;
      EXPECT_NEAR((above - below) / (2 * step), result.gradient[index], 1e-7 * (1 + largest))
          << "parameter " << index;
    }
  }
}

TEST_P(NetworkTest, ScoresMatchTheReference) {
  const std::vector<float> parameters = SomeParameters(architecture_);
  const std::unique_ptr<Network> network = NewNetwork(5, Network::Mode::kInference);
  ASSERT_TRUE(network->Load(parameters).ok());
  for (const uint32_t size : {5u, 1u, 2u}) {
    const Batch batch = SomeBatch(architecture_, size);
    std::ranges::copy(batch.inputs, network->input().begin());
    const auto scores = network->Forward(size);
    ASSERT_TRUE(scores.ok()) << scores.status();
    const ReferenceResult expected =
        RunReference(architecture_, ToDouble(parameters), ToDouble(batch.inputs), batch.labels);
    EXPECT_LT(Distance(std::vector<double>(scores->begin(), scores->end()), expected.scores), 1e-5)
        << size;
  }
}

// Calls compare(ours, the reference's, what) for the weights and the biases of every layer.
template <typename Compare>
void ForEachPart(const Architecture& architecture, std::span<const double> gradient,
                 std::span<const double> expected, const Compare& compare) {
  for (const Layer& layer : architecture.layers()) {
    if (layer.weights == 0) continue;
    const auto part = [&layer](std::span<const double> all, bool biases) {
      return biases ? all.subspan(layer.first_parameter + layer.weights, layer.biases)
                    : all.subspan(layer.first_parameter, layer.weights);
    };
    for (const bool biases : {false, true}) {
      compare(part(gradient, biases), part(expected, biases),
              fmt::format("layer at {}, {}", layer.first_parameter, biases ? "biases" : "weights"));
    }
  }
}

TEST_P(NetworkTest, GradientsMatchTheReferenceInEveryLayer) {
  const std::vector<float> parameters = SomeParameters(architecture_);
  const std::unique_ptr<Network> network = NewNetwork(7);
  for (const size_t size : {7, 1, 4}) {
    const Batch batch = SomeBatch(architecture_, size);
    const std::vector<double> gradient = Gradient(*network, parameters, batch);
    const ReferenceResult expected =
        RunReference(architecture_, ToDouble(parameters), ToDouble(batch.inputs), batch.labels);
    ForEachPart(architecture_, gradient, expected.gradient,
                [size](auto ours, auto reference, const std::string& what) {
                  EXPECT_LT(Distance(ours, reference), 1e-5) << "batch " << size << ", " << what;
                });
  }
}

// Paper around the writing: pools whose four values are equal may choose any of them, the gradient
// of the parameters is the same.
TEST_P(NetworkTest, GradientsMatchTheReferenceOnBlankPaperToo) {
  const std::vector<float> parameters = SomeParameters(architecture_);
  const std::unique_ptr<Network> network = NewNetwork(2);
  Batch batch = SomeBatch(architecture_, 2);
  const size_t inputs = architecture_.input_size();
  std::fill(batch.inputs.begin(), batch.inputs.begin() + static_cast<ptrdiff_t>(inputs * 5 / 8),
            0.0f);
  const std::vector<double> gradient = Gradient(*network, parameters, batch);
  const ReferenceResult expected =
      RunReference(architecture_, ToDouble(parameters), ToDouble(batch.inputs), batch.labels);
  ForEachPart(architecture_, gradient, expected.gradient,
              [](auto ours, auto reference, const std::string& what) {
                EXPECT_LT(Distance(ours, reference), 1e-5) << what;
              });
}

TEST_P(NetworkTest, LoadAndStoreKeepEveryBit) {
  const std::vector<float> parameters = SomeParameters(architecture_);
  const std::unique_ptr<Network> network = NewNetwork(4);
  ASSERT_TRUE(network->Load(parameters).ok());
  std::vector<float> back(parameters.size());
  ASSERT_TRUE(network->Store(back).ok());
  EXPECT_EQ(back, parameters);
}

TEST_P(NetworkTest, AStepDoesNotDependOnThreadOrHistory) {
  const std::vector<float> parameters = SomeParameters(architecture_);
  const Batch batch = SomeBatch(architecture_, 3), other = SomeBatch(architecture_, 5);
  const auto run = [&](Network& network) {
    EXPECT_TRUE(network.Load(parameters).ok());
    Step(network, batch, 0.1f);
    std::vector<float> result(parameters.size());
    EXPECT_TRUE(network.Store(result).ok());
    return result;
  };
  const std::unique_ptr<Network> fresh = NewNetwork(5);
  const std::vector<float> expected = run(*fresh);
  const std::unique_ptr<Network> used = NewNetwork(5);
  ASSERT_TRUE(used->Load(SomeParameters(architecture_)).ok());
  Step(*used, other, 1.0f);
  EXPECT_EQ(run(*used), expected);
  std::vector<float> elsewhere;
  std::thread([&] { elsewhere = run(*used); }).join();
  EXPECT_EQ(elsewhere, expected);
}

TEST_P(NetworkTest, RefusesWrongSizes) {
  const std::unique_ptr<Network> network = NewNetwork(2, Network::Mode::kInference);
  std::vector<float> short_one(architecture_.dimension() - 1);
  EXPECT_THAT(base::Message(network->Load(short_one)), HasSubstr("parameters, expected"));
  EXPECT_THAT(base::Message(network->Store(short_one)), HasSubstr("parameters, expected"));
  EXPECT_THAT(base::Message(network->Forward(3).status()),
              HasSubstr("a batch of 3 samples, expected 1 to 2"));
  EXPECT_EQ(network->Forward(0).status().code(), absl::StatusCode::kInvalidArgument);
  const std::vector<uint32_t> labels = {0};
  EXPECT_EQ(network->Step(labels, 1).code(), absl::StatusCode::kFailedPrecondition);
  const std::unique_ptr<Network> training = NewNetwork(2);
  ASSERT_TRUE(training->Load(SomeParameters(architecture_)).ok());
  const std::vector<uint32_t> bad = {static_cast<uint32_t>(architecture_.classes())};
  EXPECT_THAT(base::Message(training->Step(bad, 1)), HasSubstr("where the model has"));
}

std::vector<Case> ReferenceCases() {
  std::vector<Case> cases = Cases();
  std::erase_if(cases,
                [](const Case& test) { return test.options.onednn || test.name == "wide_cnn"; });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Models, ReferenceNetworkTest, testing::ValuesIn(ReferenceCases()),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(Models, NetworkTest, testing::ValuesIn(Cases()),
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
        EXPECT_THAT(base::Message(network.status()), HasSubstr("bf16 needs model femnist-cnn"));
        continue;
      }
      ASSERT_TRUE(network.ok()) << network.status();
      EXPECT_EQ((*network)->form(), form);
    }
  }
  const Architecture logistic = *Architecture::Create(Cases()[0].spec);
  EXPECT_THAT(base::Message(Network::Create(logistic, 2, Network::Mode::kTraining,
                                            {.precision = Precision::kBf16})
                                .status()),
              HasSubstr("bf16 needs model femnist-cnn"));
  EXPECT_EQ((*Network::Create(logistic, 2, Network::Mode::kTraining))->form(), "onednn");
}

// What bf16 products cost: the angle between the gradient and that of the exact network.
void ExpectBf16PointsWhereTheReferencePoints(const Architecture& architecture) {
  const std::vector<float> parameters = SomeParameters(architecture);
  const auto network =
      Network::Create(architecture, 20, Network::Mode::kTraining, {.precision = Precision::kBf16});
  ASSERT_TRUE(network.ok()) << network.status();
  for (const size_t size : {20, 3}) {
    const Batch batch = SomeBatch(architecture, size);
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
  const std::vector<float> parameters = SomeParameters(architecture);
  const auto create = [&] {
    return *Network::Create(architecture, 5, Network::Mode::kTraining,
                            {.precision = Precision::kBf16});
  };
  const auto step = [&](Network& network, size_t size) {
    const Batch batch = SomeBatch(architecture, size);
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

// Neither training nor the samples beside it change a bit of a sample's scores.
void ExpectScoresDependOnModelAndSampleOnly(const Architecture& architecture) {
  const std::vector<float> parameters = SomeParameters(architecture);
  for (const Precision precision : {Precision::kF32, Precision::kBf16}) {
    if (precision == Precision::kBf16 ? !HasBf16() : base::ActiveSimd() != base::Simd::kAvx512) {
      continue;
    }
    Batch batch = SomeBatch(architecture, 23);
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

TEST(OnednnTest, IsHeldToTheActiveInstructionSet) {
  const Architecture architecture = *Architecture::Create(Cases()[0].spec);
  ASSERT_TRUE(Network::Create(architecture, 1, Network::Mode::kInference).ok());
  const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
  switch (base::ActiveSimd()) {
    case base::Simd::kScalar:
      EXPECT_EQ(isa, dnnl::cpu_isa::sse41);
      break;
    case base::Simd::kAvx2:
      EXPECT_EQ(isa, dnnl::cpu_isa::avx2);
      break;
    case base::Simd::kAvx512:
      EXPECT_EQ(isa, dnnl::cpu_isa::avx512_core);
      break;
  }
}

}  // namespace
}  // namespace tacet::models
