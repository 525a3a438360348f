#include "tacet/config/configuration_words.h"

#include <string>

#include <gtest/gtest.h>

#include "tacet/base/status.h"

namespace tacet::config {
namespace {

std::string Said(const std::string& message) {
  const absl::Status status = InConfigurationWords(base::InvalidArgument("{}", message));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return base::Message(status);
}

TEST(ConfigurationWordsTest, ParametersBecomeTheKeysThatSetThem) {
  EXPECT_EQ(Said("noise_stddev must be finite and not negative, got -1"),
            "privacy.noise_stddev must be finite and not negative, got -1");
  EXPECT_EQ(Said("cohort is 9, but the federation has 3 clients: choose 1 to 3"),
            "federation.cohort is 9, but the federation has 3 clients: choose 1 to 3");
  EXPECT_EQ(Said("noise_stddev is 1 and target_epsilon is 2: leave one out"),
            "privacy.noise_stddev is 1 and privacy.target_epsilon is 2: leave one out");
  EXPECT_EQ(Said("held_out_share is 1; it must be 0 to 0.9"),
            "data.held_out is 1; it must be 0 to 0.9");
}

TEST(ConfigurationWordsTest, EverythingElseStays) {
  for (const char* text : {"privacy.record_rate 1, privacy.noise_stddev and run.no_noise",
                           "the noise drowns the scale", "/data/clip_norm.csv: no such file",
                           "my_clip_norm_2 is a column", ""}) {
    EXPECT_EQ(Said(text), text);
  }
  EXPECT_TRUE(InConfigurationWords(absl::OkStatus()).ok());
}

}  // namespace
}  // namespace tacet::config
