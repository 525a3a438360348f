#include "lab/baselines/baselines_command.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "fmt/core.h"

#include "apps/tacet/program/options.h"
#include "apps/tacet/simulate/configured_learner.h"
#include "lab/baselines/baseline_plan.h"
#include "lab/baselines/baseline_training.h"
#include "tacet/accounting/privacy_rows.h"
#include "tacet/audit/commit.h"
#include "tacet/base/json.h"
#include "tacet/base/parallel.h"
#include "tacet/base/status.h"
#include "tacet/config/configured_data.h"
#include "tacet/config/run_config.h"
#include "tacet/crypto/random.h"
#include "tacet/training/learner.h"

namespace tacet::app::baselines {
namespace {

class BaselinesCommand : public program::Command {
 public:
  std::string_view name() const override { return "baselines"; }
  std::string_view summary() const override {
    return "plan of, and training with, Poisson-quantised Gaussian, discrete Gaussian, Skellam or "
           "binomial noise (lab/baselines/baselines.py compares them at equal epsilon)";
  }

  void Register(program::Options& options) override {
    options.AddString("config",
                      "configuration whose clip norm, bound, cohort, rounds and delta are used "
                      "(docs/formats/configuration.md)",
                      &config_);
    options.AddString("data", "data set, replaces the configuration's", &data_);
    options.AddChoice("mechanism", "kind of noise",
                      {"poisson-gaussian", "discrete-gaussian", "skellam", "binomial"},
                      &mechanism_);
    options.AddDouble("noise-stddev", "sigma of the sum; when not given, print the setting",
                      &noise_);
    options.AddDouble("scale", "s, replaces the configuration's", &scale_);
    options.AddDouble("epsilon", "epsilon that the mechanism may cost", &epsilon_);
    options.AddUint("dimension", "d, values of an update, when nothing is trained", &dimension_);
    options.AddUint("clients", "M, number of clients, when nothing is trained", &clients_);
    options.AddFlag("train", "train with the mechanism, and print the accuracy", &train_);
    options.AddUint("threads", "worker threads of --train; when not given, one a processor",
                    &threads_);
    options.AddFlag("json", "print JSON", &json_);
  }

  absl::Status Run() override {
    if (!config_.has_value()) {
      return base::InvalidArgument(
          "--config names the setting to compare, for example "
          "configs/table1/noise.toml");
    }
    if (!(epsilon_ > 0 && epsilon_ <= accounting::kLargestCarriedEpsilon)) {
      return base::InvalidArgument(
          "--epsilon is {}, it must be above 0 and at most {}: beyond, the program's arithmetic "
          "carries no bound",
          epsilon_, accounting::kLargestCarriedEpsilon);
    }
    if (threads_.has_value() && (*threads_ < 1 || *threads_ > 1024)) {
      return base::InvalidArgument("--threads is {}, it must be between 1 and 1024", *threads_);
    }
    TACET_ASSIGN_OR_RETURN(config::RunConfig config, config::LoadRunConfig(*config_));
    if (data_.has_value()) config.data.path = *data_;
    std::unique_ptr<trainer::Learner> learner;
    if (train_) {
      TACET_ASSIGN_OR_RETURN(const training::LearnerSpec spec, simulate::LearnerSpecOf(config));
      TACET_ASSIGN_OR_RETURN(data::Dataset dataset, config::LoadRunData(config));
      TACET_ASSIGN_OR_RETURN(learner, training::NewLearner(spec, std::move(dataset)));
      dimension_ = learner->dimension();
      clients_ = learner->clients();
    }
    const uint64_t cohort = config.agreement.sampling.cohort;
    if (cohort < 1 || cohort > clients_) {
      return base::InvalidArgument("federation.cohort is {}, there are {} clients", cohort,
                                   clients_);
    }
    if (scale_.has_value()) config.agreement.mechanism.scale = *scale_;
    base::JsonValue made = base::JsonValue::MakeObject()
                               .Set("commit", audit::BuildCommit())
                               .Set("dimension", dimension_)
                               .Set("clients", clients_)
                               .Set("cohort", cohort)
                               .Set("rounds", config.agreement.rounds)
                               .Set("clip_norm", config.agreement.mechanism.clip_norm)
                               .Set("coordinate_bound", config.agreement.mechanism.coordinate_bound)
                               .Set("scale", config.agreement.mechanism.scale)
                               .Set("epsilon", epsilon_)
                               .Set("delta", config.agreement.privacy.delta);
    if (noise_.has_value()) {
      TACET_ASSIGN_OR_RETURN(base::JsonValue row, RowOf(config, learner.get()));
      made.Set("row", std::move(row));
    }
    if (json_) {
      fmt::print("{}\n", made.Dump(2));
      return absl::OkStatus();
    }
    const base::JsonValue* const row = made.Find("row");
    for (const auto& [name, value] : (row == nullptr ? made : *row).members()) {
      fmt::print("{:<26}{}\n", name, value.Dump());
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<base::JsonValue> RowOf(const config::RunConfig& config,
                                        const trainer::Learner* learner) const {
    TACET_ASSIGN_OR_RETURN(const Baseline baseline, ParseBaseline(mechanism_));
    dp::MechanismSpec spec;
    spec.dimension = dimension_;
    spec.params = config.agreement.mechanism;
    spec.params.noise_stddev = *noise_;
    spec.cohort = static_cast<uint32_t>(config.agreement.sampling.cohort);
    spec.min_participants = spec.cohort;
    spec.attempts = config.agreement.rounds;
    spec.delta = config.agreement.privacy.delta;
    spec.max_epsilon = epsilon_;
    TACET_ASSIGN_OR_RETURN(const BaselinePlan plan, BaselinePlan::Create(baseline, spec));
    base::JsonValue row = base::JsonValue::MakeObject()
                              .Set("mechanism", mechanism_)
                              .Set("scale", spec.params.scale)
                              .Set("noise_stddev", *noise_)
                              .Set("sum_stddev", plan.sum_stddev())
                              .Set("sum_bits", plan.sum_bits())
                              .Set("residue_bytes", plan.residue_bytes());
    if (learner == nullptr) return row;
    crypto::SystemEntropy entropy;
    BaselineTrainingSpec training{.rounds = config.agreement.rounds,
                                  .cohort = spec.cohort,
                                  .optimizer = config.agreement.optimizer,
                                  .threads = threads_.value_or(base::Processors()),
                                  .on_round = [&](uint32_t done) {
                                    fmt::print(stderr, "{}: round {}/{}\n", mechanism_, done,
                                               config.agreement.rounds);
                                  }};
    training.optimizer.rounds = training.rounds;
    TACET_ASSIGN_OR_RETURN(const trainer::Evaluation evaluation,
                           TrainWithBaseline(plan, *learner, training, entropy));
    if (evaluation.accuracy) row.Set("accuracy", *evaluation.accuracy);
    return row;
  }

  std::optional<std::string> config_, data_;
  std::string mechanism_ = "poisson-gaussian";
  std::optional<double> noise_, scale_;
  double epsilon_ = 5.306;
  uint64_t dimension_ = 486'654;
  uint64_t clients_ = 3596;
  std::optional<uint64_t> threads_;
  bool train_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<program::Command> NewBaselinesCommand() {
  return std::make_unique<BaselinesCommand>();
}

}  // namespace tacet::app::baselines
