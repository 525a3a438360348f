#include "tacet/config/run_config.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status.h"
#include "tacet/config/configured_data.h"
#include "tacet/config/site_config.h"
#include "tacet/config/toml.h"

namespace tacet::config {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(RunConfigTest, WhatIsWrittenReadsBack) {
  RunConfig config;
  config.data.clients = 7;
  config.agreement.plaintext_bits = 26;
  config.run.insecure_seed = 3;
  const auto again = ParseRunConfig(RunConfigToml(config), "test");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->data.clients, 7u);
  EXPECT_EQ(again->agreement.plaintext_bits, 26u);
  EXPECT_EQ(again->run.insecure_seed, 3u);
  EXPECT_EQ(again->agreement.plaintext_bits, 26u);
  EXPECT_THAT(DifferingKeys(config, *again), IsEmpty());
}

TEST(RunConfigTest, ThreadsAndThePlaceOfTheDataMakeNoOtherRun) {
  RunConfig a, b;
  a.run.threads = 1;
  a.data.path = "here";
  b.data.path = "there";
  b.run.publish_evaluation = true;
  EXPECT_THAT(DifferingKeys(a, b), IsEmpty());
  b.data.path.clear();
  b.agreement.mechanism.noise_stddev = 2.5;
  b.run.insecure_seed = 1;
  EXPECT_THAT(DifferingKeys(a, b),
              AllOf(HasSubstr("data.path (given, not drawn)"),
                    HasSubstr("privacy.noise_multiplier (0.0, not 2.5)"),
                    HasSubstr("run.insecure_seed"), Not(HasSubstr("threads"))));
}

// Keys with their defaults, as docs/formats/configuration.md has them. A row may have several.
std::map<std::string, std::string> DocumentedKeys() {
  std::ifstream page(TACET_SOURCE_DIR "/docs/formats/configuration.md");
  std::map<std::string, std::string> keys;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("| `")) continue;
    const size_t end = line.find(" | "), next = line.find(" | ", end + 3);
    const std::vector<std::string> names = absl::StrSplit(line.substr(2, end - 2), ", ");
    std::vector<std::string> defaults = {line.substr(end + 3, next - end - 3)};
    if (names.size() > 1) defaults = absl::StrSplit(defaults[0], ", ");
    for (size_t i = 0; i < names.size(); ++i) {
      const std::string name = names[i].substr(1, names[i].size() - 2);
      EXPECT_TRUE(keys.emplace(name, defaults[std::min(i, defaults.size() - 1)]).second) << name;
    }
  }
  return keys;
}

TEST(RunConfigTest, ThePageHasEveryKeyWithItsDefault) {
  const std::map<std::string, std::string> page = DocumentedKeys();
  const base::JsonValue written = *ParseToml(RunConfigToml(RunConfig()), "defaults");
  EXPECT_EQ(page.size(), ConfigurationKeys().size());
  for (const std::string_view key : ConfigurationKeys()) {
    const auto row = page.find(std::string(key));
    ASSERT_NE(row, page.end()) << key << " is not on the page";
    const size_t point = key.find('.');
    const base::JsonValue* section = written.Find(key.substr(0, point));
    const base::JsonValue* value =
        section == nullptr ? nullptr : section->Find(key.substr(point + 1));
    // Deviation 0 is written as a multiplier. A file gives one of them.
    if (value == nullptr || key == "privacy.noise_multiplier") {
      EXPECT_TRUE(row->second == "none" || row->second == "\"any-events\"") << key;
      continue;
    }
    const auto documented = ParseToml("value = " + row->second, "page");
    ASSERT_TRUE(documented.ok()) << key << ": " << row->second;
    const base::JsonValue& shown = *documented->Find("value");
    if (shown.is_number()) {
      EXPECT_EQ(shown.AsDouble(), value->AsDouble()) << key;
    } else {
      EXPECT_EQ(shown.Dump(), value->Dump()) << key;
    }
  }
}

