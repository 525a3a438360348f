#include "lab/attack/shadow_models.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "fmt/core.h"

#include "tacet/base/bytes.h"
#include "tacet/base/mutex.h"
#include "tacet/base/parallel.h"
#include "tacet/base/status.h"
#include "tacet/base/stopwatch.h"
#include "tacet/crypto/seeded_random.h"
#include "tacet/storage/file/posix_file.h"

namespace tacet::lab::attack {
namespace {

namespace fs = std::filesystem;

// Which candidates model `number` is trained on.
std::vector<bool> HalfOf(const app::attack::Candidates& candidates, uint64_t seed,
                         uint64_t number) {
  std::map<uint64_t, std::vector<uint32_t>> strata;
  for (size_t i = 0; i < candidates.rows.size(); ++i) {
    strata[candidates.stratum[i]].push_back(static_cast<uint32_t>(i));
  }
  crypto::Random random = crypto::SeededRandom(seed, "shadow halves", number / 2);
  std::vector<bool> first(candidates.rows.size(), false);
  for (auto& [stratum, members] : strata) {
    crypto::Shuffle(random, members);
    const size_t half = members.size() / 2 + (members.size() % 2) * random.Below(2);
    for (size_t i = 0; i < half; ++i) first[members[i]] = true;
  }
  if (number % 2 == 1) first.flip();
  return first;
}

absl::StatusOr<data::Dataset> SamplesOf(const app::attack::Candidates& candidates,
                                        const std::vector<bool>& chosen, uint64_t sites,
                                        uint64_t seed) {
  const data::Dataset& data = candidates.data;
  std::vector<bool> wanted(data.samples(), false);
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (!chosen[i]) continue;
    for (const uint32_t row : candidates.rows[i]) wanted[row] = true;
  }
  std::vector<data::ChosenRows> rows;
  for (uint64_t client = 0; client < data.clients(); ++client) {
    data::ChosenRows own{.client = client, .rows = {}};
    for (const uint32_t row : data.rows(client)) {
      if (wanted[row]) own.rows.push_back(row);
    }
    if (!own.rows.empty()) rows.push_back(std::move(own));
  }
  TACET_ASSIGN_OR_RETURN(data::Dataset samples, data::SelectRows(data, rows, data.name()));
  if (sites == 0) return samples;
  return data::SpreadOverSites(samples, sites, seed);
}

class ShadowTrainer {
 public:
  ShadowTrainer(const ShadowPlan& plan, const app::attack::Candidates& candidates,
                const models::Architecture& architecture)
      : plan_(plan), candidates_(candidates), architecture_(architecture) {}

  // Reads its file when an earlier attack kept it.
  absl::StatusOr<ShadowModel> Get(uint64_t number) const {
    ShadowModel shadow{.confidences = {}, .trained_on = HalfOf(candidates_, plan_.seed, number)};
    const fs::path path = plan_.folder / fmt::format("shadow-{:04}", number);
    if (std::optional<std::vector<double>> kept = Kept(path)) {
      shadow.confidences = *std::move(kept);
      return shadow;
    }
    TACET_ASSIGN_OR_RETURN(
        data::Dataset samples,
        SamplesOf(candidates_, shadow.trained_on, plan_.sites, plan_.recipe.learner.seed));
    TACET_ASSIGN_OR_RETURN(const std::vector<float> model,
                           TrainShadow(plan_.recipe, std::move(samples), plan_.seed, number));
    TACET_ASSIGN_OR_RETURN(app::attack::ModelOutputs said,
                           app::attack::OutputsOf(architecture_, model, candidates_));
    shadow.confidences = std::move(said.confidences);
    const std::span<const double> values = shadow.confidences;
    TACET_RETURN_IF_ERROR(storage::file::ReplaceFile(
        path, {reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()}));
    return shadow;
  }

 private:
  std::optional<std::vector<double>> Kept(const fs::path& path) const {
    std::error_code error;
    if (!fs::exists(path, error)) return std::nullopt;
    const absl::StatusOr<base::Bytes> bytes = storage::file::ReadFile(path);
    std::vector<double> values(candidates_.rows.size());
    if (!bytes.ok() || bytes->size() != values.size() * sizeof(double)) return std::nullopt;
    std::memcpy(values.data(), bytes->data(), bytes->size());
    return values;
  }

  const ShadowPlan& plan_;
  const app::attack::Candidates& candidates_;
  const models::Architecture& architecture_;
};

// Says every few seconds how far the models are.
class Progress {
 public:
  Progress(const ShadowPlan& plan, std::FILE* out) : plan_(plan), out_(out) {}

  void Done() {
    const base::MutexLock lock(mutex_);
    const double seconds = watch_.Seconds();
    if (++done_ != plan_.count && seconds < said_ + 5) return;
    said_ = seconds;
    fmt::print(out_, "{:<12}{}/{} shadow models, {:.1f} s\n", plan_.title, done_, plan_.count,
               seconds);
    std::fflush(out_);
  }

 private:
  const ShadowPlan& plan_;
  std::FILE* out_;
  base::Mutex mutex_;
  base::Stopwatch watch_ ABSL_GUARDED_BY(mutex_);
  uint64_t done_ ABSL_GUARDED_BY(mutex_) = 0;
  double said_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace

absl::StatusOr<std::vector<ShadowModel>> TrainShadowModels(
    const ShadowPlan& plan, const app::attack::Candidates& candidates, std::FILE* out) {
  TACET_ASSIGN_OR_RETURN(const models::Architecture architecture,
                         models::Architecture::Create({.model = plan.recipe.learner.model,
                                                       .input_shape = candidates.data.input_shape(),
                                                       .hidden = plan.recipe.learner.hidden,
                                                       .classes = candidates.data.classes()}));
  std::error_code error;
  fs::create_directories(plan.folder, error);
  if (error) return base::Unavailable("cannot make {}: {}", plan.folder.string(), error.message());
  const ShadowTrainer trainer(plan, candidates, architecture);
  Progress progress(plan, out);
  std::vector<ShadowModel> shadows(plan.count);
  std::vector<absl::Status> statuses(std::min(plan.threads, plan.count));
  std::atomic<uint64_t> next = 0;
  base::RunOnThreads(statuses.size(), [&](size_t thread) {
    for (uint64_t i = next++; i < plan.count; i = next++) {
      absl::StatusOr<ShadowModel> shadow = trainer.Get(i);
      if (!shadow.ok()) {
        statuses[thread] = base::Annotate(shadow.status(), fmt::format("shadow model {}", i));
        next = plan.count;
        return;
      }
      shadows[i] = *std::move(shadow);
      progress.Done();
    }
  });
  for (const absl::Status& status : statuses) TACET_RETURN_IF_ERROR(status);
  return shadows;
}

}  // namespace tacet::lab::attack
