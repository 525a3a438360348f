// The public interface of runs: simulation, query, and what a run's directory says afterwards.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"
#include "tacet/run.h"
#include "tacet/simulation.h"
#include "tacet/statistics.h"

namespace tacet {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class LiveApiTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path In(const std::string& name) const { return folder_ / name; }

  // Three clients, of which each moves every parameter by 0.25.
  SimulationOptions Options() const {
    SimulationOptions options;
    options.federation.clients = 3;
    options.federation.rounds = 2;
    options.federation.noise_multiplier = 2;
    options.initial = {1, 2, 3, 4};
    options.out = In("run");
    return options;
  }
  static SimulationFunctions Functions() {
    SimulationFunctions functions;
    functions.train = [](uint32_t /*round*/, uint64_t /*client*/, std::span<const float> /*model*/,
                         std::span<float> update) {
      for (float& value : update) value = 0.25F;
      return absl::OkStatus();
    };
    return functions;
  }

  std::filesystem::path folder_;
};

TEST_F(LiveApiTest, ASimulationTrainsAndItsRunIsReadAgain) {
  SimulationFunctions functions = Functions();
  std::vector<uint32_t> told;
  functions.on_round = [&](const RoundFigures& figures) {
    told.push_back(figures.round);
    return absl::OkStatus();
  };
  functions.evaluate = [](std::span<const float> model) {
    return Evaluation{.accuracy = 0.5, .loss = double{model[0]}, .samples = 10};
  };
  ASSERT_OK_AND_ASSIGN(const tacet::Run run, Simulate(Options(), functions));
  EXPECT_THAT(told, testing::ElementsAre(0, 1));
  EXPECT_TRUE(run.finished());
  EXPECT_THAT(run.labels(), IsEmpty());
  ASSERT_THAT(run.rounds(), SizeIs(2));
  EXPECT_EQ(run.rounds()[1].participants, 3);
  EXPECT_EQ(run.rounds()[1].accuracy, 0.5);
  EXPECT_EQ(run.rounds()[1].auc, std::nullopt);
  EXPECT_GT(run.rounds()[1].charged_epsilon.value(), run.rounds()[0].charged_epsilon.value());

  ASSERT_OK_AND_ASSIGN(const tacet::Run again, tacet::Run::Open(In("run")));
  ASSERT_OK_AND_ASSIGN(const std::vector<float> model, again.Model());
  ASSERT_THAT(model, SizeIs(4));
  // Noise of deviation 2 of two shares: of three in the average of two rounds 1.16. Seven
  // deviations are passed by one of four values once in 10^11 runs.
  EXPECT_NEAR(model[0], 1.5, 8.2);
  EXPECT_EQ(run.rounds()[1].loss, double{model[0]});

  ASSERT_OK_AND_ASSIGN(const Guarantee guarantee, again.ComputeGuarantee());
  EXPECT_EQ(guarantee.delta, 1e-5);
  ASSERT_TRUE(guarantee.headline.has_value());
  // Both permitted attempts were charged.
  EXPECT_DOUBLE_EQ(guarantee.epsilon, run.rounds()[1].charged_epsilon.value());
  ASSERT_OK_AND_ASSIGN(const std::vector<Answer> answers, again.Answers());
  EXPECT_THAT(answers, IsEmpty());
}

TEST_F(LiveApiTest, TheEpsilonOfARunIsThatOfItsOptions) {
  SimulationOptions options = Options();
  options.spare_attempts = 0;
  ASSERT_OK_AND_ASSIGN(const tacet::Run run, Simulate(options, Functions()));
  ASSERT_OK_AND_ASSIGN(const Guarantee of_run, run.ComputeGuarantee());
  ASSERT_OK_AND_ASSIGN(const Guarantee of_options, ComputeGuarantee(options.federation));
  // The run's bound includes what finite arithmetic adds.
  EXPECT_GE(of_run.epsilon, of_options.epsilon);
  EXPECT_NEAR(of_run.epsilon, of_options.epsilon, 0.02 * of_options.epsilon);
}

TEST_F(LiveApiTest, UnitsAreDrawnAndSummed) {
  SimulationOptions options = Options();
  options.federation.unit = Unit::kRecord;
  options.federation.record_rate = 0.5;
  options.federation.expected_batch = 30;
  options.federation.coordinate_bound = 4;
  options.units = {20, 20, 20};
  SimulationFunctions functions;
  functions.sum_clipped = [](uint64_t client, std::span<const uint32_t> units, double clip_norm,
                             std::span<const float> /*model*/, std::span<float> sum) {
    EXPECT_LT(client, 3);
    EXPECT_THAT(units, Each(testing::Lt(20)));
    EXPECT_EQ(clip_norm, 1 - std::exp2(-8));
    for (float& value : sum) value = 0;
    return absl::OkStatus();
  };
  ASSERT_OK_AND_ASSIGN(const tacet::Run run, Simulate(options, functions));
  EXPECT_THAT(run.rounds(), SizeIs(2));
}

