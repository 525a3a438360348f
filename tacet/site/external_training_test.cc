#include "tacet/site/external_training.h"

#include <chrono>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <sys/stat.h>

#include "tacet/base/status.h"
#include "tacet/base/temporary_folder_for_test.h"

namespace tacet::site {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

agreement::Manifest Agreement(uint64_t dimension) {
  agreement::ManifestSpec spec;
  spec.model = "logistic";
  spec.dimension = dimension;
  spec.sampling.clients = 2;
  spec.sampling.cohort = 2;
  spec.rounds = 3;
  spec.mechanism.scale = 1e-2;
  spec.mechanism.noise_stddev = 3;
  spec.members.resize(2);
  return *agreement::Manifest::Create(spec);
}

class ExternalTrainingTest : public ::testing::Test {
 protected:
  // `script` for /bin/sh, whose $1, $2, $3 are model, result and round.
  absl::Status Train(
      const std::string& script, double most_seconds = 60,
      std::function<bool()> stop = [] { return false; }) {
    return TrainWith({"/bin/sh", "-c", script, "sh"}, most_seconds, std::move(stop));
  }
  absl::Status TrainWith(
      std::vector<std::string> program, double most_seconds = 60,
      std::function<bool()> stop = [] { return false; }) {
    const agreement::Manifest manifest = Agreement(model_.size());
    auto training = ExternalTraining::Create(manifest, {.program = std::move(program),
                                                        .folder = folder_,
                                                        .most_seconds = most_seconds,
                                                        .stop = std::move(stop)});
    EXPECT_TRUE(training.ok()) << training.status();
    update_.assign(model_.size(), 99);
    return (*training)->Update({.round = 7}, model_, update_);
  }

