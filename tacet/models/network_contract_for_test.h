// Contract of a network: what every implementation of an architecture does. A test of one
// instantiates NetworkTest with its cases; the general one (network_test.cc) and each registered
// form do.
#ifndef TACET_MODELS_NETWORK_CONTRACT_FOR_TEST_H_
#define TACET_MODELS_NETWORK_CONTRACT_FOR_TEST_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "fmt/core.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"
#include "tacet/crypto/seeded_random.h"
#include "tacet/models/architecture.h"
#include "tacet/models/network.h"
#include "tacet/models/reference_network_for_test.h"

namespace tacet::models {

using ::testing::HasSubstr;

struct NetworkCase {
  std::string name;
  ArchitectureSpec spec;
};

inline void PrintTo(const NetworkCase& test, std::ostream* out) { *out << test.name; }

// Everything random, biases too.
inline std::vector<float> SomeNetworkParameters(const Architecture& architecture) {
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

struct NetworkBatch {
  std::vector<float> inputs;
  std::vector<uint32_t> labels;
};

inline NetworkBatch SomeNetworkBatch(const Architecture& architecture, size_t size) {
  crypto::Random random = crypto::SeededRandom(4, "test batch", size);
  NetworkBatch batch;
  for (size_t i = 0; i < size * architecture.input_size(); ++i) {
    batch.inputs.push_back(static_cast<float>(crypto::Uniform(random)));
  }
  for (size_t i = 0; i < size; ++i) {
    batch.labels.push_back(static_cast<uint32_t>(random.Below(architecture.classes())));
  }
  return batch;
}

inline std::vector<double> ToDouble(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

// ||a - b|| / ||b||.
inline double Distance(std::span<const double> a, std::span<const double> b) {
  double difference = 0, norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(difference / norm);
}

class NetworkTest : public testing::TestWithParam<NetworkCase> {
 protected:
  NetworkTest() : architecture_(*Architecture::Create(GetParam().spec)) {}

  std::unique_ptr<Network> NewNetwork(uint32_t max_batch,
                                      Network::Mode mode = Network::Mode::kTraining) {
    return base::ValueOf(
        Network::Create(architecture_, max_batch, mode, {.precision = Precision::kF32}));
  }
  void Step(Network& network, const NetworkBatch& batch, float learning_rate) {
    std::ranges::copy(batch.inputs, network.input().begin());
    const absl::Status status = network.Step(batch.labels, learning_rate);
    ASSERT_TRUE(status.ok()) << status;
  }
  // The gradient of `batch`: the change of a step with a rate so large that the parameters
  // themselves do not cost it digits.
  std::vector<double> Gradient(Network& network, const std::vector<float>& parameters,
                               const NetworkBatch& batch) {
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

TEST_P(NetworkTest, ScoresMatchTheReference) {
  const std::vector<float> parameters = SomeNetworkParameters(architecture_);
  const std::unique_ptr<Network> network = NewNetwork(5, Network::Mode::kInference);
  ASSERT_TRUE(network->Load(parameters).ok());
  for (const uint32_t size : {5u, 1u, 2u}) {
    const NetworkBatch batch = SomeNetworkBatch(architecture_, size);
    std::ranges::copy(batch.inputs, network->input().begin());
    ASSERT_OK_AND_ASSIGN(const auto scores, network->Forward(size));
    const ReferenceResult expected =
        RunReference(architecture_, ToDouble(parameters), ToDouble(batch.inputs), batch.labels);
    EXPECT_LT(Distance(std::vector<double>(scores.begin(), scores.end()), expected.scores), 1e-5)
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
  const std::vector<float> parameters = SomeNetworkParameters(architecture_);
  const std::unique_ptr<Network> network = NewNetwork(7);
  for (const size_t size : {7, 1, 4}) {
    const NetworkBatch batch = SomeNetworkBatch(architecture_, size);
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
  const std::vector<float> parameters = SomeNetworkParameters(architecture_);
  const std::unique_ptr<Network> network = NewNetwork(2);
  NetworkBatch batch = SomeNetworkBatch(architecture_, 2);
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
  const std::vector<float> parameters = SomeNetworkParameters(architecture_);
  const std::unique_ptr<Network> network = NewNetwork(4);
  ASSERT_TRUE(network->Load(parameters).ok());
  std::vector<float> back(parameters.size());
  ASSERT_TRUE(network->Store(back).ok());
  EXPECT_EQ(back, parameters);
}

TEST_P(NetworkTest, AStepDoesNotDependOnThreadOrHistory) {
  const std::vector<float> parameters = SomeNetworkParameters(architecture_);
  const NetworkBatch batch = SomeNetworkBatch(architecture_, 3),
                     other = SomeNetworkBatch(architecture_, 5);
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
  ASSERT_TRUE(used->Load(SomeNetworkParameters(architecture_)).ok());
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
  ASSERT_TRUE(training->Load(SomeNetworkParameters(architecture_)).ok());
  const std::vector<uint32_t> bad = {static_cast<uint32_t>(architecture_.classes())};
  EXPECT_THAT(base::Message(training->Step(bad, 1)), HasSubstr("where the model has"));
}

}  // namespace tacet::models

#endif  // TACET_MODELS_NETWORK_CONTRACT_FOR_TEST_H_
