#include "tacet/training/learner.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <span>
#include <utility>

#include "tacet/attack/auc.h"
#include "tacet/base/mutex.h"
#include "tacet/base/parallel.h"
#include "tacet/base/status.h"
#include "tacet/crypto/seeded_random.h"
#include "tacet/data/split.h"
#include "tacet/data/unit_rows.h"
#include "tacet/models/architecture.h"
#include "tacet/models/federated_part.h"
#include "tacet/models/network.h"
#include "tacet/models/record_gradients.h"
#include "tacet/models/softmax.h"
#include "tacet/training/clipped_sums.h"

namespace tacet::training {
namespace {

constexpr uint32_t kMaxBatch = 1024;
constexpr uint32_t kMaxEpochs = 1000;
constexpr int kMaxThreads = 1024;
constexpr uint32_t kEvaluationBatch = 64;
constexpr size_t kEvaluationChunk = 256;  // samples; sums are formed within a chunk, then in order

// State that a learner and its trainers share; it never changes.
struct Shared {
  LearnerSpec spec;
  data::Dataset dataset;
  models::Architecture architecture;
  data::Split split;
  data::UnitRows units;
  models::FederatedPart part;

  // Rows that can be read.
  std::vector<uint32_t> Readable(std::span<const uint32_t> rows) const {
    std::vector<uint32_t> readable(rows.begin(), rows.end());
    std::erase_if(readable, [&](uint32_t row) { return !dataset.is_readable(row); });
    return readable;
  }

  uint64_t TrainingSamples(uint64_t client) const {
    const auto all = static_cast<uint64_t>(std::ranges::count_if(
        split.training_rows(client), [&](uint32_t row) { return dataset.is_readable(row); }));
    return spec.sample_cap == 0 ? all : std::min<uint64_t>(all, spec.sample_cap);
  }

  float LearningRate(uint32_t round) const {
    if (spec.rounds <= 1) return static_cast<float>(spec.learning_rate);
    const double progress =
        std::min(1.0, static_cast<double>(round) / static_cast<double>(spec.rounds - 1));
    return static_cast<float>(spec.learning_rate *
                              std::pow(spec.learning_rate_final / spec.learning_rate, progress));
  }
};

absl::Status CheckModelSize(const Shared& shared, size_t size) {
  if (size == shared.part.dimension()) return absl::OkStatus();
  return base::InvalidArgument("model has {} parameters, expected {}", size,
                               shared.part.dimension());
}

absl::Status CheckClient(const Shared& shared, uint64_t client) {
  if (client < shared.dataset.clients()) return absl::OkStatus();
  return base::InvalidArgument("client {} where there are {}", client, shared.dataset.clients());
}

absl::Status WrongUnit(const Shared& shared) {
  return base::FailedPrecondition("this learner was made for unit {}",
                                  accounting::UnitName(shared.units.unit()));
}

// Unit record or person.
class UnitTrainer final : public trainer::Trainer {
 public:
  explicit UnitTrainer(const Shared& shared)
      : shared_(shared), sums_(shared.architecture, shared.dataset, shared.units) {}

  absl::Status Train(std::span<const float>, uint32_t, uint64_t, std::span<float>) override {
    return WrongUnit(shared_);
  }

  absl::Status SumClippedGradients(std::span<const float> model, uint64_t client,
                                   std::span<const uint32_t> units, double clip_norm,
                                   std::span<float> sum) override {
    TACET_RETURN_IF_ERROR(CheckModelSize(shared_, model.size()));
    TACET_RETURN_IF_ERROR(CheckModelSize(shared_, sum.size()));
    TACET_RETURN_IF_ERROR(CheckClient(shared_, client));
    if (!(clip_norm > 0)) {
      return base::InvalidArgument("clip_norm is {}, it must be positive", clip_norm);
    }
    const bool increasing = std::ranges::is_sorted(units, std::ranges::less_equal{});
    if (!units.empty() && (!increasing || units.back() >= shared_.units.units(client))) {
      return base::InvalidArgument("units must be increasing and below {}, the client's number",
                                   shared_.units.units(client));
    }
    return sums_.Sum(model, client, units, clip_norm, sum);
  }

 private:
  const Shared& shared_;
  ClippedSums sums_;
};

class SgdTrainer final : public trainer::Trainer {
 public:
  SgdTrainer(const Shared& shared, std::unique_ptr<models::Network> network)
      : shared_(shared), network_(std::move(network)) {}

