#include "tacet/run/run_output.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tacet::run {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(RoundLineTest, SaysWhatAPersonWantsToSee) {
  simulation::RoundRecord record;
  record.round = 8;
  record.cohort_size = 998;
  record.charged_epsilon = 2.0409;
  record.seconds.total = 13.72;
  EXPECT_EQ(RoundLine(record, 100, {}),
            "round   9/100  participants 998  epsilon so far 2.041  13.7 s");
  record.evaluation = trainer::Evaluation{.accuracy = 0.8125, .loss = 0.5, .samples = 16};
  EXPECT_EQ(RoundLine(record, 100, {}),
            "round   9/100  participants 998  epsilon so far 2.041  13.7 s  accuracy  81.25 %  "
            "loss 0.5000");
  // A figure that was not measured is absent, not 0.
  record.evaluation = trainer::Evaluation{.loss = 0.5, .samples = 16};
  EXPECT_EQ(RoundLine(record, 100, {}),
            "round   9/100  participants 998  epsilon so far 2.041  13.7 s  loss 0.5000");
  EXPECT_TRUE(RoundJson(record, {}).Find("accuracy")->is_null());
  record.evaluation->auc = 0.9;
  EXPECT_THAT(RoundLine(record, 100, {"no-noise"}), HasSubstr("  AUC 0.9000  [no-noise]"));
}

TEST(RoundLineTest, SaysWhoGaveNoData) {
  std::vector<simulation::RoundRecord> rounds(5);
  for (uint32_t i = 0; i < 5; ++i) {
    rounds[i].round = i;
    rounds[i].cohort_size = 5;
  }
  rounds[0].cohort_size = 0;
  rounds[3].abstained = rounds[4].abstained = 2;
  EXPECT_THAT(RoundLine(rounds[4], 5, {}), HasSubstr("participants 5, 2 without data"));
  EXPECT_EQ(GiversText(rounds),
            "not known in round 1, 5 of 5 uploads in rounds 2 to 3, 3 of 5 uploads in rounds 4 to "
            "5");
  EXPECT_EQ(GiversJson(rounds).Dump(), "[null,5,5,3,3]");
  rounds[4].abstains = true;
  EXPECT_THAT(GiversText(rounds), HasSubstr("; this site gave none in 1 of 5 rounds"));
}

TEST(RoundLineTest, IsSilentAboutWhatIsNotKnown) {
  simulation::RoundRecord record;
  record.charged_epsilon = std::numeric_limits<double>::infinity();
  const std::string line = RoundLine(record, 3, {});
  EXPECT_THAT(line, HasSubstr("participants not known  epsilon so far none"));
  EXPECT_THAT(line, Not(HasSubstr("accuracy")));
  EXPECT_THAT(line, Not(HasSubstr("privacy")));
}

}  // namespace
}  // namespace tacet::run
