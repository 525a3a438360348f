// Federations that protect single records or persons, through the same sealing, adding and
// decryption.
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/base/temporary_folder_for_test.h"
#include "tacet/data/handwriting.h"
#include "tacet/simulation/local_channel.h"
#include "tacet/simulation/simulation.h"
#include "tacet/storage/file/run_directory.h"
#include "tacet/training/learner.h"
#include "tests/integration/simulation_for_test.h"

namespace tacet::simulation {
namespace {

using storage::file::RunDirectory;
using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;

constexpr uint64_t kSites = 4;

std::unique_ptr<trainer::Learner> SiteLearner(accounting::Unit unit) {
  data::HandwritingSpec handwriting;
  handwriting.writers = 12;
  handwriting.min_samples = 10;
  handwriting.max_samples = 20;
  handwriting.classes = 3;
  training::LearnerSpec spec;
  spec.model = "logistic";
  spec.unit = unit;
  auto learner = training::NewLearner(
      spec, *data::SpreadOverSites(*data::DrawHandwriting(handwriting), kSites, 1));
  EXPECT_TRUE(learner.ok()) << learner.status();
  return *std::move(learner);
}

SimulationSpec SiteSpec(accounting::Unit unit) {
  SimulationSpec spec;
  spec.manifest.model = "logistic";
  spec.manifest.rounds = 3;
  spec.manifest.privacy.unit = unit;
  spec.manifest.sampling.record_rate = 0.25;
  spec.manifest.mechanism.clip_norm = 0.5;
  spec.manifest.mechanism.coordinate_bound = 8;
  spec.manifest.mechanism.noise_stddev = 1;
  spec.manifest.mechanism.scale = 1e-3;
  spec.threads = 2;
  spec.insecure_seed = 7;
  return spec;
}

class UnitRoundsTest : public ::testing::Test {
 protected:
  absl::StatusOr<SimulationResult> Run(const SimulationSpec& spec, const trainer::Learner& learner,
                                       const std::string& name) {
    recorder_ = {};
    TACET_ASSIGN_OR_RETURN(const auto simulation, Simulation::Create(spec, learner, channel_));
    manifest_ = simulation->manifest().spec();
    TACET_ASSIGN_OR_RETURN(const auto store, RunDirectory::Create(path_ / name));
    return simulation->Run(*store, recorder_);
  }

