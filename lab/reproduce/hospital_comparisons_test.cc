#include "lab/reproduce/hospital_comparisons.h"

#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tacet::app::reproduce {
namespace {

using ::testing::HasSubstr;

HospitalTrial TrialOf(double all, std::optional<double> north, std::optional<double> south) {
  HospitalTrial trial;
  trial.all.auc = all;
  trial.by_hospital.resize(2);
  trial.by_hospital[0].auc = north;
  trial.by_hospital[1].auc = south;
  return trial;
}

// Three splits of two hospitals; in the second one the south held no healthy patient out.
class HospitalComparisonsTest : public ::testing::Test {
 protected:
  HospitalComparisonsTest() {
    const std::vector<HospitalVariant> variants = {{.name = "record", .epsilon = 2},
                                                   {.name = "client", .epsilon = 2},
                                                   {.name = "pooled"},
                                                   {.name = "alone", .hospital = 0},
                                                   {.name = "alone", .hospital = 1}};
    const std::vector<std::vector<HospitalTrial>> trials = {
        {TrialOf(0.90, 0.8, 0.7), TrialOf(0.88, 0.9, {}), TrialOf(0.86, 0.8, 0.9)},
        {TrialOf(0.1, 0, 0), TrialOf(0.1, 0, 0), TrialOf(0.1, 0, 0)},
        {TrialOf(0.91, 1, 1), TrialOf(0.90, 1, 1), TrialOf(0.89, 1, 1)},
        {TrialOf(0.80, 0.9, 1), TrialOf(0.88, 0.8, 1), TrialOf(0.84, 0.6, 1)},
        {TrialOf(0.82, 1, 0.6), TrialOf(0.80, 1, {}), TrialOf(0.80, 1, 0.6)}};
    comparisons_ = CompareHospitals(variants, trials, {"north", "south"}, 0.25);
  }

  const HospitalComparison& Of(const std::string& patients, const std::string& against) const {
    static const HospitalComparison kNone;
    for (const HospitalComparison& comparison : comparisons_) {
      if (comparison.patients == patients && comparison.against == against) return comparison;
    }
    ADD_FAILURE() << patients << ", " << against;
    return kNone;
  }

  std::vector<HospitalComparison> comparisons_;
};

TEST_F(HospitalComparisonsTest, ArePairedBySplit) {
  EXPECT_EQ(comparisons_.size(), 7u);  // of the one epsilon with protected records
  EXPECT_NEAR(Of("all", "alone-mean").difference.mean, (0.09 + 0.04 + 0.04) / 3, 1e-12);
  EXPECT_NEAR(Of("all", "pooled").difference.mean, (-0.01 - 0.02 - 0.03) / 3, 1e-12);
  EXPECT_EQ(Of("all", "pooled").difference.above, 0u);
  // The north is better on average, in the first split the south is.
  EXPECT_EQ(Of("all", "alone-best").hospital, "north");
  EXPECT_NEAR(Of("all", "alone-best").difference.mean, (0.10 + 0 + 0.02) / 3, 1e-12);
  EXPECT_NEAR(Of("all", "alone-best-of-split").difference.mean, (0.08 + 0 + 0.02) / 3, 1e-12);
}

TEST_F(HospitalComparisonsTest, WithinAHospitalItsOwnModelIsTheOther) {
  EXPECT_NEAR(Of("north", "alone").difference.mean, (-0.1 + 0.1 + 0.2) / 3, 1e-12);
  const ResampledDifference& south = Of("south", "alone").difference;
  EXPECT_EQ(south.splits, 2u);
  EXPECT_NEAR(south.mean, (0.1 + 0.3) / 2, 1e-12);
  // Both hospitals, in the two splits where both have an AUC.
  const ResampledDifference& own = Of("own", "alone").difference;
  EXPECT_EQ(own.splits, 2u);
  EXPECT_NEAR(own.mean, (0 + 0.25) / 2, 1e-12);
}

TEST_F(HospitalComparisonsTest, AreTextAndJson) {
  const std::string text = ComparisonsText(comparisons_, 2);
  EXPECT_THAT(text, HasSubstr("alone-best (north)"));
  EXPECT_THAT(text, HasSubstr("0/3"));
  EXPECT_EQ(ComparisonsText(comparisons_, 4).find("north"), std::string::npos);
  const base::JsonValue json = ComparisonsJson(comparisons_);
  ASSERT_EQ(json.items().size(), 7u);
  EXPECT_EQ(*json.items()[1].Find("hospital")->AsString(), "north");
  EXPECT_EQ(*json.items()[4].Find("auc_difference")->Find("splits")->AsUint(), 2u);
}

}  // namespace
}  // namespace tacet::app::reproduce
