#include "lab/bench/query_trials.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "apps/tacet/simulate/memory_run.h"
#include "tacet/base/status.h"
#include "tacet/crypto/seeded_random.h"
#include "tacet/data/data_files.h"
#include "tacet/simulation/local_channel.h"
#include "tacet/statistics/query_learner.h"
#include "tacet/table/table_text.h"

namespace tacet::app::bench {

using tacet::statistics::Answer;
using tacet::statistics::Estimate;
using tacet::statistics::Query;
using tacet::statistics::QueryLearner;
using tacet::statistics::SiteUnits;

namespace {

class TrainerOfSums final : public trainer::Trainer {
 public:
  explicit TrainerOfSums(const std::vector<std::vector<float>>& sums) : sums_(sums) {}

  absl::Status Train(std::span<const float> /*model*/, uint32_t /*round*/, uint64_t client,
                     std::span<float> update) override {
    std::ranges::copy(sums_[client], update.begin());
    return absl::OkStatus();
  }
  absl::Status SumClippedGradients(std::span<const float> model, uint64_t client,
                                   std::span<const uint32_t> /*units*/, double /*clip_norm*/,
                                   std::span<float> sum) override {
    return Train(model, 0, client, sum);
  }

 private:
  const std::vector<std::vector<float>>& sums_;
};

// Sites whose units all take part, of whom only the sums are known.
class LearnerOfSums final : public trainer::Learner {
 public:
  LearnerOfSums(uint64_t units, std::vector<std::vector<float>> sums)
      : units_(units), sums_(std::move(sums)) {}

  uint64_t dimension() const override { return sums_[0].size(); }
  uint64_t clients() const override { return sums_.size(); }
  uint64_t training_samples(uint64_t /*client*/) const override { return units_; }
  accounting::Unit unit() const override { return accounting::Unit::kRecord; }
  uint64_t units(uint64_t /*client*/) const override { return units_; }
  std::vector<float> InitialModel() const override { return std::vector<float>(dimension(), 0.0F); }
  absl::StatusOr<std::unique_ptr<trainer::Trainer>> NewTrainer() const override {
    return std::make_unique<TrainerOfSums>(sums_);
  }
  absl::StatusOr<trainer::Evaluation> Evaluate(std::span<const float> /*model*/,
                                               int /*threads*/) const override {
    return trainer::Evaluation{};
  }

 private:
  uint64_t units_;
  std::vector<std::vector<float>> sums_;
};

class TrainerOfRows final : public trainer::Trainer {
 public:
  TrainerOfRows(const Query& query, const SiteUnits& table,
                const std::vector<std::vector<uint32_t>>& rows)
      : query_(query), table_(table), rows_(rows) {}

  absl::Status Train(std::span<const float> model, uint32_t /*round*/, uint64_t client,
                     std::span<float> update) override {
    const auto [released, coefficients] = tacet::statistics::StateAfter(query_, model);
    std::ranges::fill(update, 0.0F);
    const size_t values = query_.round_dimension();
    table_.SumUnits(rows_[client], update.subspan(released * values, values), coefficients);
    return absl::OkStatus();
  }
  absl::Status SumClippedGradients(std::span<const float> model, uint64_t client,
                                   std::span<const uint32_t> /*units*/, double /*clip_norm*/,
                                   std::span<float> sum) override {
    return Train(model, 0, client, sum);
  }

 private:
  const Query& query_;
  const SiteUnits& table_;
  const std::vector<std::vector<uint32_t>>& rows_;
};

// Sites whose units all take part: rows of one table, which has read them once.
class LearnerOfRows final : public trainer::Learner {
 public:
  LearnerOfRows(const Query& query, const SiteUnits& table,
                const std::vector<std::vector<uint32_t>>& rows)
      : query_(query), table_(table), rows_(rows) {}

  uint64_t dimension() const override { return query_.dimension(); }
  uint64_t clients() const override { return rows_.size(); }
  uint64_t training_samples(uint64_t client) const override { return rows_[client].size(); }
  accounting::Unit unit() const override { return accounting::Unit::kRecord; }
  uint64_t units(uint64_t client) const override { return rows_[client].size(); }
  std::vector<float> InitialModel() const override { return std::vector<float>(dimension(), 0.0F); }
  absl::StatusOr<std::unique_ptr<trainer::Trainer>> NewTrainer() const override {
    return std::make_unique<TrainerOfRows>(query_, table_, rows_);
  }
  absl::StatusOr<trainer::Evaluation> Evaluate(std::span<const float> /*model*/,
                                               int /*threads*/) const override {
    return trainer::Evaluation{};
  }