  base::TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_.path();
  LocalChannel channel_;
  Recorder recorder_;
  agreement::ManifestSpec manifest_;
};

TEST_F(UnitRoundsTest, EncryptionChangesNothingAndEverySiteIsInEveryRound) {
  for (const auto unit : {accounting::Unit::kRecord, accounting::Unit::kPerson}) {
    const std::string name(accounting::UnitName(unit));
    const auto learner = SiteLearner(unit);
    SimulationSpec spec = SiteSpec(unit);
    const auto encrypted = Run(spec, *learner, name);
    ASSERT_TRUE(encrypted.ok()) << encrypted.status();
    EXPECT_THAT(recorder_.rounds, Each(Field(&RoundRecord::cohort_size, kSites)));
    EXPECT_GT(recorder_.rounds[0].upload_bytes, 0u);
    double units = 0;
    for (uint64_t site = 0; site < kSites; ++site) {
      units += static_cast<double>(learner->units(site));
    }
    EXPECT_DOUBLE_EQ(manifest_.sampling.expected_batch, 0.25 * units);
    spec.manifest.without_encryption = true;
    EXPECT_EQ(Run(spec, *learner, name + "-plain")->model, encrypted->model);
    spec.threads = 1;
    EXPECT_EQ(Run(spec, *learner, name + "-one")->model, encrypted->model);
    spec.insecure_seed = 8;  // other coins, other noise
    EXPECT_NE(Run(spec, *learner, name + "-seed")->model, encrypted->model);
  }
}

TEST_F(UnitRoundsTest, CoinsComeFromTheSystemUnlessASeedIsAskedFor) {
  const auto learner = SiteLearner(accounting::Unit::kRecord);
  SimulationSpec spec = SiteSpec(accounting::Unit::kRecord);
  spec.insecure_seed.reset();
  spec.manifest.mechanism.without_noise = true;
  spec.manifest.without_encryption = true;
  spec.without_quantisation = true;
  // Nothing random is left but the coins.
  const auto one = Run(spec, *learner, "one");
  const auto other = Run(spec, *learner, "other");
  ASSERT_TRUE(one.ok() && other.ok()) << one.status() << other.status();
  EXPECT_NE(one->model, other->model);
  spec.manifest.sampling.record_rate = 1;
  EXPECT_EQ(Run(spec, *learner, "all")->model, Run(spec, *learner, "all-again")->model);
}

TEST_F(UnitRoundsTest, AnEmptyDrawStillSendsItsNoise) {
  const auto learner = SiteLearner(accounting::Unit::kRecord);
  SimulationSpec spec = SiteSpec(accounting::Unit::kRecord);
  spec.manifest.sampling.record_rate = 1e-12;
  spec.manifest.sampling.expected_batch = 10;
  spec.manifest.rounds = 1;
  const auto result = Run(spec, *learner, "run");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(recorder_.rounds[0].cohort_size, kSites);
  // The model moved by the noise alone, divided by the public expected batch: sites send shares of
  // K_min = 3 for a deviation of 0.1, and all four arrive. The quantiser's share is below 1 %.
  // False alarm 1e-9 at 2355 values.
  const double deviation = 0.1 * std::sqrt(4 / 3.0);
  const std::vector<float> start = learner->InitialModel();
  double square = 0;
  for (size_t i = 0; i < start.size(); ++i) {
    square += std::pow(static_cast<double>(result->model[i]) - start[i], 2);
  }
  const auto values = static_cast<double>(start.size());
  EXPECT_NEAR(std::sqrt(square / values), deviation,
              deviation * (6.2 / std::sqrt(2 * values) + 0.01));
}

TEST_F(UnitRoundsTest, TheLedgerChargesWhatARecordSpent) {
  const auto learner = SiteLearner(accounting::Unit::kRecord);
  SimulationSpec spec = SiteSpec(accounting::Unit::kRecord);
  spec.manifest.privacy.neighbouring = accounting::Neighbouring::kZeroOut;
  spec.manifest.mechanism.noise_stddev = 0;
  spec.manifest.privacy.target_epsilon = 3;
  spec.manifest.spare_attempts = 0;
  const auto result = Run(spec, *learner, "run");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->ledger_charges, 3u);
  EXPECT_LE(result->ledger.epsilon(), 3);
  EXPECT_GT(result->ledger.epsilon(), 2.99);
  EXPECT_GE(recorder_.rounds[2].charged_epsilon, result->ledger.epsilon());
  const auto store = *RunDirectory::Open(path_ / "run");
  ledger::LedgerHeader header;
  header.population = spec.data.name;
  header.unit = accounting::Unit::kRecord;
  header.neighbouring = accounting::Neighbouring::kZeroOut;
  header.spending.delta = spec.manifest.privacy.delta;
  const auto opened = store->OpenLedger(header);
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_TRUE(
      accounting::SameEvent(opened->found.entries[2].event, agreement::ChargedEvent(manifest_)));
}

TEST_F(UnitRoundsTest, ALedgerOfAnotherUnitIsRefusedAndNothingIsCharged) {
  const auto clients = SiteLearner(accounting::Unit::kClient);
  SimulationSpec spec = SiteSpec(accounting::Unit::kClient);
  spec.manifest.sampling.record_rate = 0;
  spec.manifest.sampling.cohort = kSites;
  ASSERT_TRUE(Run(spec, *clients, "run").ok());
  const auto store = *RunDirectory::Open(path_ / "run");
  const auto learner = SiteLearner(accounting::Unit::kRecord);
  const auto simulation =
      *Simulation::Create(SiteSpec(accounting::Unit::kRecord), *learner, channel_);
  const auto refused = simulation->Run(*store, recorder_);
  EXPECT_FALSE(refused.ok());
  EXPECT_EQ(store->Attempts()->size(), 3u);
}

TEST_F(UnitRoundsTest, RefusesUnitsThatDisagree) {
  const auto refusal = [&](const SimulationSpec& spec, const trainer::Learner& learner) {
    return base::Message(Simulation::Create(spec, learner, channel_).status());
  };
  const auto learner = SiteLearner(accounting::Unit::kRecord);
  EXPECT_THAT(refusal(SiteSpec(accounting::Unit::kPerson), *learner),
              HasSubstr("the agreement's unit is person, the learner was made for unit record"));
  SimulationSpec spec = SiteSpec(accounting::Unit::kRecord);
  spec.weigh_by_samples = true;
  spec.manifest.mechanism.without_noise = true;
  EXPECT_THAT(refusal(spec, *learner), HasSubstr("weights = \"samples\" is for unit client"));
}

}  // namespace
}  // namespace tacet::simulation
