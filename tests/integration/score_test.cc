// `tacet data score`: the probabilities of a model that is known, for tables as people write them.
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/integration/program_for_test.h"

namespace tacet::app {
namespace {

using ::testing::HasSubstr;

class ScoreTest : public ProgramTest {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(path_ / "run");
    WriteConfig(R"([data]
csv_label_column = "ill"
csv_features = ["age 0..100", "weight 0..200"]
csv_decimal = "comma"
classes = 2
[model]
name = "logistic"
)",
                "run/config.toml");
  }
  void WriteModel(const std::vector<float>& parameters) {
    std::string bytes(parameters.size() * sizeof(float), '\0');
    std::memcpy(bytes.data(), parameters.data(), bytes.size());
    std::ofstream(path_ / "run/model.f32", std::ios::binary) << bytes;
  }
  Outcome Score(const std::string& data, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"data", "score", "run",    "--data",
                                          data,   "--out", "out.csv"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Tacet(std::move(arguments));
  }
};

TEST_F(ScoreTest, EveryRowKeepsItsFieldsAndGetsItsProbability) {
  WriteConfig(
      "\xEF\xBB\xBFname;age;weight;ill\r\n\"Ada; the \"\"first\"\"\";40;62,5;1\r\nBob;80;100;0\r\n",
      "in.csv");
  // Margin: w . x + 0.5, with w = (2, -1) for class 1 alone.
  WriteModel({0, 0, 2, -1, 0, 0.5});
  const Outcome scored = Score("in.csv", {"--column", "risk"});
  ASSERT_EQ(scored.exit_code, 0) << scored.err;
  EXPECT_THAT(scored.out, HasSubstr("2 rows, column \"risk\""));
  std::istringstream table(Read("out.csv"));
  std::string line;
  std::getline(table, line);
  EXPECT_EQ(line, "name;age;weight;ill;risk");
  const auto probability = [](double age, double weight) {
    return 1 / (1 + std::exp(-(2 * (age / 50 - 1) - (weight / 100 - 1) + 0.5)));
  };
  const auto score = [&](const std::string& begin) {
    std::getline(table, line);
    EXPECT_EQ(line.substr(0, begin.size()), begin);
    std::string last = line.substr(line.rfind(';') + 1);
    EXPECT_THAT(last, HasSubstr(","));
    std::replace(last.begin(), last.end(), ',', '.');
    return std::stod(last);
  };
  EXPECT_NEAR(score("\"Ada; the \"\"first\"\"\";40;62,5;1;"), probability(40, 62.5), 2e-6);
  EXPECT_NEAR(score("Bob;80;100;0;"), probability(80, 100), 2e-6);
  EXPECT_FALSE(std::getline(table, line));
}

// The score of another column's value would stand there without a word.
TEST_F(ScoreTest, TablesOfOtherSoftwareGetTheirOwnScores) {
  WriteModel({0, 0, 2, -1, 0, 0.5});
  WriteConfig("age;weight;ill\n40;62,5;1\n80;100;0\n", "plain.csv");
  ASSERT_EQ(Score("plain.csv").exit_code, 0);
  const std::string expected = Read("out.csv");
  EXPECT_THAT(expected, HasSubstr("\n80;100;0;"));
  std::filesystem::remove(path_ / "out.csv");
  WriteConfig("\"age\";\"weight\";\"ill\"\n\"1\";40;62,5;1\n\"2\";80;100;0\n", "r.csv");
  const Outcome scored = Score("r.csv");
  ASSERT_EQ(scored.exit_code, 0) << scored.err;
  EXPECT_EQ(Read("out.csv"), expected);
  std::filesystem::remove(path_ / "out.csv");
  std::string utf16 = "\xFF\xFE";
  for (const char letter : std::string("age;weight;ill;\r\n40;62,5;1;\r\n80;100;0;\r\n")) {
    utf16 += {letter, '\0'};
  }
  WriteConfig(utf16, "unicode.csv");
  ASSERT_EQ(Score("unicode.csv").exit_code, 0);
  EXPECT_EQ(Read("out.csv"), expected);
}

TEST_F(ScoreTest, WhatDoesNotFitIsRefused) {
  WriteConfig("age;weight;ill\n40;62,5;1\n", "in.csv");
  EXPECT_THAT(Score("in.csv").err, HasSubstr("run/model.f32"));
  WriteModel({0, 1, 2});
  EXPECT_THAT(Score("in.csv").err, HasSubstr("has 12 bytes, the model of run has 6 parameters"));
  WriteModel({0, 0, 2, -1, 0, 0.5});
  EXPECT_THAT(Score("in.csv", {"--column", "age"}).err, HasSubstr("has a column \"age\" already"));
  EXPECT_THAT(Score(".").err, HasSubstr("is a folder"));
  EXPECT_THAT(Score("out.csv").err, HasSubstr("out.csv"));
  const Outcome onto_itself =
      Tacet({"data", "score", "run", "--data", "in.csv", "--out", "in.csv"});
  EXPECT_THAT(onto_itself.err, HasSubstr("stays as it is"));
  WriteConfig("age;weight;ill\n40;heavy;1\n", "bad.csv");
  EXPECT_THAT(Score("bad.csv").err, HasSubstr("bad.csv:2"));
  EXPECT_FALSE(std::filesystem::exists(path_ / "out.csv"));
}

}  // namespace
}  // namespace tacet::app
