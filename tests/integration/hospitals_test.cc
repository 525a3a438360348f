// Tables of several hospitals, from the configuration to the run: reading, refusals before anybody
// joins, and the real data where they are found.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "apps/tacet/simulate/memory_run.h"
#include "tacet/base/status.h"
#include "tacet/base/temporary_folder_for_test.h"
#include "tacet/config/configured_data.h"
#include "tacet/config/run_config.h"

namespace tacet::app {
namespace {

using ::testing::HasSubstr;

constexpr char kConfig[] = R"(
[data]
csv_client_column = ""
csv_person_column = "id"
csv_label_column = "ill"
csv_features = ["age 0..120", "chol 50..650 absent=0 indicator"]
classes = 2

[model]
name = "logistic"

[federation]
rounds = 2

[privacy]
unit = "person"
record_rate = 0.5
coordinate_bound = 8
noise_multiplier = 1
scale = 1e-3
)";

class HospitalsTest : public ::testing::Test {
 protected:
  HospitalsTest() {
    std::filesystem::create_directory(path_ / "data");
    Write("data/north.csv", "id,age,chol,ill\nn1,50,200,1\nn2,61,0,0\nn1,51,210,1\n");
    Write("data/south.csv", "id,age,chol,ill\ns1,40,300,0\ns2,70,?,1\n");
    Write("config.toml", kConfig);
  }

  void Write(const std::string& file, const std::string& text) const {
    std::ofstream(path_ / file) << text;
  }

  // The program's exit code; what it says is in output_.
  int Simulate() {
    const std::string command = "\"" TACET_PROGRAM "\" simulate --config " +
                                (path_ / "config.toml").string() + " --data " +
                                (path_ / "data").string() + " --out " + (path_ / "run").string() +
                                " > " + (path_ / "output").string() + " 2>&1";
    const int code = std::system(command.c_str());
    std::ifstream in(path_ / "output");
    output_.assign(std::istreambuf_iterator<char>(in), {});
    return code;
  }
  void ExpectRefusal(const std::string& message) {
    EXPECT_NE(Simulate(), 0);
    EXPECT_THAT(output_, HasSubstr(message));
    EXPECT_FALSE(std::filesystem::exists(path_ / "run")) << "something may have been charged";
  }

  base::TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_.path();
  std::string output_;
};

TEST_F(HospitalsTest, APersonsRowsAreProtectedTogether) {
  ASSERT_EQ(Simulate(), 0) << output_;
  EXPECT_THAT(output_, HasSubstr("2 sites, all in every round"));
  EXPECT_THAT(output_, HasSubstr("unit person, drawn with probability 0.5, 2 expected a round"));
  EXPECT_THAT(
      output_,
      HasSubstr("at delta 1e-05 per person (replace-one, pld) against participant-in-cohort"));
  EXPECT_TRUE(std::filesystem::exists(path_ / "run" / "summary.json"));
}

TEST_F(HospitalsTest, BadTablesAreRefusedBeforeAnybodyJoins) {
  Write("data/south.csv", "id,age,ill\ns1,40,0\n");
  ExpectRefusal("south.csv:1: there is no feature column \"chol\"");
  Write("data/south.csv", "age,chol,ill\n40,100,0\n");
  ExpectRefusal("south.csv:1: there is no person column \"id\"");
  for (const char* site : {"data/north.csv", "data/south.csv"}) {
    Write(site, "id,age,chol,ill\ns1,?,300,0\n");
  }
  ExpectRefusal("no row can be read");
}

// One row decides nothing: it is told, and left out.
TEST_F(HospitalsTest, BadRowsAreLeftOut) {
  Write("data/south.csv",
        "id,age,chol,ill\ns1,40,300,0\ns2,70,?,2\ns3,70,5.2,1\n,70,200,1\ns4,?,300,0\n");
  ASSERT_EQ(Simulate(), 0) << output_;
  EXPECT_THAT(output_, HasSubstr("8 samples of 2 clients"));
  for (const char* line : {"south.csv:3: column 3 (\"ill\"): label 2 where there are 2 classes",
                           "south.csv:4: column 2 (\"chol\"): 5.2 is outside the agreed bounds",
                           "south.csv:5: column 0 (\"id\"): the person is empty",
                           "south.csv:6: column 1 (\"age\"): the value is missing"}) {
    EXPECT_THAT(output_, HasSubstr(line));
  }
  EXPECT_THAT(output_, HasSubstr("Such rows are left out"));
}

TEST_F(HospitalsTest, UnitsThatDoNotFitAreRefusedBeforeAnybodyJoins) {
  std::string config = kConfig;
  config.replace(config.find("csv_person_column = \"id\"\n"), 25, "");
  Write("config.toml", config);
  ExpectRefusal("unit person needs to know which person each sample is from");
  config = kConfig;
  config.replace(config.find("\"person\""), 8, "\"patient\"");
  Write("config.toml", config);
  ExpectRefusal("unknown unit \"patient\"");
  config = kConfig;
  config.replace(config.find("record_rate = 0.5"), 17, "record_rate = 0.0");
  Write("config.toml", config);
  ExpectRefusal("record_rate is 0, it must be above 0 and at most 1");
  Write("config.toml", std::string(kConfig) + "cohort = 1\n");
  ExpectRefusal("unknown key `privacy.cohort`");
}

TEST(HospitalConfigsTest, AConfigurationWrittenOutIsReadBack) {
  for (const char* name : {"heart-disease", "heart-disease-mlp", "femnist-persons"}) {
    const auto config =
        config::LoadRunConfig(std::string(TACET_SOURCE_DIR "/configs/") + name + ".toml");
    ASSERT_TRUE(config.ok()) << config.status();
    const auto again = config::ParseRunConfig(config::RunConfigToml(*config), name);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(config::RunConfigToml(*again), config::RunConfigToml(*config));
    EXPECT_EQ(again->data.csv_features, config->data.csv_features);
    EXPECT_EQ(again->agreement.privacy.unit, config->agreement.privacy.unit);
    EXPECT_TRUE(config::CsvOptionsOf(*config).ok());
  }
}

#ifdef TACET_HEART_DISEASE
TEST(HeartDiseaseTest, FourHospitalsTrainTogether) {
  config::RunConfig config = *config::LoadRunConfig(TACET_SOURCE_DIR "/configs/heart-disease.toml");
  config.data.path = TACET_HEART_DISEASE;
  if (!std::filesystem::exists(config.data.path)) GTEST_SKIP() << "the data are no longer there";
  const auto dataset = config::LoadRunData(config);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->clients(), 4u);
  EXPECT_EQ(dataset->client_name(0), "processed.cleveland");
  EXPECT_EQ(dataset->samples(), 920u);
  EXPECT_EQ(dataset->classes(), 2u);
  EXPECT_EQ(dataset->input_size(), 28u);
  uint64_t ill = 0;
  for (const uint32_t label : dataset->labels()) ill += label;
  EXPECT_EQ(ill, 509u);
  config.agreement.rounds = 4;
  config.agreement.privacy.target_epsilon = 0;
  config.agreement.mechanism.noise_stddev = 5;
  config.run.threads = 2;
  const auto run = app::simulate::TrainInMemory(config, *dataset);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_DOUBLE_EQ(run->agreed.sampling.expected_batch, 184);
}
#endif

}  // namespace
}  // namespace tacet::app
