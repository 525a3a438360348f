// One federation on several ranks, here threads of one process: the same run, whatever their
// number.
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/base/temporary_folder_for_test.h"
#include "tacet/simulation/local_channel.h"
#include "tacet/simulation/rank_team.h"
#include "tacet/simulation/simulation.h"
#include "tacet/storage/file/run_directory.h"
#include "tests/integration/local_ranks_for_test.h"
#include "tests/integration/simulation_for_test.h"

namespace tacet::simulation {
namespace {

using storage::file::RunDirectory;
using ::testing::HasSubstr;

// Cannot be heard by all: loses the uploads of one place of training.
class LosingChannel final : public Channel {
 public:
  absl::Status Carry(MessageKind kind, uint64_t, base::Bytes&) override {
    if (kind != MessageKind::kUpload || lost_) return absl::OkStatus();
    lost_ = true;
    return absl::UnavailableError("lost");
  }

 private:
  bool lost_ = false;
};

class RanksTest : public ::testing::Test {
 protected:
  struct Outcome {
    absl::StatusOr<SimulationResult> result = absl::UnknownError("did not run");
    std::vector<absl::Status> assistants;  // of ranks 1, 2, ...
    Recorder recorder;
  };

  // Everybody's own simulation; `specs` has one for each rank.
  Outcome Run(const std::vector<SimulationSpec>& specs, RunStore& store,
              std::vector<Channel*> channels = {}, uint32_t fail_at = 1000) {
    Outcome outcome;
    outcome.recorder.fail_at = fail_at;
    const auto ranks = static_cast<uint32_t>(specs.size());
    LocalRanks group(ranks);
    outcome.assistants.resize(ranks - 1);
    channels.resize(ranks, &channel_);
    const auto play = [&](uint32_t rank) -> absl::Status {
      TACET_ASSIGN_OR_RETURN(
          const auto simulation,
          Simulation::Create(specs[rank], *learner_, *channels[rank], group.rank(rank)));
      if (rank != 0) return simulation->Assist();
      outcome.result = simulation->Run(store, outcome.recorder);
      return outcome.result.status();
    };
    {
      std::vector<std::jthread> threads;
      for (uint32_t rank = 0; rank < ranks; ++rank) {
        threads.emplace_back([&, rank] {
          const absl::Status done = play(rank);
          if (rank > 0) outcome.assistants[rank - 1] = done;
          if (!done.ok()) group.Abandon();
        });
      }
    }
    return outcome;
  }
  Outcome Run(const SimulationSpec& spec, uint32_t ranks, const std::string& name) {
    const auto store = *RunDirectory::Create(path_ / name);
    return Run(std::vector<SimulationSpec>(ranks, spec), *store);
  }

