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
