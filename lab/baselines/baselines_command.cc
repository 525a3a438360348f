#include "lab/baselines/baselines_command.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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
    return "noise, bytes and accuracy of Poisson-quantised Gaussian, discrete Gaussian, Skellam "
           "and binomial noise at equal epsilon";
  }

  void Register(program::Options& options) override {
    options.AddString("config",
                      "configuration whose clip norm, bound, cohort, rounds and delta are compared "
                      "(docs/formats/configuration.md)",
                      &config_);
    options.AddString("data", "data set, replaces the configuration's", &data_);
    options.AddDouble("epsilon", "epsilon that every mechanism may cost, by published bounds",
                      &epsilon_);
    options.AddUint("dimension", "d, values of an update, when nothing is trained", &dimension_);
    options.AddUint("clients", "M, number of clients, when nothing is trained", &clients_);
    options.AddFlag("train", "train with each mechanism at the configuration's scale", &train_);
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
    base::JsonValue rows = base::JsonValue::MakeArray();
    std::string text = fmt::format(
        "d = {}, K = {} of {}, T = {}, S = {}, epsilon {} at delta {}\n{:<18}{:>10}{:>10}{:>12}"
        "{:>6}{:>12}{:>12}\n",
        dimension_, cohort, clients_, config.agreement.rounds, config.agreement.mechanism.clip_norm,
        epsilon_, config.agreement.privacy.delta, "mechanism", "scale", "noise/S", "deviation/S",
        "bits", "bytes", "accuracy %");
    const std::vector<double> factors =
        train_ ? std::vector<double>{1} : std::vector<double>{1, 10, 100, 1000};
    for (const double factor : factors) {
      for (const Baseline baseline : kBaselines) {
        TACET_ASSIGN_OR_RETURN(base::JsonValue row,
                               Compare(config, baseline, factor, learner.get(), text));
        rows.Append(std::move(row));
      }
    }
    if (json_) {
      const base::JsonValue made = base::JsonValue::MakeObject()
                                       .Set("commit", audit::BuildCommit())
                                       .Set("dimension", dimension_)
                                       .Set("clients", clients_)
                                       .Set("cohort", cohort)
                                       .Set("rounds", config.agreement.rounds)
                                       .Set("clip_norm", config.agreement.mechanism.clip_norm)
                                       .Set("epsilon", epsilon_)
                                       .Set("delta", config.agreement.privacy.delta)
                                       .Set("rows", std::move(rows));
      text = made.Dump(2) + "\n";
    }
    fmt::print("{}", text);
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<base::JsonValue> Compare(const config::RunConfig& config, Baseline baseline,
                                          double factor, const trainer::Learner* learner,
                                          std::string& text) const {
    const auto cohort = static_cast<uint32_t>(config.agreement.sampling.cohort);
    dp::MechanismSpec spec;
    spec.dimension = dimension_;
    spec.params = config.agreement.mechanism;
    spec.params.scale *= factor;
    spec.cohort = cohort;
    spec.min_participants = cohort;
    spec.attempts = config.agreement.rounds;
    spec.delta = config.agreement.privacy.delta;
    spec.max_epsilon = epsilon_;
    const double rate = static_cast<double>(cohort) / static_cast<double>(clients_);
    const double s = spec.params.scale;
    const std::optional<double> noise =
        NoiseForEpsilon(baseline, spec, rate, config.agreement.rounds, epsilon_);
    base::JsonValue row =
        base::JsonValue::MakeObject().Set("mechanism", BaselineName(baseline)).Set("scale", s);
    if (!noise.has_value()) {
      text += fmt::format("{:<18}{:>10.2g}  no noise that it can draw is enough\n",
                          BaselineName(baseline), s);
      return row.Set("noise_stddev", base::JsonValue());
    }
    spec.params.noise_stddev = *noise;
    TACET_ASSIGN_OR_RETURN(const BaselinePlan plan, BaselinePlan::Create(baseline, spec));
    row.Set("noise_stddev", *noise)
        .Set("epsilon", plan.Epsilon(rate, config.agreement.rounds))
        .Set("sum_stddev", plan.sum_stddev())
        .Set("sum_bits", plan.sum_bits())
        .Set("residue_bytes", plan.residue_bytes());
    std::string accuracy = "-";
    if (learner != nullptr) {
      crypto::SystemEntropy entropy;
      BaselineTrainingSpec training{.rounds = config.agreement.rounds,
                                    .cohort = cohort,
                                    .optimizer = config.agreement.optimizer,
                                    .threads = threads_.value_or(base::Processors()),
                                    .on_round = [&](uint32_t done) {
                                      fmt::print(stderr, "{}: round {}/{}\n",
                                                 BaselineName(baseline), done,
                                                 config.agreement.rounds);
                                    }};
      training.optimizer.rounds = training.rounds;
      TACET_ASSIGN_OR_RETURN(const trainer::Evaluation evaluation,
                             TrainWithBaseline(plan, *learner, training, entropy));
      if (evaluation.accuracy) {
        row.Set("accuracy", *evaluation.accuracy);
        accuracy = fmt::format("{:.2f}", 100 * *evaluation.accuracy);
      }
    }
    const double clip_norm = spec.params.clip_norm;
    text +=
        fmt::format("{:<18}{:>10.2g}{:>10.3f}{:>12.3f}{:>6}{:>12}{:>12}\n", BaselineName(baseline),
                    s, *noise / clip_norm, plan.sum_stddev() / clip_norm, plan.sum_bits(),
                    plan.residue_bytes(), accuracy);
    return row;
  }

  std::optional<std::string> config_, data_;
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
