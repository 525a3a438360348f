#include "apps/tacet/program/command.h"

#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status.h"

namespace tacet::app::program {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Given {
  std::string text = "unset";
  std::optional<double> real;
  uint64_t natural = 7;
  bool flag = false;
  std::string choice = "one";
  std::vector<std::string> many;
  std::string word;
  int runs = 0;
};

class Probe : public Command {
 public:
  explicit Probe(Given* given) : given_(given) {}
  std::string_view name() const override { return "probe"; }
  std::string_view summary() const override { return "looks at its flags"; }
  void Register(Options& options) override {
    options.AddString("text", "some text", &given_->text);
    options.AddDouble("real", "a number", &given_->real);
    options.AddUint("natural", "a natural number", &given_->natural);
    options.AddFlag("flag", "a flag", &given_->flag);
    options.AddChoice("choice", "one of two", {"one", "two"}, &given_->choice);
    options.AddStrings("many", "several", &given_->many);
    options.AddPositional("word", "a word", {}, false, &given_->word);
    options.Require("text");
  }
  absl::Status Run() override {
    ++given_->runs;
    return given_->word == "fail" ? base::NotFound("no \"{}\"", given_->word) : absl::OkStatus();
  }

 private:
  Given* given_;
};

// Runs `tacet ARGS` with the probe as only command.
int RunWith(Given& given, std::vector<const char*> args) {
  args.insert(args.begin(), "tacet");
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(std::make_unique<Probe>(&given));
  return RunCommandLine(static_cast<int>(args.size()), args.data(),
                        {.name = "tacet", .summary = "A test.", .version = "1.2.3"},
                        std::move(commands));
}

TEST(CommandTest, FlagsReachTheirTargets) {
  Given given;
  EXPECT_EQ(RunWith(given, {"probe", "--text", "hello", "--real=-2.5e-3", "--natural", "12",
                            "--flag", "--choice", "two", "--many", "a", "--many", "b"}),
            0);
  EXPECT_EQ(given.runs, 1);
  EXPECT_EQ(given.text, "hello");
  EXPECT_EQ(given.real, -2.5e-3);
  EXPECT_EQ(given.natural, 12);
  EXPECT_TRUE(given.flag);
  EXPECT_EQ(given.choice, "two");
  EXPECT_THAT(given.many, ElementsAre("a", "b"));
}

TEST(CommandTest, DefaultsStay) {
  Given given;
  EXPECT_EQ(RunWith(given, {"probe", "--text", "x"}), 0);
  EXPECT_FALSE(given.real.has_value());
  EXPECT_EQ(given.natural, 7);
  EXPECT_FALSE(given.flag);
  EXPECT_EQ(given.choice, "one");
}

TEST(CommandTest, UsageErrorsAreTwoAndFailuresOne) {
  Given given;
  const auto usage = [&](std::vector<const char*> args, const char* message) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(RunWith(given, std::move(args)), 2);
    const std::string error = testing::internal::GetCapturedStderr();
    EXPECT_THAT(error, HasSubstr("tacet: "));
    EXPECT_THAT(error, HasSubstr(message));
  };
  usage({}, "subcommand is required");
  usage({"nothing"}, "unknown command `nothing`; see --help");
  usage({"porbe"}, "unknown command `porbe`; `probe` may be meant");
  usage({"probe", "--txet", "x"}, "unknown flag `--txet`; `--text` may be meant");
  usage({"probe", "--text", "--txet", "--naturl=3"}, "`--naturl`; `--natural` may be meant");
  usage({"probe"}, "--text is required");
  usage({"probe", "--text", "x", "--unknown"}, "--unknown");
  usage({"probe", "--text", "x", "--natural", "-1"}, "-1");
  usage({"probe", "--text", "x", "--natural", "1.5"}, "1.5");
  usage({"probe", "--text", "x", "--real", "fast"}, "fast");
  usage({"probe", "--text", "x", "--choice", "three"}, "three");
  EXPECT_EQ(given.runs, 0);

  testing::internal::CaptureStderr();
  EXPECT_EQ(RunWith(given, {"probe", "--text", "x", "fail"}), 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "tacet: no \"fail\"\n");
}

TEST(CommandTest, HelpAndVersionSucceed) {
  Given given;
  testing::internal::CaptureStdout();
  EXPECT_EQ(RunWith(given, {"--version"}), 0);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "tacet 1.2.3\n");
  testing::internal::CaptureStdout();
  EXPECT_EQ(RunWith(given, {"--help"}), 0);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("looks at its flags"));
  testing::internal::CaptureStdout();
  EXPECT_EQ(RunWith(given, {"probe", "--help"}), 0);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("--natural"));
  EXPECT_EQ(given.runs, 0);
}

}  // namespace
}  // namespace tacet::app::program