  absl::Status SumClippedGradients(std::span<const float>, uint64_t, std::span<const uint32_t>,
                                   double, std::span<float>) override {
    return WrongUnit(shared_);
  }

  absl::Status Train(std::span<const float> model, uint32_t round, uint64_t client,
                     std::span<float> update) override {
    TACET_RETURN_IF_ERROR(CheckModelSize(shared_, model.size()));
    TACET_RETURN_IF_ERROR(CheckModelSize(shared_, update.size()));
    TACET_RETURN_IF_ERROR(CheckClient(shared_, client));
    order_ = shared_.Readable(shared_.split.training_rows(client));
    if (order_.empty()) {
      std::ranges::fill(update, 0.0f);
      return absl::OkStatus();
    }
    TACET_RETURN_IF_ERROR(shared_.part.whole() ? network_->Load(model)
                                               : network_->Load(shared_.part.Whole(model)));
    crypto::Random random = crypto::SeededRandom(shared_.spec.seed, "batches", round, client);
    const float learning_rate = shared_.LearningRate(round);
    crypto::Shuffle(random, order_);
    order_.resize(shared_.TrainingSamples(client));
    for (uint32_t epoch = 0; epoch < shared_.spec.local_epochs; ++epoch) {
      if (epoch > 0) crypto::Shuffle(random, order_);
      TACET_RETURN_IF_ERROR(Epoch(learning_rate));
    }
    if (shared_.part.whole()) {
      TACET_RETURN_IF_ERROR(network_->Store(update));
    } else {
      all_.resize(shared_.architecture.dimension());
      TACET_RETURN_IF_ERROR(network_->Store(all_));
      shared_.part.Gather(all_, update);
    }
    for (size_t i = 0; i < update.size(); ++i) update[i] -= model[i];
    return absl::OkStatus();
  }

 private:
  absl::Status Epoch(float learning_rate) {
    const size_t inputs = shared_.architecture.input_size();
    for (size_t first = 0; first < order_.size(); first += shared_.spec.batch) {
      const size_t count = std::min<size_t>(shared_.spec.batch, order_.size() - first);
      labels_.clear();
      for (size_t i = 0; i < count; ++i) {
        const uint32_t row = order_[first + i];
        shared_.dataset.CopyInput(row, network_->input().subspan(i * inputs, inputs));
        labels_.push_back(shared_.dataset.label(row));
      }
      TACET_RETURN_IF_ERROR(network_->Step(labels_, learning_rate));
      TACET_RETURN_IF_ERROR(UndoOutsideThePart());
    }
    return absl::OkStatus();
  }

  // Steps are plain SGD, so a step that is undone where parameters are fixed is a step along the
  // others alone.
  absl::Status UndoOutsideThePart() {
    if (shared_.part.whole()) return absl::OkStatus();
    all_.resize(shared_.architecture.dimension());
    TACET_RETURN_IF_ERROR(network_->Store(all_));
    shared_.part.Restore(all_);
    return network_->Load(all_);
  }

  const Shared& shared_;
  std::unique_ptr<models::Network> network_;
  std::vector<uint32_t> order_;
  std::vector<uint32_t> labels_;
  std::vector<float> all_;  // parameters, where only a part is federated
};

class ModelLearner final : public trainer::Learner {
 public:
  explicit ModelLearner(Shared shared) : shared_(std::move(shared)) {}

  uint64_t dimension() const override { return shared_.part.dimension(); }
  uint64_t clients() const override { return shared_.dataset.clients(); }
  uint64_t training_samples(uint64_t client) const override {
    return shared_.TrainingSamples(client);
  }

  accounting::Unit unit() const override { return shared_.units.unit(); }
  uint64_t units(uint64_t client) const override { return shared_.units.units(client); }

  std::vector<float> InitialModel() const override {
    std::vector<float> part(dimension());
    shared_.part.Gather(shared_.part.start(), part);
    return part;
  }

  std::string federated_part() const override { return shared_.part.names(); }
  std::vector<float> WholeModel(std::span<const float> model) const override {
    return shared_.part.Whole(model);
  }