TEST_F(LiveApiTest, AStoppedSimulationIsResumed) {
  SimulationFunctions functions = Functions();
  functions.stop = [] { return true; };
  EXPECT_EQ(Simulate(Options(), functions).status().code(), absl::StatusCode::kCancelled);
  ASSERT_OK_AND_ASSIGN(const tacet::Run stopped, tacet::Run::Open(In("run")));
  EXPECT_FALSE(stopped.finished());
  EXPECT_EQ(stopped.Model().status().code(), absl::StatusCode::kNotFound);

  EXPECT_EQ(Simulate(Options(), Functions()).status().code(), absl::StatusCode::kAlreadyExists);
  SimulationOptions other = Options();
  other.resume = true;
  other.momentum = 0.5;
  const absl::Status refused = Simulate(other, Functions()).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("server.momentum"));
  other.momentum = 0;
  ASSERT_OK_AND_ASSIGN(const tacet::Run ended, Simulate(other, Functions()));
  EXPECT_TRUE(ended.finished());
  EXPECT_THAT(ended.rounds(), SizeIs(2));
}

TEST_F(LiveApiTest, WrongOptionsAreNamed) {
  const auto refused = [&](SimulationOptions options, SimulationFunctions functions) {
    const absl::Status status = Simulate(options, functions).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_FALSE(std::filesystem::exists(In("run")));
    return std::string(status.message());
  };
  SimulationOptions options = Options();
  options.threads = 0;
  EXPECT_THAT(refused(options, Functions()), HasSubstr("threads is 0"));
  options = Options();
  options.budget_epsilon = 0;
  EXPECT_THAT(refused(options, Functions()), HasSubstr("budget_epsilon is 0"));
  options = Options();
  options.federation.noise_multiplier.reset();
  EXPECT_THAT(refused(options, Functions()), HasSubstr("noise_multiplier and noise_stddev"));
  options = Options();
  options.federation.unit = Unit::kRecord;
  EXPECT_THAT(refused(options, Functions()), HasSubstr("coordinate_bound is missing"));
  refused(Options(), {});

  SimulationFunctions functions = Functions();
  functions.evaluate = [](std::span<const float> /*model*/) { return Evaluation{.accuracy = 0.5}; };
  const absl::Status figures = Simulate(Options(), functions).status();
  EXPECT_THAT(std::string(figures.message()), HasSubstr("samples is 0"));
}

// Anyone who may write into the directory cannot pass a model off as the one that the round
// released.
TEST_F(LiveApiTest, AnotherModelIsRefused) {
  ASSERT_OK_AND_ASSIGN(const tacet::Run run, Simulate(Options(), Functions()));
  const float other[] = {0, 0, 0, 0};
  std::ofstream(In("run/model.f32"), std::ios::binary)
      .write(reinterpret_cast<const char*>(other), sizeof(other));
  const absl::Status refused = run.Model().status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("model.f32 is not the model"));
  std::ofstream(In("run/model.f32"), std::ios::binary) << "12345";
  EXPECT_THAT(std::string(run.Model().status().message()), HasSubstr("has 5 bytes"));
}

