#include "apps/tacet/privacy/privacy_command.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "fmt/format.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/agreement/terms_table.h"
#include "tacet/base/json.h"

namespace tacet::app::privacy {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr program::Program kProgram = {.name = "tacet", .summary = "", .version = "0"};

// The output of `tacet ARGS`. Several tests need the same, whose rows take a second to prove.
std::string Printed(const std::vector<const char*>& args, int expected_code) {
  static std::map<std::vector<std::string>, std::string> known;
  std::string& printed = known[{args.begin(), args.end()}];
  if (!printed.empty()) return printed;
  std::vector<std::unique_ptr<program::Command>> commands;
  commands.push_back(NewPrivacyCommand());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = program::RunCommandLine(static_cast<int>(args.size()), args.data(), kProgram,
                                           std::move(commands));
  EXPECT_EQ(code, expected_code);
  const std::string out = testing::internal::GetCapturedStdout();
  const std::string error = testing::internal::GetCapturedStderr();
  printed = code == 0 ? out : error;
  return printed;
}

// The output of `tacet privacy ARGS`: the paper's setting unless ARGS change it.
std::string Output(const std::vector<const char*>& more, int expected_code = 0) {
  std::vector<const char*> args = {"tacet",       "privacy", "--clients",          "3596",
                                   "--cohort",    "1000",    "--rounds",           "100",
                                   "--clip-norm", "1",       "--noise-multiplier", "6",
                                   "--delta",     "1e-5",    "--sampling",         "fixed-size"};
  args.insert(args.end(), more.begin(), more.end());
  return Printed(args, expected_code);
}

// The output of `tacet privacy ARGS` with the paper's clients, cohort and delta.
std::string Varied(const std::vector<const char*>& some, int expected_code = 0) {
  std::vector<const char*> args = {"tacet", "privacy"};
  args.insert(args.end(), some.begin(), some.end());
  for (const char* word :
       {"--clients", "3596", "--cohort", "1000", "--delta", "1e-5", "--sampling", "fixed-size"}) {
    args.push_back(word);
  }
  return Printed(args, expected_code);
}

TEST(PrivacyCommandTest, TheTableShowsThePublishedFigure) {
  const std::string table = Output({});
  EXPECT_THAT(table, HasSubstr("5.306"));
  EXPECT_THAT(table, HasSubstr("5.313"));
  EXPECT_THAT(table, HasSubstr("19.131"));
  EXPECT_THAT(table, HasSubstr("coalition"));
  EXPECT_THAT(table, HasSubstr("the server and no member"));
}

// The last lines state both ways to draw a cohort. They are computed: other settings have others.
TEST(PrivacyCommandTest, TheLastLinesCompareBothWaysToDrawACohort) {
  const auto last = [](const std::vector<const char*>& more) {
    const std::string text = Output(more);
    return text.substr(text.find("Two ways to draw these cohorts"));
  };
  const std::vector<const char*> by_default = {"--sampling", "default"};
  EXPECT_EQ(last(by_default), last({}));
  const std::string paper = last(by_default);
  EXPECT_THAT(paper, HasSubstr("epsilon 5.306 against an external observer by the moments"));
  EXPECT_THAT(paper, HasSubstr("and 4.311 by the tight one; 19.131 against cohort-aware."));
  EXPECT_THAT(paper, HasSubstr("(the default): epsilon 3.999 against every observer."));
  const auto epsilon = [](std::vector<const char*> args, const char* observer) {
    args.push_back("--json");
    const auto json = base::JsonValue::Parse(Output(args));
    EXPECT_TRUE(json.ok());
    for (const base::JsonValue& row : json->Find("headlines")->items()) {
      if (*row.Find("observer")->AsString() == observer) {
        return fmt::format("{:.3f}", *row.Find("epsilon")->AsDouble());
      }
    }
    return std::string("none");
  };
  for (const char* noise : {"5", "8"}) {
    const std::string text = last({"--noise-multiplier", noise});
    EXPECT_THAT(text, HasSubstr(epsilon({"--noise-multiplier", noise, "--min-participants", "1000"},
                                        "external") +
                                " by the"));
    EXPECT_THAT(text, HasSubstr("epsilon " +
                                epsilon({"--noise-multiplier", noise, "--sampling", "default"},
                                        "participant-in-cohort") +
                                " against every observer."));
  }
  EXPECT_THAT(Output({"--cohort", "3596"}), Not(HasSubstr("Two ways")));
}

// A count of four sites with the deviation of epsilon 1: one row moves it by 1 = 2 S.
TEST(PrivacyCommandTest, DiscreteLaplaceNoiseIsPure) {
  const auto json = base::JsonValue::Parse(Printed({"tacet",
                                                    "privacy",
                                                    "--unit",
                                                    "record",
                                                    "--record-rate",
                                                    "1",
                                                    "--clients",
                                                    "4",
                                                    "--cohort",
                                                    "4",
                                                    "--min-participants",
                                                    "4",
                                                    "--rounds",
                                                    "1",
                                                    "--noise-law",
                                                    "discrete-laplace",
                                                    "--clip-norm",
                                                    "0.5",
                                                    "--scale",
                                                    "1",
                                                    "--noise-stddev",
                                                    "1.3569624",
                                                    "--coordinate-bound",
                                                    "1000",
                                                    "--dimension",
                                                    "1",
                                                    "--json"},
                                                   0));
  ASSERT_TRUE(json.ok());
  const base::JsonValue* worst = json->Find("worst");
  ASSERT_NE(worst, nullptr);
  EXPECT_NEAR(*worst->Find("epsilon")->AsDouble(), 1, 1e-4);
  EXPECT_EQ(*worst->Find("noise_law")->AsString(), "discrete-laplace");
  EXPECT_THAT(*worst->Find("note")->AsString(), HasSubstr("(1.00001, 0)-private by itself"));
  EXPECT_THAT(Output({"--noise-law", "discrete-laplace"}, 1), HasSubstr("unit client"));
}

TEST(PrivacyCommandTest, JsonHasTheExternalObserversMomentsFirst) {
  const auto json = base::JsonValue::Parse(Output({"--json"}));
  ASSERT_TRUE(json.ok());
  const base::JsonValue* rows = json->Find("accountants");
  ASSERT_NE(rows, nullptr);
  ASSERT_FALSE(rows->items().empty());
  const base::JsonValue& first = rows->items().front();
  const auto text = [&](const char* key) { return *first.Find(key)->AsString(); };
  EXPECT_EQ(text("name"), "moments");
  EXPECT_EQ(text("observer"), "external");
  EXPECT_EQ(text("unit"), "client");
  EXPECT_EQ(text("neighbouring"), "replace-one");
  EXPECT_EQ(text("sampling"), "fixed-size");
  EXPECT_NEAR(*first.Find("epsilon")->AsDouble(), 5.3056767961846457, 5e-9);
  EXPECT_EQ(*first.Find("order")->AsDouble(), 5);
}

TEST(PrivacyCommandTest, ARowWithoutGuaranteeHasNullAndAReason) {
  const auto json = base::JsonValue::Parse(Output({"--json", "--noise-multiplier", "0"}));
  ASSERT_TRUE(json.ok());
  for (const base::JsonValue& row : json->Find("accountants")->items()) {
    EXPECT_TRUE(row.Find("epsilon")->is_null());
    ASSERT_NE(row.Find("reason"), nullptr);
    EXPECT_TRUE(row.Find("reason")->is_string());
  }
}

TEST(PrivacyCommandTest, JsonHasTheHeadlinesAndTheTermsOfFiniteArithmetic) {
  const auto json = base::JsonValue::Parse(Output({"--json", "--min-participants", "1000"}));
  ASSERT_TRUE(json.ok());
  const base::JsonValue* headlines = json->Find("headlines");
  ASSERT_NE(headlines, nullptr);
  const base::JsonValue& external = headlines->items().front();
  EXPECT_EQ(*external.Find("name")->AsString(), "fixed-size-tight");
  EXPECT_NEAR(*external.Find("epsilon")->AsDouble(), 4.3106, 5e-4);
  EXPECT_NEAR(*external.Find("epsilon_lower")->AsDouble(), 4.3067, 5e-4);
  const base::JsonValue* terms = external.Find("implementation");
  ASSERT_NE(terms, nullptr);
  EXPECT_LT(*terms->Find("epsilon")->AsDouble(), 1e-5);
  EXPECT_GT(*terms->Find("epsilon")->AsDouble(), 0);
  EXPECT_LT(*terms->Find("delta")->AsDouble(), 1e-8);
}

TEST(PrivacyCommandTest, TermsAreThoseOfTheSampler) {
  const auto delta = [](const char* sampler) {
    const auto json = base::JsonValue::Parse(Output({"--json", "--sampler", sampler}));
    EXPECT_TRUE(json.ok());
    const base::JsonValue& row = json->Find("headlines")->items().front();
    return *row.Find("implementation")->Find("delta")->AsDouble();
  };
  EXPECT_GT(delta("box-muller"), 1e4 * delta("default"));
  EXPECT_THAT(Output({"--sampler", "dice"}, 2), HasSubstr("dice"));
}

// With hardly any noise e^epsilon passes every double: the term stays a number, and is named.
TEST(PrivacyCommandTest, TermsBeyondDeltaAreSaidToBe) {
  const auto json = base::JsonValue::Parse(Output({"--json", "--noise-multiplier", "0.3"}));
  ASSERT_TRUE(json.ok());
  const base::JsonValue* terms = json->Find("headlines")->items().front().Find("implementation");
  ASSERT_NE(terms, nullptr);
  EXPECT_EQ(terms->Find("delta")->AsDouble().value_or(0), 1);
  EXPECT_EQ(json->Find("accountants")->items().back().Find("implementation"), nullptr);
  const std::string hardly_any = Output({"--noise-multiplier", "0.3"});
  EXPECT_THAT(hardly_any, HasSubstr("for exact arithmetic only"));
  EXPECT_THAT(hardly_any, HasSubstr("raise `privacy.noise_multiplier`\n"));
  EXPECT_THAT(Output({}), Not(HasSubstr("for exact arithmetic only")));
}

// A term that a configuration has and this command lacks could be planned for in no way.
TEST(PrivacyCommandTest, EveryTermThatEpsilonDependsOnHasAFlag) {
  const std::string help = Printed({"tacet", "privacy", "--help"}, 0);
  // The keys that ask for a plan, or leave no guarantee.
  const std::set<std::string_view> others = {"target_epsilon", "budget_epsilon", "no_noise",
                                             "no_clip"};
  agreement::ManifestSpec spec;
  const auto is_in = [](const void* value, const auto& part) {
    return !std::less<>()(value, static_cast<const void*>(&part)) &&
           std::less<>()(value, static_cast<const void*>(&part + 1));
  };
  std::vector<std::string> flags;
  agreement::VisitTerms(
      [&](const agreement::Term& term, const auto& value) {
        if (others.contains(term.name()) ||
            !(is_in(&value, spec.sampling) || is_in(&value, spec.mechanism) ||
              is_in(&value, spec.privacy))) {
          return;
        }
        std::string& flag = flags.emplace_back(term.name());
        std::ranges::replace(flag, '_', '-');
        EXPECT_THAT(help, HasSubstr(fmt::format("  --{} ", flag)));
      },
      spec);
  EXPECT_GE(flags.size(), 20u);
}

TEST(PrivacyCommandTest, AbsencesGiveTheSmallestCohort) {
  EXPECT_THAT(Output({"--max-absent", "2"}), HasSubstr("at least 998 arrive"));
  EXPECT_THAT(Output({"--max-absent", "2", "--min-participants", "990"}, 1),
              HasSubstr("max_absent"));
}

TEST(PrivacyCommandTest, ZeroOutAvailabilityAndCovers) {
  EXPECT_THAT(Output({"--neighbouring", "zero-out"}), HasSubstr("2.189"));
  EXPECT_THAT(Output({"--availability", "0.7"}), HasSubstr("6.72"));
  EXPECT_THAT(Output({"--max-participations", "45"}), HasSubstr("11.48"));
  const std::string covered = Output({"--dummy-uploads", "--sampling", "poisson"});
  EXPECT_THAT(covered, HasSubstr("traffic-aware"));
  EXPECT_THAT(covered, HasSubstr("anyone who learns the cohorts nevertheless"));
  EXPECT_THAT(covered, Not(HasSubstr("server, network, operators; about")));
  EXPECT_THAT(Output({"--availability", "0"}, 1), HasSubstr("--availability is 0"));
}

TEST(PrivacyCommandTest, RecordsAreTheUnitOfHospitals) {
  const std::string table = Printed({"tacet",
                                     "privacy",
                                     "--unit",
                                     "record",
                                     "--record-rate",
                                     "0.1",
                                     "--clients",
                                     "4",
                                     "--noise-multiplier",
                                     "3",
                                     "--rounds",
                                     "200",
                                     "--clip-norm",
                                     "1",
                                     "--delta",
                                     "1e-5",
                                     "--neighbouring",
                                     "zero-out",
                                     "--min-participants",
                                     "4"},
                                    0);
  EXPECT_THAT(table, HasSubstr("2.004"));  // external observer
  EXPECT_THAT(table, HasSubstr("2.394"));  // another hospital
  EXPECT_THAT(table, HasSubstr("the draw of records stays inside the site"));
}

TEST(PrivacyCommandTest, CalibratesNoise) {
  // In clip norms, whatever those are.
  for (const char* clip_norm : {"1", "0.25"}) {
    const auto json = base::JsonValue::Parse(
        Varied({"calibrate", "noise-multiplier", "--epsilon", "5.3056768", "--accountant",
                "moments", "--rounds", "100", "--clip-norm", clip_norm, "--json"}));
    ASSERT_TRUE(json.ok());
    EXPECT_NEAR(*json->Find("value")->AsDouble(), 6, 1e-5);
    EXPECT_NEAR(*json->Find("noise_multiplier")->AsDouble(), 6, 1e-5);
    EXPECT_EQ(*json->Find("observer")->AsString(), "worst");
  }
  EXPECT_THAT(Varied({"calibrate", "rounds", "--epsilon", "5.31", "--accountant", "moments",
                      "--noise-multiplier", "6"}),
              HasSubstr("rounds 100 gives epsilon 5.30"));
  EXPECT_THAT(Varied({"calibrate", "noise-multiplier", "--rounds", "1"}, 2),
              HasSubstr("--epsilon"));
  EXPECT_THAT(Output({"--epsilon", "5.3"}, 2), HasSubstr("unknown flag `--epsilon`"));
  EXPECT_THAT(Varied({"calibrate", "clip", "--epsilon", "1"}, 2), HasSubstr("clip"));
  EXPECT_THAT(Varied({"calibrate", "noise-multiplier", "--epsilon", "1", "--rounds", "1",
                      "--noise-stddev", "2"},
                     1),
              HasSubstr("--noise-stddev is what this command varies"));
}

// A flag before the subcommand would not count.
TEST(PrivacyCommandTest, FlagsBelongBehindTheSubcommand) {
  EXPECT_THAT(Output({"calibrate", "rounds", "--epsilon", "1"}, 2),
              HasSubstr("flags of `privacy calibrate` belong behind `calibrate`"));
}

TEST(PrivacyCommandTest, TheNoiseIsGivenOnceInClipNormsOrItself) {
  const auto printed = [](const std::vector<const char*>& noise, int code = 0) {
    std::vector<const char*> args = {"--rounds", "100", "--clip-norm", "0.5"};
    args.insert(args.end(), noise.begin(), noise.end());
    return Varied(args, code);
  };
  EXPECT_EQ(printed({"--noise-multiplier", "6"}), printed({"--noise-stddev", "3"}));
  EXPECT_THAT(printed({"--noise-multiplier", "6", "--noise-stddev", "3"}, 1),
              HasSubstr("both given"));
  EXPECT_THAT(printed({}, 1),
              HasSubstr("--noise-multiplier and --noise-stddev are both missing: give one"));
  EXPECT_THAT(printed({"--noise", "6"}, 2), HasSubstr("unknown flag `--noise`"));
}

TEST(PrivacyCommandTest, ExplainsInWords) {
  const std::string text = Output({"--explain"});
  EXPECT_THAT(text, HasSubstr("An attacker that accepts a 1 % false-positive rate can identify at "
                              "most 9.6 % of the clients in the training data."));
  EXPECT_THAT(text, HasSubstr("at most 84.3 % of the clients"));
  EXPECT_THAT(text,
              HasSubstr("at most e^epsilon times its probability with the other, plus delta"));
  EXPECT_THAT(
      text,
      HasSubstr("traffic; assumes that cohorts are drawn honestly; any number of clients may be "
                "absent: with always 3595 here 4.304 is attained, 0.2 % less): epsilon 4.312"));
  EXPECT_THAT(text, HasSubstr("took part 100 times): epsilon 19.131"));
  EXPECT_THAT(text, HasSubstr("Not guaranteed"));
  EXPECT_THAT(text,
              HasSubstr("Anyone who sees the traffic learns them, unless every client uploads"));
  EXPECT_THAT(text, Not(HasSubstr("Warnings")));
  EXPECT_THAT(Output({"--explain", "--false-positive-rate", "0.1"}),
              HasSubstr("accepts a 10 % false-positive rate can identify at most 39.6 %"));
  const std::string covered = Output({"--explain", "--dummy-uploads", "--sampling", "poisson"});
  EXPECT_THAT(Output({"--explain", "--sampling", "default"}), covered);
  EXPECT_THAT(covered, HasSubstr("although everybody uploads"));
  EXPECT_THAT(covered, Not(HasSubstr("Anyone who knows who took part")));
}

TEST(PrivacyCommandTest, WarnsOfWhatItIsToldOf) {
  EXPECT_THAT(Output({}), Not(HasSubstr("Warnings")));
  EXPECT_THAT(Output({"--dimension", "486654"}), Not(HasSubstr("Warnings")));
  EXPECT_THAT(Output({"--dimension", "1000000000"}), HasSubstr("the noise drowns the update"));
  EXPECT_THAT(Output({"--delta", "3e-4"}), HasSubstr("delta is 0.0003 for 3596 clients"));
  const auto json = base::JsonValue::Parse(Output({"--delta", "3e-4", "--json"}));
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json->Find("warnings")->items().size(), 1u);
}