  const base::TemporaryFolder temporary_;
  const std::filesystem::path folder_ = temporary_.path() / "exchange";
  std::vector<float> model_ = {1, -2, 0.5F, 8};
  std::vector<float> update_;
};

TEST_F(ExternalTrainingTest, TheUpdateIsTheDifference) {
  ASSERT_TRUE(Train("cp \"$1\" \"$2\"").ok());
  EXPECT_THAT(update_, Each(0));
  // 1.0F, four times.
  ASSERT_TRUE(Train("printf '\\0\\0\\200?\\0\\0\\200?\\0\\0\\200?\\0\\0\\200?' > \"$2\"").ok());
  EXPECT_EQ(update_, (std::vector<float>{0, 3, 0.5F, -7}));
}

TEST_F(ExternalTrainingTest, TheProgramIsToldTheRoundAndNobodyElseReads) {
  const std::filesystem::path told = temporary_.path() / "told";
  ASSERT_TRUE(Train("cp \"$1\" \"$2\"; echo \"$3\" > " + told.string() + "; stat -c %a \"$1\" >> " +
                    told.string() + "; cat >> " + told.string())
                  .ok());
  std::ifstream file(told);
  std::string round, mode, input;
  file >> round >> mode >> input;
  EXPECT_EQ(round, "7");
  EXPECT_EQ(mode, "600");
  EXPECT_EQ(input, "");
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
  struct stat info {};
  ASSERT_EQ(::stat(folder_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

TEST_F(ExternalTrainingTest, WhatItLeavesMustBeTheParameters) {
  EXPECT_THAT(base::Message(Train("true")), HasSubstr("left no file"));
  EXPECT_THAT(base::Message(Train("printf 'abc' > \"$2\"")),
              HasSubstr("has 3 bytes, 4 parameters have 16"));
  EXPECT_THAT(base::Message(Train("mkdir \"$2\"")), HasSubstr("left no file"));
  EXPECT_THAT(base::Message(Train("ln -s \"$1\" \"$2\"")), HasSubstr("left no file"));
  // A quiet NaN in the last place.
  EXPECT_THAT(
      base::Message(Train("head -c 12 \"$1\" > \"$2\"; printf '\\0\\0\\300\\177' >> \"$2\"")),
      HasSubstr("not a finite number; correct the training program"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

// A result of an earlier round must not be taken for this one's.
TEST_F(ExternalTrainingTest, AnOldResultIsNotTaken) {
  std::filesystem::create_directories(folder_);
  std::ofstream(folder_ / "result.f32") << "0123456789abcdef";
  EXPECT_THAT(base::Message(Train("true")), HasSubstr("left no file"));
}

TEST_F(ExternalTrainingTest, AFailureIsAnError) {
  EXPECT_THAT(base::Message(Train("cp \"$1\" \"$2\"; exit 3")), HasSubstr("exit code 3"));
  EXPECT_THAT(base::Message(Train("kill -9 $$")), HasSubstr("signal 9"));
}

TEST_F(ExternalTrainingTest, AProgramThatCannotBeRunIsRefusedBeforeAnyRound) {
  const std::filesystem::path text = temporary_.path() / "text";
  std::ofstream(text) << "no program";
  for (const std::string& program :
       {std::string("/nowhere/train"), std::string("no-such-program-in-path"), text.string(),
        temporary_.path().string()}) {
    const absl::Status refused =
        ExternalTraining::Create(Agreement(4), {.program = {program}, .folder = folder_}).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << program;
    EXPECT_THAT(base::Message(refused), HasSubstr("cannot run " + program + ": "));
  }
  EXPECT_TRUE(
      ExternalTraining::Create(Agreement(4), {.program = {"true"}, .folder = folder_}).ok());
}

TEST_F(ExternalTrainingTest, ItIsEndedWhenItTakesTooLongOrIsStopped) {
  const auto begin = std::chrono::steady_clock::now();
  const absl::Status late = Train("sleep 600", 0.2);
  EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(base::Message(late), HasSubstr("did not end"));
  EXPECT_EQ(Train("sleep 600", 600, [] { return true; }).code(), absl::StatusCode::kCancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(300));
}

TEST_F(ExternalTrainingTest, IsForClientsAlone) {
  const agreement::Manifest manifest = Agreement(4);
  EXPECT_EQ(ExternalTraining::Create(manifest, {}).status().code(),
            absl::StatusCode::kInvalidArgument);
  agreement::ManifestSpec records = manifest.spec();
  records.privacy.unit = accounting::Unit::kRecord;
  records.privacy.neighbouring = accounting::Neighbouring::kZeroOut;
  records.sampling.record_rate = 0.1;
  records.sampling.expected_batch = 10;
  const auto made = agreement::Manifest::Create(records);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_THAT(
      base::Message(
          ExternalTraining::Create(*made, {.program = {"true"}, .folder = folder_}).status()),
      HasSubstr("unit is the record"));
}

#ifdef TACET_NUMPY_PYTHON
// Starting from zeros, all classes have equal shares, so one step of full-batch descent is
// rate * mean((wanted - 1/2) x).
TEST_F(ExternalTrainingTest, TheExampleInPythonTrainsALogisticModel) {
  const std::filesystem::path data = temporary_.path() / "samples.csv";
  std::ofstream(data) << "1,0,0\n0.5,2,1\n-1,1,1\n";
  model_.assign(6, 0);  // two classes of two inputs
  const absl::Status trained = TrainWith(
      {TACET_NUMPY_PYTHON, std::string(TACET_SOURCE_DIR) + "/examples/python/train_logistic.py",
       "--data", data.string(), "--classes", "2", "--rate", "0.6"});
  ASSERT_TRUE(trained.ok()) << trained;
  // Class 0 is wanted of the first, class 1 of the others.
  const std::vector<double> expected = {
      0.6 * 0.5 * (1 - 0.5 + 1) / 3, 0.6 * 0.5 * (0 - 2 - 1) / 3, -0.6 * 0.5 * (1 - 0.5 + 1) / 3,
      0.6 * 0.5 * (2 + 1) / 3,       0.6 * 0.5 * (1 - 1 - 1) / 3, 0.6 * 0.5 * (1 + 1 - 1) / 3};
  ASSERT_EQ(update_.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(update_[i], expected[i], 1e-6) << i;
}
#endif

}  // namespace
}  // namespace tacet::site
