#include "tacet/models/record_gradients.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"
#include "tacet/models/reference_network_for_test.h"

namespace tacet::models {
namespace {

struct Case {
  ArchitectureSpec architecture;
  size_t records = 0;
};

std::vector<Case> Cases() {
  return {{{.model = "logistic", .input_shape = {13}, .hidden = {}, .classes = 2}, 32},
          {{.model = "logistic", .input_shape = {40}, .hidden = {}, .classes = 5}, 7},
          {{.model = "mlp", .input_shape = {29}, .hidden = {17, 9}, .classes = 3}, 31},
          {{.model = "mlp", .input_shape = {64}, .hidden = {33}, .classes = 2}, 1},
          {{.model = "femnist-cnn", .input_shape = {9, 6}, .hidden = {}, .classes = 4}, 5}};
}

TEST(RecordGradientsTest, RefusesNorms) {
  const auto architecture = Architecture::Create(
      {.model = "femnist-cnn-norm", .input_shape = {9, 6}, .hidden = {}, .classes = 4});
  const absl::Status refused = RecordGradients::CheckArchitecture(*architecture);
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(base::Message(refused), testing::HasSubstr("a model without layer norms"));
  for (const Case& test : Cases()) {
    EXPECT_TRUE(RecordGradients::CheckArchitecture(*Architecture::Create(test.architecture)).ok());
  }
}

std::vector<float> Uniform(std::mt19937& generator, size_t size, float limit) {
  std::uniform_real_distribution<float> law(-limit, limit);
  std::vector<float> values(size);
  for (float& value : values) value = law(generator);
  return values;
}

struct Batch {
  std::vector<float> parameters;
  std::vector<float> inputs;
  std::vector<uint32_t> labels;
};

Batch MakeBatch(const Architecture& architecture, size_t records) {
  std::mt19937 generator(17);
  Batch batch;
  batch.parameters = architecture.InitialParameters(3, 1.0);
  const std::vector<float> noise = Uniform(generator, batch.parameters.size(), 0.05f);
  for (size_t i = 0; i < noise.size(); ++i) batch.parameters[i] += noise[i];
  batch.inputs = Uniform(generator, records * architecture.input_size(), 1.0f);
  for (size_t i = 0; i < records; ++i) {
    batch.labels.push_back(static_cast<uint32_t>(generator() % architecture.classes()));
  }
  return batch;
}

// One record's gradient in plain loops and double.
std::vector<double> OneByOne(const Architecture& architecture, const Batch& batch, size_t record) {
  const std::vector<double> parameters(batch.parameters.begin(), batch.parameters.end());
  const size_t size = architecture.input_size();
  const auto first = batch.inputs.begin() + static_cast<ptrdiff_t>(record * size);
  const std::vector<double> input(first, first + static_cast<ptrdiff_t>(size));
  return RunReference(architecture, parameters, input, std::vector{batch.labels[record]}).gradient;
}

double Norm(const std::vector<double>& values) {
  double square = 0;
  for (const double value : values) square += value * value;
  return std::sqrt(square);
}

TEST(RecordGradientsTest, NormsAndSumsAreThoseOfGradientsTakenOneByOne) {
  for (const Case& one : Cases()) {
    const Architecture architecture = *Architecture::Create(one.architecture);
    const Batch batch = MakeBatch(architecture, one.records);
    RecordGradients gradients(architecture);
    gradients.Load(batch.parameters);
    std::ranges::copy(batch.inputs, gradients.input().begin());
    ASSERT_OK_AND_ASSIGN(const auto norms, gradients.Norms(batch.labels));
    std::vector<double> weights(one.records), expected(architecture.dimension(), 0.25);
    double lengths = 0;
    for (size_t i = 0; i < one.records; ++i) {
      const std::vector<double> gradient = OneByOne(architecture, batch, i);
      const double norm = Norm(gradient);
      EXPECT_NEAR(norms[i], norm, 1e-5 * norm) << one.architecture.model;
      weights[i] = i % 3 == 2 ? 0 : 0.1 * static_cast<double>(i + 1);
      for (size_t p = 0; p < expected.size(); ++p) expected[p] += weights[i] * gradient[p];
      lengths += weights[i] * norm;
    }
    std::vector<double> sum(architecture.dimension(), 0.25);
    gradients.AddTo(weights, sum);
    for (size_t p = 0; p < sum.size(); ++p) sum[p] -= expected[p];
    EXPECT_LT(Norm(sum), 1e-5 * lengths) << one.architecture.model;
  }
}

// The last bit: next to other records, in another place, in a fuller batch.
TEST(RecordGradientsTest, ARecordsGradientDependsOnThatRecordAlone) {
  for (const Case& one : Cases()) {
    const Architecture architecture = *Architecture::Create(one.architecture);
    const Batch batch = MakeBatch(architecture, RecordGradients::kMaxRecords);
    const size_t size = architecture.input_size();
    RecordGradients gradients(architecture);
    gradients.Load(batch.parameters);
    double norm = 0;
    std::vector<double> alone;
    for (const size_t place : {size_t{0}, size_t{1}, size_t{15}, size_t{16}, size_t{30}}) {
      const size_t records = place == 0 ? 1 : std::min<size_t>(32, place + 3);
      std::ranges::copy(batch.inputs, gradients.input().begin());
      std::ranges::copy(std::span(batch.inputs).last(size),
                        gradients.input().begin() + static_cast<ptrdiff_t>(place * size));
      std::vector<uint32_t> labels(batch.labels.begin(),
                                   batch.labels.begin() + static_cast<ptrdiff_t>(records));
      labels[place] = batch.labels.back();
      ASSERT_OK_AND_ASSIGN(const auto norms, gradients.Norms(labels));
      std::vector<double> weights(records, 0.0), sum(architecture.dimension(), 0.0);
      weights[place] = 1;
      gradients.AddTo(weights, sum);
      if (alone.empty()) {
        norm = norms[place];
        alone = sum;
      }
      EXPECT_EQ(norms[place], norm) << one.architecture.model << " at " << place;
      EXPECT_EQ(sum, alone) << one.architecture.model << " at " << place;
    }
  }
}

TEST(RecordGradientsTest, RecordsThatAreNotFiniteAreLeftOut) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const Case& one : Cases()) {
    const Architecture architecture = *Architecture::Create(one.architecture);
    const Batch batch = MakeBatch(architecture, 4);
    const size_t size = architecture.input_size();
    RecordGradients gradients(architecture);
    gradients.Load(batch.parameters);
    std::vector<double> clean(architecture.dimension(), 0.0), sum(architecture.dimension(), 0.0);
    std::ranges::copy(batch.inputs, gradients.input().begin());
    ASSERT_TRUE(gradients.Norms(batch.labels).ok());
    const std::vector<double> weights = {1, 0, 0, 1};
    gradients.AddTo(weights, clean);
    gradients.input()[size] = std::nanf("");
    std::ranges::fill(gradients.input().subspan(2 * size, size), infinity);
    ASSERT_OK_AND_ASSIGN(const auto norms, gradients.Norms(batch.labels));
    EXPECT_EQ(norms[1], std::numeric_limits<double>::infinity()) << one.architecture.model;
    EXPECT_EQ(norms[2], std::numeric_limits<double>::infinity()) << one.architecture.model;
    gradients.AddTo(weights, sum);
    EXPECT_EQ(sum, clean) << one.architecture.model;
  }
}

TEST(RecordGradientsTest, RefusesMoreRecordsThanItHasRoomFor) {
  const Architecture architecture = *Architecture::Create(Cases()[0].architecture);
  RecordGradients gradients(architecture);
  EXPECT_FALSE(gradients.Norms({}).ok());
  EXPECT_FALSE(gradients.Norms(std::vector<uint32_t>(33)).ok());
}

}  // namespace
}  // namespace tacet::models