// Nobody learns the cohorts, unless the file says how they are drawn.
TEST(RunConfigTest, CohortsAreDrawnAsTheFileSays) {
  const auto read = [](std::string_view keys) {
    return ParseRunConfig("[federation]\ncohort = 4\n" + std::string(keys), "test.toml");
  };
  const auto sampling = [&](std::string_view keys) {
    const auto config = read(keys);
    EXPECT_TRUE(config.ok()) << config.status();
    // The copy that a run directory or an agreement keeps is read as the same.
    EXPECT_EQ(ParseRunConfig(RunConfigToml(*config), "again")->agreement.sampling,
              config->agreement.sampling);
    return accounting::Resolved(config->agreement.sampling, config->agreement.privacy, 5,
                                accounting::Purpose::kTraining);
  };
  const accounting::SamplingParams hidden = sampling("");
  EXPECT_EQ(hidden.method, accounting::Sampling::kPoisson);
  EXPECT_TRUE(hidden.dummy_uploads);
  EXPECT_EQ(hidden.min_participants, 4u);
  EXPECT_EQ(sampling("dummy_uploads = true\n"), hidden);
  EXPECT_EQ(sampling("min_participants = 3\n").min_participants, 3u);
  for (const std::string_view keys :
       {"sampling = \"fixed-size\"\n", "sampling = \"fixed-size\"\ndummy_uploads = false\n",
        "[privacy]\nunit = \"record\"\n"}) {
    EXPECT_EQ(sampling(keys).method, accounting::Sampling::kFixedSize) << keys;
    EXPECT_FALSE(sampling(keys).dummy_uploads) << keys;
  }
  EXPECT_FALSE(sampling("sampling = \"poisson\"\n").dummy_uploads);
  EXPECT_THAT(base::Message(read("dummy_uploads = false\n").status()),
              HasSubstr("`federation.sampling` is missing"));
}

TEST(RunConfigTest, UnknownKeysGetASuggestion) {
  const auto refusal = [](std::string_view toml) {
    return base::Message(ParseRunConfig(toml, "test.toml").status());
  };
  EXPECT_EQ(
      refusal("[privacy]\nnoise_multipleir = 1.0\n"),
      "test.toml: unknown key `privacy.noise_multipleir`; `privacy.noise_multiplier` may be meant");
  EXPECT_THAT(refusal("[privacy]\nrounds = 3\n"), HasSubstr("`federation.rounds` may be meant"));
  EXPECT_THAT(refusal("cohort = 3\n"),
              HasSubstr("`cohort` (every key is in a section); `federation.cohort` may be meant"));
  EXPECT_EQ(refusal("[privacy]\nzzzzzz = 3\n"), "test.toml: unknown key `privacy.zzzzzz`");
  // Both [training] and [server] have it.
  EXPECT_EQ(refusal("[model]\nlearning_rate = 3\n"),
            "test.toml: unknown key `model.learning_rate`");
}

TEST(RunConfigTest, AFolderIsNoConfiguration) {
  EXPECT_THAT(base::Message(LoadRunConfig(testing::TempDir()).status()),
              HasSubstr("is a folder; give the configuration file"));
  const auto config =
      ParseRunConfig("[model]\nstart = \"" + testing::TempDir() + "\"\n", "test.toml");
  EXPECT_THAT(base::Message(LoadParameters(config->model.start, "model.start").status()),
              HasSubstr("is a folder; give a file as a run's model.f32"));
}

