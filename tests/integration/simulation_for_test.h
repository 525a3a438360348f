// A small federation with a real model on synthetic handwriting.
#ifndef TACET_TESTS_INTEGRATION_SIMULATION_FOR_TEST_H_
#define TACET_TESTS_INTEGRATION_SIMULATION_FOR_TEST_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/data/handwriting.h"
#include "tacet/simulation/simulation.h"
#include "tacet/training/learner.h"

namespace tacet::simulation {

inline std::unique_ptr<trainer::Learner> SmallLearner() {
  data::HandwritingSpec handwriting;
  handwriting.writers = 12;
  handwriting.min_samples = 10;
  handwriting.max_samples = 20;
  handwriting.classes = 4;
  training::LearnerSpec spec;
  spec.model = "logistic";
  spec.rounds = 3;
  auto learner = training::NewLearner(spec, *data::DrawHandwriting(handwriting));
  EXPECT_TRUE(learner.ok()) << learner.status();
  return *std::move(learner);
}

inline SimulationSpec SmallSpec() {
  SimulationSpec spec;
  spec.manifest.model = "logistic";
  spec.manifest.sampling.cohort = 6;
  spec.manifest.rounds = 3;
  spec.manifest.mechanism.clip_norm = 0.5;
  spec.manifest.mechanism.coordinate_bound = 0.1;
  spec.manifest.mechanism.noise_stddev = 1.5;
  spec.manifest.mechanism.scale = 1e-3;
  spec.threads = 2;
  spec.insecure_seed = 42;
  return spec;
}

class Recorder : public SimulationObserver {
 public:
  absl::Status OnStart(const agreement::Manifest&, uint32_t next_round,
                       const trainer::Evaluation&) override {
    started_at = next_round;
    return absl::OkStatus();
  }
  absl::Status OnRefused(const secagg::AttemptNumber& attempt, Refusal why) override {
    refused.emplace_back(attempt, why);
    return absl::OkStatus();
  }
  absl::Status OnRound(const RoundRecord& record) override {
    rounds.push_back(record);
    if (record.round == fail_at) return absl::AbortedError("killed");
    return absl::OkStatus();
  }
  void OnNote(std::string_view text) override { notes.emplace_back(text); }
  bool StopRequested() override { return rounds.size() == stop_after; }

  uint32_t started_at = 0;
  uint32_t fail_at = 1000;
  size_t stop_after = 1000;
  std::vector<RoundRecord> rounds;
  std::vector<std::pair<secagg::AttemptNumber, Refusal>> refused;
  std::vector<std::string> notes;
};

}  // namespace tacet::simulation

#endif  // TACET_TESTS_INTEGRATION_SIMULATION_FOR_TEST_H_
