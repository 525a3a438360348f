// `tacet-lab bench`: every figure is there, next to the limits of the machine.
#include <initializer_list>
#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "lab/lab_program_for_test.h"
#include "tacet/base/cpu.h"
#include "tacet/base/json.h"

namespace tacet::app {
namespace {

using ::testing::HasSubstr;

// Rates of the machine, and for each figure what they allow.
void ExpectLimits(const base::JsonValue& result, std::initializer_list<const char*> figures) {
  for (const char* rate : {"memory_read_bytes_per_s", "aes_ctr_bytes_per_s", "fma_per_s"}) {
    EXPECT_GT(Number(result, rate), 1e7) << rate;
  }
  const base::JsonValue* limits = result.Find("limits");
  ASSERT_NE(limits, nullptr);
  for (const char* figure : figures) {
    const base::JsonValue* limit = limits->Find(figure);
    ASSERT_NE(limit, nullptr) << figure;
    EXPECT_GT(Number(*limit, "limit_s"), 0) << figure;
    EXPECT_GT(Number(*limit, "share"), 0) << figure;
  }
}

TEST_F(LabProgramTest, BenchMeasuresAndFindsNoWrongValue) {
  for (const char* parameters : {"compact", "paper", "paper-secret-key"}) {
    const Outcome bench =
        Lab({"bench", "he", "--parameters", parameters, "--dimension", "10000", "--participants",
             "30", "--plaintext-bits", "20", "--repetitions", "1", "--json"});
    ASSERT_EQ(bench.exit_code, 0) << bench.err;
    const auto result = base::JsonValue::Parse(bench.out);
    ASSERT_TRUE(result.ok()) << result.status();
    for (const char* figure :
         {"setup_s", "encode_s", "encrypt_s", "encode_encrypt_s", "seal_s", "aggregate_s",
          "aggregate_two_cores_s", "decrypt_s", "upload_bytes", "sum_bytes", "peak_rss_bytes"}) {
      EXPECT_GE(Number(*result, figure), 0) << figure;
    }
    EXPECT_EQ(Number(*result, "wrong_values"), 0);
    ExpectLimits(*result, {"encode_encrypt_s", "seal_s", "aggregate_s", "decrypt_s"});
  }
}

TEST_F(LabProgramTest, BenchOfPairKeysMeasuresAnEpochsSetUp) {
  const Outcome bench = Lab({"bench", "pair-keys", "--committee", "4,1", "--participants", "6",
                             "--dimension", "100", "--repetitions", "1", "--json"});
  ASSERT_EQ(bench.exit_code, 0) << bench.err;
  const auto result = base::JsonValue::Parse(bench.out);
  ASSERT_TRUE(result.ok()) << result.status();
  for (const char* figure : {"client_setup_s", "seat_setup_s", "seal_s"}) {
    EXPECT_GT(Number(*result, figure), 0) << figure;
  }
  EXPECT_LT(Number(*result, "seal_more_s"), Number(*result, "seal_s"));
  EXPECT_THAT(Lab({"bench", "pair-keys", "--participants", "4"}).err,
              HasSubstr("4 participants cannot fill 5 seats"));
}

TEST_F(LabProgramTest, BenchOfTheMechanismStandsBesideTheMachinesRates) {
  const Outcome bench =
      Lab({"bench", "dp", "--dimension", "10000", "--repetitions", "1", "--json"});
  ASSERT_EQ(bench.exit_code, 0) << bench.err;
  const auto result = base::JsonValue::Parse(bench.out);
  ASSERT_TRUE(result.ok()) << result.status();
  for (const char* figure : {"clip_s", "gaussian_s", "poisson_s", "noise_and_quantise_s"}) {
    EXPECT_GT(Number(*result, figure), 0) << figure;
  }
  ExpectLimits(*result, {"clip_s", "gaussian_s", "poisson_s", "noise_and_quantise_s"});
}

TEST_F(LabProgramTest, BenchOfTrainingStandsBesideTheMachinesPeak) {
  const Outcome bench = Lab({"bench", "train", "--model", "femnist-cnn", "--batch", "20",
                             "--threads", "1", "--repetitions", "1", "--json"});
  ASSERT_EQ(bench.exit_code, 0) << bench.err;
  const auto result = base::JsonValue::Parse(bench.out);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(Number(*result, "dimension"), 486654);
  EXPECT_NEAR(Number(*result, "flop_per_sample"), 99e6, 1e6);
  EXPECT_NEAR(Number(*result, "gflops"), 0.0991 * Number(*result, "samples_per_s"),
              1e-3 * Number(*result, "gflops"));
  EXPECT_NEAR(Number(*result, "share"),
              Number(*result, "gflops") / Number(*result, "fma_peak_gflops"), 1e-6);
  EXPECT_GT(Number(*result, "share"), 0.1);

  const Outcome wrong = Lab({"bench", "train", "--model", "mlp", "--precision", "bf16"});
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_THAT(wrong.err, HasSubstr("no code in bf16 for this model"));
}

TEST_F(LabProgramTest, BenchOfKernelsMeasuresEveryVersionOfTheProcessor) {
  const Outcome bench = Lab({"bench", "kernels", "--repetitions", "1", "--json"});
  ASSERT_EQ(bench.exit_code, 0) << bench.err;
  const auto result = base::JsonValue::Parse(bench.out);
  ASSERT_TRUE(result.ok()) << result.status();
  std::set<std::string> names;
  for (const base::JsonValue& kernel : result->Find("kernels")->items()) {
    const std::string name = *kernel.Find("name")->AsString();
    SCOPED_TRACE(name);
    names.insert(name);
    const auto& seconds = kernel.Find("seconds")->members();
    ASSERT_FALSE(seconds.empty());
    for (const auto& [target, value] : seconds) EXPECT_GT(*value.AsDouble(), 0) << target;
    if (name == "seal") {
      for (const base::Target target : {base::Target::kScalar, base::Target::kAvx2,
                                        base::Target::kAvx512, base::Target::kAvx512Ifma}) {
        EXPECT_EQ(kernel.Find("seconds")->Find(base::TargetName(target)) != nullptr,
                  base::HasTarget(target))
            << base::TargetName(target);
      }
    }
  }
  EXPECT_THAT(names, ::testing::IsSupersetOf({"seal", "open", "checksum", "MAC of an update",
                                              "Gaussian, key stream included", "clip"}));
}

TEST_F(LabProgramTest, BenchOfRecordsStandsBesideThePlainStep) {
  const Outcome bench = Lab({"bench", "records", "--repetitions", "1", "--json"});
  ASSERT_EQ(bench.exit_code, 0) << bench.err;
  const auto result = base::JsonValue::Parse(bench.out);
  ASSERT_TRUE(result.ok()) << result.status();
  const auto& records = result->Find("records")->items();
  ASSERT_EQ(records.size(), 5u);
  for (const base::JsonValue& record : records) {
    for (const char* figure : {"plain_s", "record_s", "person_s"}) {
      EXPECT_GT(Number(record, figure), 0) << figure;
    }
  }
  EXPECT_EQ(Lab({"bench", "records", "--repetitions", "1002"}).exit_code, 1);
}

}  // namespace
}  // namespace tacet::app