  absl::StatusOr<std::unique_ptr<trainer::Trainer>> NewTrainer() const override {
    if (unit() != accounting::Unit::kClient) return std::make_unique<UnitTrainer>(shared_);
    TACET_ASSIGN_OR_RETURN(std::unique_ptr<models::Network> network,
                           models::Network::Create(shared_.architecture, shared_.spec.batch,
                                                   models::Network::Mode::kTraining,
                                                   {.precision = shared_.spec.precision}));
    return std::make_unique<SgdTrainer>(shared_, std::move(network));
  }

  absl::StatusOr<trainer::Evaluation> Evaluate(std::span<const float> model,
                                               int threads) const override;

 private:
  struct Score {
    uint64_t correct = 0;
    double loss = 0;
    std::vector<double> margins;  // of class 1 over class 0, where there are just two
  };

  absl::StatusOr<std::unique_ptr<models::Network>> TakeNetwork() const;
  void GiveBack(std::unique_ptr<models::Network> network) const;
  absl::StatusOr<Score> EvaluateChunk(models::Network& network,
                                      std::span<const uint32_t> rows) const;

  const Shared shared_;
  mutable base::Mutex mutex_;
  mutable std::vector<std::unique_ptr<models::Network>> idle_networks_ ABSL_GUARDED_BY(mutex_);
};

absl::StatusOr<std::unique_ptr<models::Network>> ModelLearner::TakeNetwork() const {
  {
    const base::MutexLock lock(mutex_);
    if (!idle_networks_.empty()) {
      std::unique_ptr<models::Network> network = std::move(idle_networks_.back());
      idle_networks_.pop_back();
      return network;
    }
  }
  return models::Network::Create(shared_.architecture, kEvaluationBatch,
                                 models::Network::Mode::kInference,
                                 {.precision = shared_.spec.precision});
}

void ModelLearner::GiveBack(std::unique_ptr<models::Network> network) const {
  const base::MutexLock lock(mutex_);
  idle_networks_.push_back(std::move(network));
}

absl::StatusOr<ModelLearner::Score> ModelLearner::EvaluateChunk(
    models::Network& network, std::span<const uint32_t> rows) const {
  const size_t inputs = shared_.architecture.input_size();
  const size_t classes = shared_.architecture.classes();
  Score score;
  for (size_t first = 0; first < rows.size(); first += kEvaluationBatch) {
    const std::span batch =
        rows.subspan(first, std::min<size_t>(kEvaluationBatch, rows.size() - first));
    for (size_t i = 0; i < batch.size(); ++i) {
      shared_.dataset.CopyInput(batch[i], network.input().subspan(i * inputs, inputs));
    }
    TACET_ASSIGN_OR_RETURN(const std::span<const float> scores,
                           network.Forward(static_cast<uint32_t>(batch.size())));
    for (size_t i = 0; i < batch.size(); ++i) {
      const std::span<const float> row = scores.subspan(i * classes, classes);
      const uint32_t label = shared_.dataset.label(batch[i]);
      score.loss += models::CrossEntropy(row, label);
      if (models::BestClass(row) == label) ++score.correct;
      if (classes == 2) {
        score.margins.push_back(static_cast<double>(row[1]) - static_cast<double>(row[0]));
      }
    }
  }
  return score;
}

absl::StatusOr<trainer::Evaluation> ModelLearner::Evaluate(std::span<const float> model,
                                                           int threads) const {
  TACET_RETURN_IF_ERROR(CheckModelSize(shared_, model.size()));
  if (threads < 1 || threads > kMaxThreads) {
    return base::InvalidArgument("evaluation on {} threads, expected 1 to {}", threads,
                                 kMaxThreads);
  }
  const std::vector<float> all = shared_.part.Whole(model);
  const std::vector<uint32_t> held_out = shared_.Readable(shared_.split.held_out_rows());
  const std::span<const uint32_t> rows = held_out;
  const size_t chunks = (rows.size() + kEvaluationChunk - 1) / kEvaluationChunk;
  std::vector<Score> scores(chunks);
  std::atomic<size_t> next = 0;

  const auto work = [&]() -> absl::Status {
    TACET_ASSIGN_OR_RETURN(std::unique_ptr<models::Network> network, TakeNetwork());
    TACET_RETURN_IF_ERROR(network->Load(all));
    for (size_t chunk = next++; chunk < chunks; chunk = next++) {
      const size_t first = chunk * kEvaluationChunk;
      TACET_ASSIGN_OR_RETURN(
          scores[chunk],
          EvaluateChunk(*network,
                        rows.subspan(first, std::min(kEvaluationChunk, rows.size() - first))));
    }
    GiveBack(std::move(network));
    return absl::OkStatus();
  };

  const size_t workers = std::clamp<size_t>(chunks, 1, static_cast<size_t>(threads));
  std::vector<absl::Status> statuses(workers);
  base::RunOnThreads(workers, [&](size_t i) { statuses[i] = work(); });
  for (const absl::Status& status : statuses) TACET_RETURN_IF_ERROR(status);

  trainer::Evaluation evaluation;
  evaluation.samples = rows.size();
  if (rows.empty()) return evaluation;
  uint64_t correct = 0;
  double loss = 0;
  std::vector<double> margins;
  for (const Score& score : scores) {
    correct += score.correct;
    loss += score.loss;
    margins.insert(margins.end(), score.margins.begin(), score.margins.end());
  }
  if (shared_.architecture.classes() == 2) {
    std::vector<uint32_t> labels;
    for (const uint32_t row : rows) labels.push_back(shared_.dataset.label(row));
    evaluation.auc = attack::AreaUnderCurve(margins, labels);
  }
  evaluation.accuracy = static_cast<double>(correct) / static_cast<double>(rows.size());
  evaluation.loss = loss / static_cast<double>(rows.size());
  return evaluation;
}

absl::Status CheckSpec(const LearnerSpec& spec, const data::Dataset& dataset) {
  if (!(spec.held_out_share >= 0 && spec.held_out_share <= 0.9)) {
    return base::InvalidArgument("held_out_share is {}; it must be 0 to 0.9", spec.held_out_share);
  }
  if (!(spec.last_layer_gain > 0 && std::isfinite(spec.last_layer_gain))) {
    return base::InvalidArgument("last_layer_gain is {}; it must be positive and finite",
                                 spec.last_layer_gain);
  }
  if (spec.batch < 1 || spec.batch > kMaxBatch) {
    return base::InvalidArgument("batch is {}; it must be 1 to {}", spec.batch, kMaxBatch);
  }
  if (spec.local_epochs < 1 || spec.local_epochs > kMaxEpochs) {
    return base::InvalidArgument("local_epochs is {}; it must be 1 to {}", spec.local_epochs,
                                 kMaxEpochs);
  }
  for (const auto& [name, rate] : {std::pair("learning_rate", spec.learning_rate),
                                   std::pair("learning_rate_final", spec.learning_rate_final)}) {
    if (!(rate > 0 && std::isfinite(rate))) {
      return base::InvalidArgument("{} is {}; it must be positive and finite", name, rate);
    }
  }
  if (spec.classes != 0 && spec.classes < dataset.classes()) {
    return base::InvalidArgument("classes is {}, but {} has {}", spec.classes, dataset.name(),
                                 dataset.classes());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<trainer::Learner>> NewLearner(const LearnerSpec& spec,
                                                             data::Dataset dataset) {
  TACET_RETURN_IF_ERROR(CheckSpec(spec, dataset));
  TACET_ASSIGN_OR_RETURN(models::Architecture architecture,
                         models::Architecture::Create(
                             {.model = spec.model,
                              .input_shape = dataset.input_shape(),
                              .hidden = spec.hidden,
                              .classes = spec.classes != 0 ? spec.classes : dataset.classes()}));
  TACET_RETURN_IF_ERROR(models::CheckPrecision(architecture, spec.precision));
  if (spec.unit != accounting::Unit::kClient) {
    TACET_RETURN_IF_ERROR(models::RecordGradients::CheckArchitecture(architecture));
    if (!spec.federated.empty()) {
      return base::InvalidArgument("federated: a part of the model is for unit client, not {}",
                                   accounting::UnitName(spec.unit));
    }
  }
  TACET_ASSIGN_OR_RETURN(
      models::FederatedPart part,
      models::FederatedPart::Create(
          architecture, spec.federated,
          !spec.start.empty() ? spec.start
                              : architecture.InitialParameters(spec.seed, spec.last_layer_gain)));
  data::Split split(dataset, spec.seed, spec.held_out_share, spec.unit);
  TACET_ASSIGN_OR_RETURN(data::UnitRows units, data::UnitRows::Create(dataset, split, spec.unit));
  return std::make_unique<ModelLearner>(Shared{spec, std::move(dataset), std::move(architecture),
                                               std::move(split), std::move(units),
                                               std::move(part)});
}

}  // namespace tacet::training