TEST_F(LiveApiTest, NoRunIsOpenedWhereThereIsNone) {
  EXPECT_EQ(tacet::Run::Open(In("none")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(tacet::Run::Open(folder_).status().code(), absl::StatusCode::kNotFound);
}

constexpr std::string_view kQuery = R"(
name = "ages"
floor = 5
[privacy]
unit = "record"
noise_multiplier = 1.0
max_units = 1000
[[question]]
name = "all"
kind = "mean"
column = "age"
low = 0
high = 100
[[question]]
name = "nobody"
kind = "count"
where = ["age > 1000"]
)";

class QueryApiTest : public LiveApiTest {
 protected:
  void SetUp() override {
    LiveApiTest::SetUp();
    std::filesystem::create_directories(In("tables"));
    for (const char* name : {"north.csv", "south.csv"}) {
      std::ofstream table(In("tables") / name);
      table << "age\n";
      for (int row = 0; row < 400; ++row) table << 40 + row % 20 << '\n';
    }
  }
};

TEST_F(QueryApiTest, AnswersAreValuesAndComeFromTheRun) {
  ASSERT_OK_AND_ASSIGN(const tacet::Run run, Ask(kQuery, SiteTables::Files(In("tables")),
                                                 {.out = In("run"), .threads = 1}));
  ASSERT_OK_AND_ASSIGN(const std::vector<Answer> answers, run.Answers());
  ASSERT_THAT(answers, SizeIs(2));
  EXPECT_EQ(answers[0].question, "all");
  EXPECT_EQ(answers[0].kind, "mean");
  ASSERT_THAT(answers[0].estimates, SizeIs(5));
  EXPECT_EQ(answers[0].estimates[3].quantity, "left out");
  EXPECT_FALSE(answers[0].estimates[3].too_many);
  const Estimate& mean = answers[0].estimates[2];
  EXPECT_EQ(mean.quantity, "mean");
  ASSERT_FALSE(mean.suppressed());
  // Ten of its own noise errors: once in 10^22 runs.
  EXPECT_NEAR(*mean.value, 49.5, 10 * *mean.noise_error);
  EXPECT_LT(*mean.noise_error, 1);
  EXPECT_GT(*mean.standard_error, *mean.noise_error);
  EXPECT_LT(mean.interval->low, *mean.value);
  EXPECT_GT(mean.interval->high, *mean.value);
  EXPECT_THAT(run.rounds(), SizeIs(1));
  ASSERT_OK_AND_ASSIGN(const Guarantee guarantee, run.ComputeGuarantee());
  EXPECT_TRUE(std::isfinite(guarantee.epsilon));
}

// Numbers that somebody wrote into the answers are no longer what the sum says.
TEST_F(QueryApiTest, ChangedAnswersAreRefused) {
  ASSERT_OK_AND_ASSIGN(const tacet::Run run,
                       Ask(kQuery, SiteTables::Files(In("tables")), {.out = In("run")}));
  std::ifstream file(In("run/answers.json"));
  std::string text{std::istreambuf_iterator<char>(file), {}};
  const size_t place = text.find("\"value\": ");
  ASSERT_NE(place, std::string::npos);
  text.insert(place + 9, "9");
  std::ofstream(In("run/answers.json")) << text;
  const absl::Status refused = run.Answers().status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("answers.json"));
}

TEST_F(QueryApiTest, WrongQueriesAndTablesAreNamed) {
  const auto refused = [&](std::string_view query, const std::string& tables) {
    const absl::Status status =
        Ask(query, SiteTables::Files(In(tables)), {.out = In("run")}).status();
    EXPECT_FALSE(std::filesystem::exists(In("run")));
    return status;
  };
  EXPECT_EQ(refused("none = 1", "tables").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(refused(kQuery, "nowhere").code(), absl::StatusCode::kNotFound);
  std::ofstream(In("tables/west.csv")) << "years\n63\n";
  const absl::Status column = refused(kQuery, "tables");
  EXPECT_THAT(std::string(column.message()), AllOf(HasSubstr("west.csv"), HasSubstr("\"age\"")));
}

// A cell stops nothing: its row is left out, and the caller is told.
TEST_F(QueryApiTest, CellsThatCannotBeReadAreTold) {
  std::ofstream(In("tables/west.csv")) << "age\n63 %\n";
  std::vector<std::string> told;
  const auto run = Ask(kQuery, SiteTables::Files(In("tables")),
                       {.out = In("run"), .threads = 1, .on_data_problem = [&](auto problem) {
                          told.emplace_back(problem);
                        }});
  ASSERT_TRUE(run.ok()) << run.status();
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_THAT(told[0], AllOf(HasSubstr("west.csv:2"), HasSubstr("63 %")));
}

TEST_F(QueryApiTest, ASiteMayWriteItsFileInAnotherWay) {
  std::ofstream(In("tables/west.csv")) << "age\n63,5\n";
  std::ofstream(In("sites.toml")) << "[site.west]\ncsv_separator = 'semicolon'\n"
                                     "csv_decimal = 'comma'\n";
  std::vector<std::string> told;
  const auto ask = [&](const char* sites) {
    return Ask(kQuery, SiteTables::Files(In("tables")),
               {.out = In("run"),
                .threads = 1,
                .sites = In(sites),
                .on_data_problem = [&](auto problem) { told.emplace_back(problem); }})
        .status();
  };
  EXPECT_EQ(ask("none.toml").code(), absl::StatusCode::kNotFound);
  const absl::Status asked = ask("sites.toml");
  EXPECT_TRUE(asked.ok()) << asked;
  EXPECT_THAT(told, IsEmpty());
}

}  // namespace
}  // namespace tacet
