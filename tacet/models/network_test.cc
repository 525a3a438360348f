#include "tacet/models/network.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <dnnl.hpp>

#include "tacet/base/cpu.h"
#include "tacet/base/status.h"
#include "tacet/crypto/seeded_random.h"
#include "tacet/models/network_contract_for_test.h"
#include "tacet/models/network_form.h"
#include "tacet/models/reference_network_for_test.h"

namespace tacet::models {
namespace {

std::vector<NetworkCase> NetworkCases() {
  return {
      {"logistic", {.model = "logistic", .input_shape = {13}, .hidden = {}, .classes = 5}},
      {"mlp", {.model = "mlp", .input_shape = {6, 7}, .hidden = {33, 20}, .classes = 10}},
      // Odd extents: the pools leave a row and a column out.
      {"small_cnn", {.model = "femnist-cnn", .input_shape = {9, 7}, .hidden = {}, .classes = 3}},
      {"cnn", {.model = "femnist-cnn", .input_shape = {28, 28}, .hidden = {}, .classes = 62}},
      {"small_norm",
       {.model = "femnist-cnn-norm", .input_shape = {9, 7}, .hidden = {}, .classes = 3}},
      {"norm",
       {.model = "femnist-cnn-norm", .input_shape = {28, 28}, .hidden = {}, .classes = 62}}};
}

class ReferenceNetworkTest : public testing::TestWithParam<NetworkCase> {
 protected:
  const Architecture architecture_ = *Architecture::Create(GetParam().spec);
};

// The reference's analytic gradient against differences (f(w + h) - f(w - h)) / 2h in double: four
// weights and two biases of every layer.
TEST_P(ReferenceNetworkTest, GradientMatchesFiniteDifferences) {
  std::vector<double> parameters = ToDouble(SomeNetworkParameters(architecture_));
  const NetworkBatch batch =
      SomeNetworkBatch(architecture_, architecture_.dimension() > 100'000 ? 1 : 3);
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

INSTANTIATE_TEST_SUITE_P(Models, ReferenceNetworkTest, testing::ValuesIn(NetworkCases()),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(Models, NetworkTest, testing::ValuesIn(NetworkCases()),
                         [](const auto& test) { return test.param.name; });

TEST(OnednnTest, IsHeldToTheActiveInstructionSet) {
  const Architecture architecture = *Architecture::Create(NetworkCases()[0].spec);
  ASSERT_TRUE(Network::Create(architecture, 1, Network::Mode::kInference).ok());
  if (base::DetectedSimd() == base::Simd::kNeon) GTEST_SKIP() << "oneDNN has levels of x86-64 only";
  const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
  switch (base::ActiveSimd()) {
    case base::Simd::kScalar:
      EXPECT_EQ(isa, dnnl::cpu_isa::sse41);
      break;
    case base::Simd::kNeon:
      break;
    case base::Simd::kAvx2:
      EXPECT_EQ(isa, dnnl::cpu_isa::avx2);
      break;
    case base::Simd::kAvx512:
      EXPECT_EQ(isa, dnnl::cpu_isa::avx512_core);
      break;
  }
}

// A form that computes one architecture, and says so: sixteen classes and no hidden layer.
class ZeroForm final : public NetworkForm {
 public:
  explicit ZeroForm(uint32_t max_batch) : scores_(16 * max_batch) {}

  absl::Status Load(std::span<const float>) override { return absl::OkStatus(); }
  absl::Status Store(std::span<float> parameters) override {
    std::ranges::fill(parameters, 0.0f);
    return absl::OkStatus();
  }
  std::span<float> input() override { return {}; }
  absl::Status Forward(uint32_t batch, std::span<const float>& scores) override {
    scores = std::span(scores_).first(16 * batch);
    return absl::OkStatus();
  }
  std::span<float> score_gradients(uint32_t batch) override {
    return std::span(scores_).first(16 * batch);
  }
  absl::Status Backward(uint32_t, float) override { return absl::OkStatus(); }

 private:
  std::vector<float> scores_;
};

std::optional<RegisteredForm> FindZeroForm(const Architecture& architecture, Precision precision) {
  if (architecture.classes() != 16 || precision == Precision::kF32) return std::nullopt;
  return RegisteredForm{.name = "zero", .create = [](uint32_t max_batch, Network::Mode) {
                          return std::make_unique<ZeroForm>(max_batch);
                        }};
}

std::string FormOf(const ArchitectureSpec& spec, Precision precision) {
  const auto network = Network::Create(*Architecture::Create(spec), 2, Network::Mode::kTraining,
                                       {.precision = precision});
  return network.ok() ? std::string((*network)->form()) : base::Message(network.status());
}

// One test, since what is registered stays.
TEST(NetworkFormTest, ARegisteredFormRunsWhatItFindsAndNothingElse) {
  const ArchitectureSpec fits = {
      .model = "logistic", .input_shape = {3}, .hidden = {}, .classes = 16};
  const ArchitectureSpec other = {
      .model = "logistic", .input_shape = {3}, .hidden = {}, .classes = 5};
  EXPECT_EQ(FormOf(fits, Precision::kAuto), "onednn");
  EXPECT_THAT(FormOf(fits, Precision::kBf16), HasSubstr("no code in bf16 for this model"));
  RegisterNetworkForms(&FindZeroForm);
  RegisterNetworkForms(&FindZeroForm);
  EXPECT_EQ(FormOf(fits, Precision::kAuto), "zero");
  EXPECT_EQ(FormOf(fits, Precision::kBf16), "zero");
  EXPECT_EQ(FormOf(fits, Precision::kF32), "onednn");
  EXPECT_EQ(FormOf(other, Precision::kAuto), "onednn");
  EXPECT_THAT(FormOf(other, Precision::kBf16), HasSubstr("set it to auto or f32"));
  // The network checks sizes and labels for every form.
  const auto network = *Network::Create(*Architecture::Create(fits), 2, Network::Mode::kTraining);
  EXPECT_THAT(base::Message(network->Forward(3).status()), HasSubstr("expected 1 to 2"));
  EXPECT_THAT(base::Message(network->Step(std::vector<uint32_t>{16}, 1)),
              HasSubstr("label 16 where the model has 16 classes"));
  EXPECT_TRUE(network->Step(std::vector<uint32_t>{15}, 1).ok());
}

}  // namespace
}  // namespace tacet::models