TEST(RunConfigTest, LabelsAreDescribedInOneWay) {
  const auto refusal = [](std::string_view data) {
    const auto config = ParseRunConfig("[data]\n" + std::string(data), "test.toml");
    EXPECT_TRUE(config.ok()) << config.status();
    return base::Message(CsvOptionsOf(*config).status());
  };
  EXPECT_EQ(refusal("csv_labels = [\"no\", \"yes\"]\ncsv_separator = \"tab\"\n"), "");
  EXPECT_THAT(refusal("csv_labels = [\"no\", \"yes\"]\ncsv_label_above = 1.0\n"),
              HasSubstr("exclude each other"));
  EXPECT_THAT(refusal("csv_labels = [\"no\", \"yes\"]\nclasses = 3\n"),
              HasSubstr("data.classes is 3, data.csv_labels names 2"));
  EXPECT_THAT(refusal("csv_labels = [\"no\"]\n"), HasSubstr("names one class"));
  EXPECT_THAT(refusal("csv_labels = [\"no\", \"no\"]\n"),
              HasSubstr("data.csv_labels: \"no\" occurs twice"));
  EXPECT_THAT(refusal("csv_separator = \":\"\n"), HasSubstr("auto, comma, semicolon, tab or bar"));
  EXPECT_THAT(refusal("csv_decimal = \"dot\"\n"), HasSubstr("it must be point or comma"));

  // All sites map alike; how one site's files are written is its own.
  const auto config = ParseRunConfig(
      "[data]\ncsv_labels = [\"no\", \"yes\"]\ncsv_separator = \";\"\ncsv_decimal = \"comma\"\n"
      "csv_spellings = [\"sex one-of=f|femme\"]\n",
      "test.toml");
  const std::string agreed = AgreedToml(*config);
  EXPECT_THAT(agreed, HasSubstr("csv_labels = [\"no\", \"yes\"]"));
  EXPECT_THAT(agreed, AllOf(Not(HasSubstr("csv_separator")), Not(HasSubstr("csv_decimal")),
                            Not(HasSubstr("csv_spellings"))));
  EXPECT_EQ(std::get<table::AgreedValues>(CsvOptionsOf(*config)->spellings.front()).column, "sex");
  EXPECT_THAT(refusal("csv_spellings = [\"sex f=femme\"]\n"),
              HasSubstr("data.csv_spellings: \"sex f=femme\": expected"));
}

// The text comes from another site, and is shown before it is accepted.
TEST(RunConfigTest, AnArchitectureDoesNotMoveTheTerminal) {
  const auto line = [](const std::string& architecture) {
    return *ExternalModelLines("[model]\nname = \"external\"\narchitecture = \"" + architecture +
                               "\"\n");
  };
  EXPECT_EQ(line("Cox, 4 covariates"), "architecture Cox, 4 covariates\n");
  EXPECT_EQ(line("\\u001b[2J\\r\\nmember      mine"), "architecture ?[2J??member      mine\n");
  EXPECT_EQ(line("\\u009b2J"), "architecture ??2J\n");  // two bytes in UTF-8
  EXPECT_EQ(line(std::string(5000, 'x')).size(), 13 + kMaxArchitectureBytes + 1);
  EXPECT_EQ(*ExternalModelLines("[model]\nname = \"mlp\"\narchitecture = \"x\"\n"), "");
  EXPECT_EQ(line("x\"\napp = \"{\\\"lr\\\": 1}"), "architecture x\napp         {\"lr\": 1}\n");
}

TEST(RunConfigTest, WhatAnAppIsToldIsAJsonObject) {
  const auto told = [](const std::string& app) -> absl::StatusOr<std::string> {
    RunConfig config;
    config.model.name = "external";
    config.model.architecture = "x";
    config.model.app = app;
    const absl::Status checked = CheckExternalModel(*ParseRunConfig(AgreedToml(config), "agreed"));
    if (!checked.ok()) return checked;
    return AppConfiguration(config);
  };
  EXPECT_EQ(*told(""), "{}");
  const std::string agreed =
      R"({ "lr": 0.1, "tensors": [{"name": "it's \\ \"w\"", "shape": [3]}] })";
  EXPECT_EQ(*told(agreed), agreed) << "the very bytes that were agreed";
  EXPECT_THAT(std::string(told("[1]").status().message()), HasSubstr("no JSON object"));
  EXPECT_THAT(std::string(told("{").status().message()), HasSubstr("no JSON object"));
  EXPECT_THAT(std::string(told("{\n}").status().message()), HasSubstr("one line"));
  EXPECT_THAT(std::string(told("{}" + std::string(kMaxAppBytes, ' ')).status().message()),
              HasSubstr("65538 bytes"));
  RunConfig other;
  other.model.app = "{}";
  EXPECT_THAT(std::string(CheckExternalModel(other).message()),
              HasSubstr("the model is femnist-cnn"));
}

}  // namespace
}  // namespace tacet::config