  base::TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_.path();
  std::unique_ptr<trainer::Learner> learner_ = SmallLearner();
  LocalChannel channel_;
};

// Every path of updates; one rank more than participants; shares that are not equal.
TEST_F(RanksTest, TheirNumberChangesNothing) {
  SimulationSpec compact = SmallSpec();
  compact.threads = 1;
  SimulationSpec poisson = compact;
  poisson.manifest.sampling.method = accounting::Sampling::kPoisson;
  poisson.manifest.sampling.min_participants = 2;
  SimulationSpec paper = compact;
  paper.manifest.scheme = he::Scheme::kPaperSecretKey;
  SimulationSpec clear = compact;
  clear.manifest.without_encryption = true;
  SimulationSpec real_numbers = clear;
  real_numbers.without_quantisation = true;
  SimulationSpec weighted = compact;
  weighted.weigh_by_samples = true;
  weighted.manifest.mechanism.without_noise = true;
  int number = 0;
  for (const SimulationSpec& spec : {compact, poisson, paper, clear, real_numbers, weighted}) {
    const Outcome alone = Run(spec, 1, fmt::format("alone{}", ++number));
    ASSERT_TRUE(alone.result.ok()) << alone.result.status();
    for (const uint32_t ranks : {2u, 4u, 7u}) {
      const Outcome together = Run(spec, ranks, fmt::format("together{}-{}", number, ranks));
      ASSERT_TRUE(together.result.ok()) << together.result.status();
      for (const absl::Status& assistant : together.assistants) {
        EXPECT_TRUE(assistant.ok()) << assistant;
      }
      EXPECT_EQ(together.result->model, alone.result->model) << number << " on " << ranks;
      EXPECT_EQ(together.result->charged_epsilon, alone.result->charged_epsilon);
      ASSERT_EQ(together.recorder.rounds.size(), 3u);
      for (size_t round = 0; round < 3; ++round) {
        const RoundRecord& one = alone.recorder.rounds[round];
        const RoundRecord& many = together.recorder.rounds[round];
        EXPECT_EQ(many.cohort_size, one.cohort_size);
        EXPECT_EQ(many.upload_bytes, one.upload_bytes);
        EXPECT_EQ(many.sum_bytes, one.sum_bytes);
        EXPECT_GT(many.seconds.train, 0);
      }
    }
  }
}

// Keys are fresh and known to rank 0 alone; the others get them in time.
TEST_F(RanksTest, ARealRunOpens) {
  SimulationSpec spec = SmallSpec();
  spec.insecure_seed.reset();
  const Outcome outcome = Run(spec, 3, "real");
  ASSERT_TRUE(outcome.result.ok()) << outcome.result.status();
  EXPECT_EQ(outcome.recorder.rounds.back().cohort_size, 6u);
  EXPECT_EQ(outcome.result->charged_attempts, 3u);
}

TEST_F(RanksTest, ARunGoesOnWithAnyNumberOfThem) {
  const Outcome whole = Run(SmallSpec(), 1, "whole");
  {
    const auto store = *RunDirectory::Create(path_ / "part");
    const Outcome part = Run(std::vector<SimulationSpec>(3, SmallSpec()), *store, {}, 1);
    EXPECT_EQ(part.result.status().code(), absl::StatusCode::kAborted);
    // A rank that waits for a rank that is gone does not wait for ever.
    for (const absl::Status& assistant : part.assistants) {
      EXPECT_EQ(assistant.code(), absl::StatusCode::kUnavailable);
    }
  }
  const auto store = *RunDirectory::Open(path_ / "part");
  const Outcome rest = Run(std::vector<SimulationSpec>(2, SmallSpec()), *store);
  ASSERT_TRUE(rest.result.ok()) << rest.result.status();
  EXPECT_EQ(rest.recorder.started_at, 1u);
  EXPECT_EQ(rest.result->model, whole.result->model);
}

TEST_F(RanksTest, OneThatDisagreesIsNamed) {
  std::vector<SimulationSpec> specs(3, SmallSpec());
  specs[2].manifest.mechanism.noise_stddev = 2;
  const auto store = *RunDirectory::Create(path_ / "settings");
  EXPECT_THAT(base::Message(Run(specs, *store).result.status()),
              HasSubstr("rank 2 came to another agreement than rank 0"));
  specs[2] = specs[0];
  specs[1].data.digest = {1};
  const auto other = *RunDirectory::Create(path_ / "data");
  EXPECT_THAT(base::Message(Run(specs, *other).result.status()),
              HasSubstr("rank 1 reads other data than rank 0"));
}

// A fault on another rank is reported, without saying whose update it was.
TEST_F(RanksTest, NotesOfOtherRanksReachTheObserver) {
  SimulationSpec spec = SmallSpec();
  spec.threads = 1;
  spec.manifest.sampling.min_participants = 5;
  LosingChannel losing;
  const auto store = *RunDirectory::Create(path_ / "run");
  const Outcome outcome =
      Run(std::vector<SimulationSpec>(3, spec), *store, {&channel_, &losing, &channel_});
  ASSERT_TRUE(outcome.result.ok()) << outcome.result.status();
  EXPECT_EQ(outcome.recorder.rounds[0].cohort_size, 5u);
  EXPECT_EQ(outcome.recorder.rounds[1].cohort_size, 6u);
  EXPECT_EQ(outcome.recorder.notes, std::vector<std::string>{"an upload was not accepted: lost"});
}

TEST_F(RanksTest, SharesDifferByAtMostOneAndAreTheCohort) {
  const std::vector<uint64_t> cohort = {1, 2, 3, 5, 7, 8, 11};
  const std::vector<uint64_t> covers = {4, 9};
  for (const uint32_t ranks : {1u, 2u, 3u, 7u, 9u}) {
    std::set<uint64_t> clients, covering;
    std::set<uint32_t> places;
    for (const CohortShare& share :
         SplitCohort(*learner_, {.trained = cohort, .covers = covers}, ranks)) {
      EXPECT_GE(share.seats.size(), 9 / ranks);
      EXPECT_LE(share.seats.size(), (9 + ranks - 1) / ranks);
      uint64_t before = ~uint64_t{0};
      bool covers_begun = false;
      for (const Seat& seat : share.seats) {
        places.insert(seat.place);
        (seat.is_cover ? covering : clients).insert(seat.client);
        EXPECT_GE(seat.is_cover, covers_begun);  // last
        covers_begun = seat.is_cover;
        if (seat.is_cover) continue;
        EXPECT_LE(learner_->training_samples(seat.client), before);  // large ones first
        before = learner_->training_samples(seat.client);
      }
    }
    EXPECT_EQ(clients, std::set<uint64_t>(cohort.begin(), cohort.end()));
    EXPECT_EQ(covering, std::set<uint64_t>(covers.begin(), covers.end()));
    EXPECT_EQ(places.size(), 9u);
    EXPECT_EQ(*places.rbegin(), 8u);
  }
}

TEST_F(RanksTest, WhatRankZeroSaysReachesAll) {
  for (uint32_t size = 1; size < 12; ++size) {
    LocalRanks group(size);
    std::vector<base::Bytes> heard(size);
    heard[0] = {1, 2, 3};
    for (uint32_t rank = 0; rank < size; ++rank) {  // in this order nobody has to wait
      ASSERT_TRUE(BroadcastFromRankZero(group.rank(rank), heard[rank], 3).ok());
      EXPECT_EQ(heard[rank], heard[0]);
    }
  }
  LocalRanks group(2);
  base::Bytes bytes = {1, 2, 3};
  ASSERT_TRUE(BroadcastFromRankZero(group.rank(0), bytes, 3).ok());
  EXPECT_THAT(base::Message(BroadcastFromRankZero(group.rank(1), bytes, 2)),
              HasSubstr("has 3 bytes, at most 2 are expected"));
}

}  // namespace
}  // namespace tacet::simulation
