#include "tacet/models/federated_part.h"

#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"

namespace tacet::models {
namespace {

using ::testing::HasSubstr;

class FederatedPartTest : public ::testing::Test {
 protected:
  // dense1 has 2 x 3 weights and 3 biases, dense2 3 x 4 and 4.
  Architecture architecture_ =
      *Architecture::Create({.model = "mlp", .input_shape = {2}, .hidden = {3}, .classes = 4});

  // Parameter i is i.
  std::vector<float> Numbered() const {
    std::vector<float> start(architecture_.dimension());
    std::iota(start.begin(), start.end(), 0.0f);
    return start;
  }
  absl::StatusOr<FederatedPart> Part(const std::vector<std::string>& names) const {
    return FederatedPart::Create(architecture_, names, Numbered());
  }
  std::vector<float> GatheredBy(const FederatedPart& part) const {
    std::vector<float> values(part.dimension());
    part.Gather(part.start(), values);
    return values;
  }
};

TEST_F(FederatedPartTest, NoNamesAreTheWholeModel) {
  ASSERT_OK_AND_ASSIGN(const auto part, Part({}));
  EXPECT_TRUE(part.whole());
  EXPECT_EQ(part.dimension(), 25u);
  EXPECT_EQ(part.names(), "");
  EXPECT_EQ(GatheredBy(part), Numbered());
  EXPECT_EQ(part.Whole(Numbered()), Numbered());
}

TEST_F(FederatedPartTest, LayersAndTheirPartsStandInTheOrderOfTheModel) {
  ASSERT_OK_AND_ASSIGN(const auto part, Part({"dense2.biases", "dense1.weights"}));
  EXPECT_FALSE(part.whole());
  EXPECT_EQ(part.names(), "dense1.weights,dense2.biases");
  EXPECT_EQ(part.dimension(), 10u);
  EXPECT_EQ(GatheredBy(part), (std::vector<float>{0, 1, 2, 3, 4, 5, 21, 22, 23, 24}));
  EXPECT_EQ(GatheredBy(*Part({"dense1.biases", "dense2.weights"})).front(), 6.0f);
  EXPECT_EQ(Part({"dense2"})->dimension(), 16u);

  std::vector<float> values(10, -1.0f);
  const std::vector<float> whole = part.Whole(values);
  for (size_t i = 0; i < whole.size(); ++i) {
    EXPECT_EQ(whole[i], i < 6 || i >= 21 ? -1.0f : static_cast<float>(i)) << i;
  }
  std::vector<float> changed(25, 7.0f);
  part.Restore(changed);
  for (size_t i = 0; i < changed.size(); ++i) {
    EXPECT_EQ(changed[i], i < 6 || i >= 21 ? 7.0f : static_cast<float>(i)) << i;
  }
}

TEST_F(FederatedPartTest, WrongNamesSayWhichThereAre) {
  const auto refusal = [&](const std::vector<std::string>& names) {
    const auto part = Part(names);
    EXPECT_EQ(part.status().code(), absl::StatusCode::kInvalidArgument);
    return base::Message(part.status());
  };
  EXPECT_THAT(refusal({"dense3"}), HasSubstr("names \"dense3\", but the layers of this model are "
                                             "dense1, dense2"));
  EXPECT_THAT(refusal({"dense1.bias"}), HasSubstr("dense1.bias"));
  EXPECT_THAT(refusal({"dense2", "dense2"}), HasSubstr("dense2 and dense2, which overlap"));
  EXPECT_THAT(refusal({"dense2.biases", "dense2"}), HasSubstr("which overlap"));
  EXPECT_THAT(base::Message(FederatedPart::Create(architecture_, {}, {1, 2}).status()),
              HasSubstr("the start has 2 parameters, the model 25"));
}

}  // namespace
}  // namespace tacet::models
