// Whole federations with a real model on synthetic handwriting. Every message is really encoded and
// decoded.
#include "tacet/simulation/simulation.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/mutex.h"
#include "tacet/base/status.h"
#include "tacet/secagg/checksum.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/storage/file/ledger_file.h"
#include "tacet/storage/file/run_directory.h"
#include "tacet/training/learner.h"
#include "tests/integration/lying_channel_for_test.h"

namespace tacet::simulation {
namespace {

using storage::file::RunDirectory;
using ::testing::_;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST_F(SimulationTest, EncryptionChangesNothingAtAll) {
  for (const he::Scheme scheme :
       {he::Scheme::kCompact, he::Scheme::kPaperPublicKey, he::Scheme::kPaperSecretKey}) {
    const std::string name(he::SchemeName(scheme));
    SimulationSpec spec = SmallSpec();
    spec.manifest.scheme = scheme;
    Recorder recorder;
    const auto store = NewStore(name);
    const auto encrypted = Run(spec, *store, recorder, channel_, *learner_);
    ASSERT_TRUE(encrypted.ok()) << encrypted.status();
    ASSERT_EQ(recorder.rounds.size(), 3u);
    EXPECT_GT(recorder.rounds[0].upload_bytes, 0u);
    EXPECT_EQ(recorder.rounds[0].cohort_size, 6u);
    spec.manifest.without_encryption = true;
    const auto plain = Run(spec, name + "-plain");
    ASSERT_TRUE(plain.ok()) << plain.status();
    EXPECT_EQ(encrypted->model, plain->model) << name;
  }
}

// 0.1 opened such a sum: the update of one client.
TEST_F(SimulationTest, TheSumOfOneIsRefusedWhereItIsEncrypted) {
  SimulationSpec spec = SmallSpec();
  spec.manifest.sampling.cohort = 1;
  const absl::Status refused = Run(spec, "encrypted").status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(base::Message(refused),
              HasSubstr("federation.min_participants is 1 and privacy.colluders is 0"));
  spec.manifest.without_encryption = true;
  const auto plain = Run(spec, "plain");
  EXPECT_TRUE(plain.ok()) << plain.status();
}

TEST_F(SimulationTest, ThreadsChangeNothingAndSeedsChangeNoise) {
  SimulationSpec spec = SmallSpec();
  const auto two = Run(spec, "two");
  ASSERT_TRUE(two.ok()) << two.status();
  spec.threads = 1;
  EXPECT_EQ(Run(spec, "one")->model, two->model);
  spec.insecure_seed = 43;
  EXPECT_NE(Run(spec, "other")->model, two->model);
  spec.insecure_seed.reset();
  const auto real = Run(spec, "real");
  ASSERT_TRUE(real.ok()) << real.status();
  EXPECT_NE(real->model, two->model);
  EXPECT_NE(Run(spec, "again")->model, real->model);
}

TEST_F(SimulationTest, AnInterruptedInsecureRunResumesToTheSameModel) {
  const auto whole = Run(SmallSpec(), "whole");
  ASSERT_TRUE(whole.ok()) << whole.status();
  KilledIn(1, SmallSpec(), "part");
  const auto store = *RunDirectory::Open(path_ / "part");
  Recorder recorder;
  const auto rest = Run(SmallSpec(), *store, recorder, channel_, *learner_);
  ASSERT_TRUE(rest.ok()) << rest.status();
  EXPECT_EQ(recorder.started_at, 1u);
  EXPECT_EQ(rest->model, whole->model);
  EXPECT_EQ(rest->charged_epsilon, whole->charged_epsilon);
}

TEST_F(SimulationTest, ARunThatWasAskedToStopIsNotChargedAgain) {
  SimulationSpec spec = SmallSpec();
  spec.insecure_seed.reset();
  {
    const auto store = NewStore("part");
    Recorder recorder;
    recorder.stop_after = 2;
    const auto stopped = Run(spec, *store, recorder, channel_, *learner_);
    EXPECT_EQ(stopped.status().code(), absl::StatusCode::kCancelled);
    EXPECT_EQ(base::Message(stopped.status()),
              "stopped as asked after 2 of 3 rounds; the run can be resumed");
  }
  const auto store = *RunDirectory::Open(path_ / "part");
  Recorder recorder;
  const auto rest = Run(spec, *store, recorder, channel_, *learner_);
  ASSERT_TRUE(rest.ok()) << rest.status();
  EXPECT_EQ(recorder.started_at, 2u);
  EXPECT_EQ(rest->charged_attempts, 3u);
  EXPECT_EQ(rest->charged_epsilon, Run(spec, "whole")->charged_epsilon);
}

TEST_F(SimulationTest, AnInterruptedRealRunIsChargedAgain) {
  SimulationSpec spec = SmallSpec();
  spec.insecure_seed.reset();
  KilledIn(1, spec, "part");
  const auto store = *RunDirectory::Open(path_ / "part");
  Recorder recorder;
  const auto rest = Run(spec, *store, recorder, channel_, *learner_);
  ASSERT_TRUE(rest.ok()) << rest.status();
  EXPECT_EQ(rest->charged_attempts, 4u);  // rounds 0, 1 (lost), 1 again, 2
  const auto attempts = *store->Attempts();
  EXPECT_EQ(attempts[1].epoch, 0u);
  EXPECT_EQ(attempts[2],
            (secagg::AttemptNumber{.epoch = 1, .round = 1, .attempt = 0}));  // under new keys
  EXPECT_EQ(rest->ledger_charges, 4u);
  EXPECT_EQ(storage::file::LedgerFile::Read(path_ / "part" / "ledger")->entries.size(), 4u);
  const auto whole = Run(spec, "whole");
  EXPECT_EQ(whole->charged_attempts, 3u);
  EXPECT_GT(rest->charged_epsilon, whole->charged_epsilon);
}

TEST_F(SimulationTest, ResumingWithOtherSettingsIsRefused) {
  ASSERT_TRUE(Run(SmallSpec(), "run").ok());
  const auto store = *RunDirectory::Open(path_ / "run");
  SimulationSpec other = SmallSpec();
  other.manifest.mechanism.noise_stddev = 1.6;
  Recorder recorder;
  EXPECT_THAT(base::Message(Run(other, *store, recorder, channel_, *learner_).status()),
              HasSubstr("belongs to a run with other settings"));
}

TEST_F(SimulationTest, AFlippedByteOfOneUploadEndsTheAttempt) {
  bool flipped = false;
  LyingChannel channel([&](MessageKind kind, uint64_t, base::Bytes& message) {
    if (kind == MessageKind::kUpload && !std::exchange(flipped, true)) message[500] ^= 4;
    return absl::OkStatus();
  });
  SimulationSpec spec = SmallSpec();
  spec.manifest.sampling.min_participants = 6;
  spec.threads = 1;
  const auto store = NewStore("run");
  const auto result = Run(spec, *store, recorder_, channel, *learner_);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(recorder_.rounds[0].attempts, 2u);
  EXPECT_EQ(result->charged_attempts, 4u);
  EXPECT_THAT(recorder_.notes, Contains(HasSubstr("field `checksum`")));
  EXPECT_THAT(recorder_.refused,
              ElementsAre(Pair(secagg::AttemptNumber{.epoch = 0, .round = 0, .attempt = 0},
                               Refusal::kTooFewUploads)));
  EXPECT_THAT(recorder_.notes, Contains(HasSubstr("round 0 attempt 0 failed: round 0 attempt 0 has "
                                                  "5 uploads, 6 are needed")));
}

// Whatever the server does to the bytes: nothing is applied, and it learns no more than "refused".
TEST_F(SimulationTest, ALyingServerChangesNoModel) {
  // One upload of each attempt: of several, changes of opposite signs could cancel.
  std::atomic<int> uploads = 0;
  const auto alter_upload = [&uploads](MessageKind kind, uint64_t, base::Bytes& message) {
    if (kind != MessageKind::kUpload || uploads++ % 6 != 0) return absl::OkStatus();
    message[902] ^= 4;  // far above the noise
    const auto body = std::span(message).first(message.size() - 16);
    const auto checksum = secagg::Checksum(body);
    base::StoreU64(checksum[0], message.data() + body.size());
    base::StoreU64(checksum[1], message.data() + body.size() + 8);
    return absl::OkStatus();
  };
  agreement::ManifestSpec spec = SmallSpec().manifest;
  spec.dimension = learner_->dimension();
  spec.sampling.clients = learner_->clients();
  const auto agreed = agreement::Manifest::CreateWithoutMembers(spec);
  ASSERT_TRUE(agreed.ok()) << agreed.status();
  const size_t aggregated_ciphertext = agreed->terms().aggregation().aggregated_ciphertext_bytes();
  const auto alter_sum = [aggregated_ciphertext](MessageKind kind, uint64_t, base::Bytes& message) {
    if (kind == MessageKind::kClosedRound)
      message[message.size() - aggregated_ciphertext + 5] ^= 0x20;
    return absl::OkStatus();
  };
  const auto lose_votes = [](MessageKind kind, uint64_t, base::Bytes&) {
    return kind == MessageKind::kVote ? absl::UnavailableError("lost") : absl::OkStatus();
  };
  const auto alter_results = [](MessageKind kind, uint64_t, base::Bytes& message) {
    if (kind == MessageKind::kUnmaskShare) message[message.size() / 2] ^= 1;
    return absl::OkStatus();
  };
  struct Case {
    LyingChannel::Lie lie;
    const char* noted;
  };
  int number = 0;
  for (const Case& lie :
       {Case{alter_upload, "the MAC does not fit"}, Case{alter_sum, "the MAC does not fit"},
        Case{lose_votes, "committee members voted for this sum of round 0 attempt 0"},
        Case{alter_results, "0 of 7 committee members have answered"}}) {
    LyingChannel channel(lie.lie);
    Recorder recorder;
    const auto store = NewStore("lie" + std::to_string(number++));
    const auto result = Run(SmallSpec(), *store, recorder, channel, *learner_);
    EXPECT_EQ(result.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(base::Message(result.status()),
                HasSubstr("round 0 failed in all 11 attempts, the last time: refused"));
    EXPECT_THAT(recorder.refused, Contains(Pair(_, Refusal::kNotDecrypted)).Times(11));
    EXPECT_THAT(recorder.notes, Contains(HasSubstr(lie.noted)));
    EXPECT_THAT(recorder.rounds, IsEmpty());
    EXPECT_FALSE(store->LoadCheckpoint().ok());
    EXPECT_EQ(store->Attempts()->size(), 11u);  // all charged
  }
}

TEST_F(SimulationTest, AReplayedUploadOfAnotherRoundIsRefused) {
  struct {
    base::Mutex mutex;
    // By participant, of the first round.
    std::map<uint64_t, base::Bytes> first ABSL_GUARDED_BY(mutex);
  } uploads;
  LyingChannel channel([&](MessageKind kind, uint64_t member, base::Bytes& message) {
    if (kind != MessageKind::kUpload) return absl::OkStatus();
    const base::MutexLock lock(uploads.mutex);
    const auto [seen, is_new] = uploads.first.emplace(member, message);
    if (!is_new) message = seen->second;
    return absl::OkStatus();
  });
  SimulationSpec spec = SmallSpec();
  spec.manifest.sampling.cohort = 12;
  const auto store = NewStore("run");
  EXPECT_FALSE(Run(spec, *store, recorder_, channel, *learner_).ok());
  EXPECT_EQ(recorder_.rounds.size(), 1u);
  EXPECT_THAT(recorder_.notes, Contains(HasSubstr("upload is for round 0, expected 1")));
}

TEST_F(SimulationTest, ALostUploadIsNoReasonToFailAboveKmin) {
  int lost = 0;
  LyingChannel channel([&](MessageKind kind, uint64_t, base::Bytes&) {
    if (kind == MessageKind::kUpload && lost++ == 0) return absl::UnavailableError("lost");
    return absl::OkStatus();
  });
  SimulationSpec spec = SmallSpec();
  spec.threads = 1;
  spec.manifest.sampling.min_participants = 5;
  const auto store = NewStore("run");
  const auto result = Run(spec, *store, recorder_, channel, *learner_);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(recorder_.rounds[0].cohort_size, 5u);
  EXPECT_EQ(recorder_.rounds[1].cohort_size, 6u);
}

// A learner one of whose clients diverges.
class DivergingLearner : public trainer::Learner {
 public:
  explicit DivergingLearner(const trainer::Learner& learner) : learner_(learner) {}
  uint64_t dimension() const override { return learner_.dimension(); }
  uint64_t clients() const override { return learner_.clients(); }
  uint64_t training_samples(uint64_t client) const override {
    return learner_.training_samples(client);
  }
  accounting::Unit unit() const override { return learner_.unit(); }
  uint64_t units(uint64_t client) const override { return learner_.units(client); }
  std::vector<float> InitialModel() const override { return learner_.InitialModel(); }
  absl::StatusOr<std::unique_ptr<trainer::Trainer>> NewTrainer() const override {
    class Diverging : public trainer::Trainer {
     public:
      explicit Diverging(std::unique_ptr<trainer::Trainer> trainer)
          : trainer_(std::move(trainer)) {}
      absl::Status Train(std::span<const float> model, uint32_t round, uint64_t client,
                         std::span<float> update) override {
        TACET_RETURN_IF_ERROR(trainer_->Train(model, round, client, update));
        if (client == 3) update[1] = std::numeric_limits<float>::quiet_NaN();
        return absl::OkStatus();
      }
      absl::Status SumClippedGradients(std::span<const float> model, uint64_t client,
                                       std::span<const uint32_t> units, double clip_norm,
                                       std::span<float> sum) override {
        return trainer_->SumClippedGradients(model, client, units, clip_norm, sum);
      }

     private:
      std::unique_ptr<trainer::Trainer> trainer_;
    };
    TACET_ASSIGN_OR_RETURN(auto trainer, learner_.NewTrainer());
    return std::make_unique<Diverging>(std::move(trainer));
  }
  absl::StatusOr<trainer::Evaluation> Evaluate(std::span<const float> model,
                                               int threads) const override {
    return learner_.Evaluate(model, threads);
  }

 private:
  const trainer::Learner& learner_;
};

TEST_F(SimulationTest, ADivergingClientStillUploads) {
  const DivergingLearner learner(*learner_);
  SimulationSpec spec = SmallSpec();
  spec.manifest.sampling.cohort = 12;
  const auto store = NewStore("run");
  const auto result = Run(spec, *store, recorder_, channel_, learner);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(recorder_.rounds[2].cohort_size, 12u);
  EXPECT_THAT(recorder_.notes, Contains(HasSubstr("not a number or infinite: zeros were sealed")));
  for (const float value : result->model) ASSERT_TRUE(std::isfinite(value));
}

TEST_F(SimulationTest, ClientsWithoutSamplesAndWithOneTakePartLikeAnyOther) {
  data::DatasetSpec data;
  data.name = "tiny";
  data.input_shape = {2};
  data.features = std::vector<float>{0, 1, 1, 0, 0.5f, 0.5f};
  data.labels = {0, 1, 1};
  data.sample_clients = {0, 0, 2};  // client 1 has none, client 2 one
  data.client_names = {"two", "none", "one"};
  data.classes = 2;
  training::LearnerSpec learner_spec;
  learner_spec.model = "logistic";
  learner_spec.rounds = 3;
  auto dataset = data::Dataset::Create(std::move(data));
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  const auto learner = training::NewLearner(learner_spec, *std::move(dataset));
  ASSERT_TRUE(learner.ok()) << learner.status();
  SimulationSpec spec = SmallSpec();
  spec.manifest.sampling.cohort = 3;
  const auto store = NewStore("run");
  const auto result = Run(spec, *store, recorder_, channel_, **learner);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(recorder_.rounds.size(), 3u);
  for (const RoundRecord& record : recorder_.rounds) EXPECT_EQ(record.cohort_size, 3u);
  EXPECT_THAT(recorder_.notes, IsEmpty());
}

TEST_F(SimulationTest, LabelledRunsWithoutNoiseLearnAndGuaranteeNothing) {
  SimulationSpec spec = SmallSpec();
  spec.manifest.mechanism.without_noise = true;
  spec.manifest.mechanism.without_clipping = true;
  spec.manifest.rounds = 8;
  spec.manifest.sampling.cohort = 12;
  EXPECT_THAT(SimulationLabels(spec),
              ::testing::ElementsAre("insecure-seed", "no-noise", "no-clip"));
  const auto result = Run(spec, "run");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(std::isinf(result->charged_epsilon));
  EXPECT_GT(result->evaluation.accuracy, 0.5);

  spec.manifest.without_encryption = true;
  spec.without_quantisation = true;
  spec.weigh_by_samples = true;
  const auto weighted = Run(spec, "weighted");
  ASSERT_TRUE(weighted.ok()) << weighted.status();
  EXPECT_GT(weighted->evaluation.accuracy, 0.5);
  EXPECT_NE(weighted->model, result->model);
}

TEST_F(SimulationTest, QuantisationIsUnbiasedNoiseOnTheSameUpdates) {
  SimulationSpec spec = SmallSpec();
  spec.manifest.without_encryption = true;
  spec.manifest.rounds = 1;
  const auto quantised = Run(spec, "quantised");
  spec.without_quantisation = true;
  const auto plain = Run(spec, "plain");
  ASSERT_TRUE(quantised.ok() && plain.ok());
  // The same Gaussian noise is in both; what differs has variance s |mu| / K = 1e-3 * 8.26 / 6.
  double squares = 0;
  for (size_t i = 0; i < plain->model.size(); ++i) {
    squares += std::pow(quantised->model[i] - plain->model[i], 2);
  }
  const double deviation = std::sqrt(squares / static_cast<double>(plain->model.size()));
  EXPECT_NEAR(deviation, std::sqrt(1e-3 * 8.26 / 6), 0.003);
}

TEST_F(SimulationTest, PoissonCohorts) {
  SimulationSpec spec = SmallSpec();
  spec.manifest.sampling.method = accounting::Sampling::kPoisson;
  spec.manifest.sampling.cohort = 9;
  spec.manifest.sampling.min_participants = 2;
  const auto result = Run(spec, "run");
  ASSERT_TRUE(result.ok()) << result.status();
  for (const RoundRecord& record : recorder_.rounds) {
    EXPECT_GE(record.cohort_size, 2u);
    EXPECT_LE(record.cohort_size, 12u);
  }
}

TEST_F(SimulationTest, DummyUploadsAddZerosAndTheSumIsDividedByWhatIsExpected) {
  SimulationSpec spec = SmallSpec();
  spec.manifest.sampling.method = accounting::Sampling::kPoisson;
  spec.manifest.sampling.cohort = 9;
  spec.manifest.rounds = 1;
  spec.manifest.mechanism.without_noise = true;
  spec.manifest.mechanism.noise_stddev = 0;
  spec.manifest.without_encryption = spec.without_quantisation = true;
  const auto plain = Run(spec, "plain");
  ASSERT_TRUE(plain.ok()) << plain.status();
  spec.manifest.sampling.dummy_uploads = true;
  const auto covered = Run(spec, "covered");
  ASSERT_TRUE(covered.ok()) << covered.status();
  ASSERT_EQ(recorder_.rounds.size(), 2u);
  const double cohort = recorder_.rounds[0].cohort_size;
  EXPECT_EQ(recorder_.rounds[1].cohort_size, 12u);
  const std::vector<float> start = learner_->InitialModel();
  double largest = 0;
  for (size_t i = 0; i < start.size(); ++i) {
    const double sum = cohort * (plain->model[i] - start[i]);
    largest = std::max(largest, std::abs(sum));
    EXPECT_NEAR(9 * (covered->model[i] - start[i]), sum, 1e-5) << i;
  }
  EXPECT_GT(largest, 0.01);
}

TEST_F(SimulationTest, DummyUploadsAreSealedAndDecrypted) {
  SimulationSpec spec = SmallSpec();
  spec.manifest.sampling.method = accounting::Sampling::kPoisson;
  spec.manifest.sampling.dummy_uploads = true;
  spec.manifest.sampling.cohort = 2;
  const auto result = Run(spec, "run");
  ASSERT_TRUE(result.ok()) << result.status();
  for (const RoundRecord& record : recorder_.rounds) EXPECT_EQ(record.cohort_size, 12u);
}

TEST_F(SimulationTest, ContradictionsAreRefused) {
  SimulationSpec spec = SmallSpec();
  spec.weigh_by_samples = true;
  EXPECT_THAT(Refusal(spec), HasSubstr("weights = \"samples\" needs --no-noise"));
  spec = SmallSpec();
  spec.without_quantisation = true;
  EXPECT_THAT(Refusal(spec), HasSubstr("--no-quantisation needs --no-encryption"));
  spec = SmallSpec();
  spec.manifest.sampling.cohort = 13;
  EXPECT_THAT(Refusal(spec), HasSubstr("cohort is 13, but the federation has 12 clients"));
  spec = SmallSpec();
  spec.manifest.sampling.max_participations = 2;
  EXPECT_THAT(Refusal(spec), HasSubstr("a simulation keeps no record of its cohorts"));
  spec = SmallSpec();
  spec.manifest.mechanism.noise_stddev = 0;
  EXPECT_THAT(Refusal(spec), HasSubstr("noise"));
  spec = SmallSpec();
  spec.threads = 0;
  EXPECT_THAT(Refusal(spec), HasSubstr("threads is 0"));
}

}  // namespace
}  // namespace tacet::simulation