TEST(PrivacyCommandTest, SweepsWriteCsv) {
  const std::string path = testing::TempDir() + "privacy-sweep-test.csv";
  Varied({"sweep", "noise-multiplier=4:8:2", "--rounds", "100", "--out", path.c_str()});
  const auto read = [](const std::string& name) {
    std::ifstream in(name);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const std::string csv = read(path);
  EXPECT_THAT(csv, HasSubstr("quantity,value,observer,accountant,standing,releases,epsilon"));
  EXPECT_THAT(csv, HasSubstr("noise-multiplier,6,external,moments,convention,100,5.30567679618"));
  EXPECT_THAT(csv, HasSubstr("noise-multiplier,8,external,pld,"));
  EXPECT_THAT(Varied({"sweep", "noise-multiplier=4", "--rounds", "100"}, 1),
              HasSubstr("not of the form"));
  EXPECT_THAT(Varied({"sweep", "mood=1:2:1", "--rounds", "100"}, 1),
              HasSubstr("cannot sweep \"mood\""));
  EXPECT_THAT(Varied({"sweep", "noise-multiplier=2:1:1", "--rounds", "100"}, 1),
              HasSubstr("does not go up"));
  EXPECT_THAT(Varied({"sweep", "noise-multiplier=1:x:1", "--rounds", "100"}, 1),
              HasSubstr("not a number"));
  EXPECT_THAT(Varied({"sweep", "noise-multiplier=1:1e9:1", "--rounds", "100"}, 1),
              HasSubstr("more than 10000 points"));
}

TEST(PrivacyCommandTest, RefusalsNameTheQuantity) {
  EXPECT_THAT(Output({"--cohort", "4000"}, 1), HasSubstr("the cohort is 4000, expected 1 to 3596"));
  EXPECT_THAT(Output({"--delta", "2"}, 1), HasSubstr("delta is 2"));
  EXPECT_THAT(Output({"--noise-multiplier=-1"}, 1), HasSubstr("--noise-multiplier is -1"));
  EXPECT_THAT(Output({"--sampling", "maybe"}, 2), HasSubstr("maybe"));
}

}  // namespace
}  // namespace tacet::app::privacy