 private:
  const Query& query_;
  const SiteUnits& table_;
  const std::vector<std::vector<uint32_t>>& rows_;
};

}  // namespace

tacet::statistics::SiteTable TextTable::AsSite() const {
  tacet::statistics::SiteTable site{
      .name = name, .columns = columns, .cells = {}, .rows = rows.size()};
  for (size_t i = 0; i < columns.size(); ++i) {
    table::ColumnBuilder cells = table::ColumnBuilder::OfTexts();
    for (const std::vector<std::string>& row : rows) cells.AddText(row[i]);
    site.cells.push_back(std::move(cells).Finish());
  }
  return site;
}

absl::StatusOr<TextTable> LoadTable(const std::filesystem::path& path,
                                    const std::vector<std::string>& columns) {
  TACET_ASSIGN_OR_RETURN(const std::string text, data::ReadDataFile(path));
  table::TableRecords records(text);
  std::vector<std::string> fields;
  std::vector<size_t> places;
  TextTable table{.name = path.stem().string(), .columns = columns, .rows = {}};
  if (records.Next(',', fields) != table::TableRecords::Result::kRecord) {
    return base::InvalidArgument("{}: the file has no header", path.string());
  }
  for (const std::string& column : columns) {
    const auto found = std::ranges::find(fields, column);
    if (found == fields.end()) {
      return base::InvalidArgument("{}: there is no column {}", path.string(), column);
    }
    places.push_back(static_cast<size_t>(found - fields.begin()));
  }
  while (records.Next(',', fields) == table::TableRecords::Result::kRecord) {
    std::vector<std::string> row;
    for (const size_t place : places) row.push_back(place < fields.size() ? fields[place] : "NA");
    if (std::ranges::find(row, "NA") == row.end()) table.rows.push_back(std::move(row));
  }
  return table;
}

std::vector<TextTable> SpreadOverSites(const TextTable& table, uint64_t seed) {
  std::vector<uint32_t> order(table.rows.size());
  std::iota(order.begin(), order.end(), 0u);
  crypto::Random random = crypto::SeededRandom(seed, "bench/sites");
  crypto::Shuffle(random, order);
  std::vector<TextTable> sites(kSites);
  for (size_t i = 0; i < kSites; ++i) {
    sites[i].name = fmt::format("site {}", i);
    sites[i].columns = table.columns;
  }
  for (size_t i = 0; i < order.size(); ++i) sites[i % kSites].rows.push_back(table.rows[order[i]]);
  return sites;
}

TextTable Resampled(const TextTable& table, size_t rows, crypto::Random& random) {
  TextTable drawn{.name = table.name, .columns = table.columns, .rows = {}};
  for (size_t i = 0; i < rows; ++i) {
    drawn.rows.push_back(table.rows[random.Below(table.rows.size())]);
  }
  return drawn;
}

absl::StatusOr<QueryTrials> QueryTrials::Create(
    std::vector<tacet::statistics::QuestionSpec> questions, double epsilon, uint64_t max_units,
    double floor, dp::NoiseLaw law, std::vector<table::AgreedValues> values) {
  TACET_ASSIGN_OR_RETURN(Query query, Query::Create({.questions = std::move(questions),
                                                     .noise_law = law,
                                                     .max_units = max_units,
                                                     .floor = floor,
                                                     .values = std::move(values)}));
  QueryTrials trials;
  trials.query_ = std::make_shared<const Query>(std::move(query));
  agreement::ManifestSpec terms;
  terms.spare_attempts = 0;
  terms.sampling.clients = kSites;
  terms.privacy.target_epsilon = epsilon;
  TACET_ASSIGN_OR_RETURN(trials.terms_, tacet::statistics::QueryTerms(*trials.query_, terms));
  return trials;
}

absl::StatusOr<std::vector<Answer>> QueryTrials::Release(
    const std::vector<TextTable>& tables,
    const std::function<void(const simulation::RoundRecord&)>& on_round) const {
  simulation::SimulationSpec spec;
  spec.manifest = terms_;
  return Simulate(tables, std::move(spec), on_round);
}

absl::StatusOr<std::vector<Answer>> QueryTrials::ReleaseInTheClear(
    const std::vector<TextTable>& tables, uint64_t seed) const {
  return Simulate(tables, InTheClear(seed), {});
}

absl::StatusOr<std::vector<Answer>> QueryTrials::ReleaseSumsInTheClear(
    std::vector<std::vector<float>> sums, uint64_t seed) const {
  return Simulate(LearnerOfSums(query_->spec().max_units, std::move(sums)), InTheClear(seed), {});
}

absl::StatusOr<std::vector<Answer>> QueryTrials::ReleaseRowsInTheClear(
    const SiteUnits& table, const std::vector<std::vector<uint32_t>>& rows, uint64_t seed) const {
  return Simulate(LearnerOfRows(*query_, table, rows), InTheClear(seed), {});
}

absl::StatusOr<SiteUnits> QueryTrials::Read(const TextTable& table) const {
  return SiteUnits::Create(query_, table.AsSite());
}

simulation::SimulationSpec QueryTrials::InTheClear(uint64_t seed) const {
  simulation::SimulationSpec spec;
  spec.manifest = terms_;
  spec.manifest.without_encryption = true;
  spec.insecure_seed = seed;
  return spec;
}

absl::StatusOr<std::vector<Answer>> QueryTrials::Simulate(
    const std::vector<TextTable>& tables, simulation::SimulationSpec spec,
    const std::function<void(const simulation::RoundRecord&)>& on_round) const {
  std::vector<SiteUnits> sites;
  for (const TextTable& table : tables) {
    TACET_ASSIGN_OR_RETURN(SiteUnits site, SiteUnits::Create(query_, table.AsSite()));
    sites.push_back(std::move(site));
  }
  return Simulate(QueryLearner(query_, std::move(sites)), std::move(spec), on_round);
}

absl::StatusOr<std::vector<Answer>> QueryTrials::Simulate(
    const trainer::Learner& learner, simulation::SimulationSpec spec,
    const std::function<void(const simulation::RoundRecord&)>& on_round) const {
  simulation::LocalChannel channel;
  TACET_ASSIGN_OR_RETURN(const auto simulation,
                         simulation::Simulation::Create(std::move(spec), learner, channel));
  TACET_ASSIGN_OR_RETURN(const simulation::SimulationResult result,
                         app::simulate::RunInMemory(*simulation, on_round));
  const agreement::Manifest& manifest = simulation->manifest();
  return tacet::statistics::AnswersOf(*query_,
                                      tacet::statistics::ReleasedSum(manifest, result.model),
                                      tacet::statistics::NoiseOf(manifest));
}

absl::StatusOr<std::vector<Answer>> QueryTrials::Exact(const TextTable& table) const {
  std::vector<double> total(query_->dimension(), 0.0);
  for (const TextTable& site : SpreadOverSites(table, 1)) {
    TACET_ASSIGN_OR_RETURN(const SiteUnits units, SiteUnits::Create(query_, site.AsSite()));
    std::vector<uint32_t> all(units.units());
    std::iota(all.begin(), all.end(), 0u);
    std::vector<float> sum(query_->dimension());
    units.SumUnits(all, sum);
    for (size_t i = 0; i < sum.size(); ++i) total[i] += sum[i];
  }
  tacet::statistics::QuerySpec without_floor = query_->spec();
  without_floor.floor = 0;
  TACET_ASSIGN_OR_RETURN(const Query query, Query::Create(std::move(without_floor)));
  return tacet::statistics::AnswersOf(query, total, {});
}

std::optional<Estimate> Find(const Answer& answer, std::string_view quantity,
                             std::string_view group, std::string_view at) {
  for (const Estimate& estimate : answer.estimates) {
    if (estimate.quantity == quantity && estimate.group == group && estimate.at == at &&
        estimate.value.has_value()) {
      return estimate;
    }
  }
  return std::nullopt;
}

std::vector<double> ValuesOf(const Answer& answer, std::string_view quantity,
                             std::string_view group) {
  std::vector<double> values;
  for (const Estimate& estimate : answer.estimates) {
    if (estimate.quantity == quantity && estimate.group == group) {
      values.push_back(estimate.value.value_or(0));
    }
  }
  return values;
}

double LargestDifference(std::span<const double> a, std::span<const double> b) {
  double largest = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    largest = std::max(largest, std::abs(a[i] - b[i]));
  }
  return largest;
}

double QuantileOf(std::vector<double> values, double share) {
  std::ranges::sort(values);
  const double place = share * static_cast<double>(values.size() - 1);
  return values[static_cast<size_t>(std::lround(place))];
}

}  // namespace tacet::app::bench
