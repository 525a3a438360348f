#include "tacet/run/run_model.h"

#include <cstring>
#include <string>

#include "tacet/base/status.h"
#include "tacet/run/run_output.h"

namespace tacet::run {
namespace {

// Far above the largest model that a federation can agree on.
constexpr uintmax_t kMaxModelBytes = uintmax_t{1} << 36;

absl::StatusOr<bool> IsOfRun(const RunRecord& run, std::span<const float> model) {
  for (auto round = run.rounds.rbegin(); round != run.rounds.rend(); ++round) {
    if (!round->model.has_value()) return true;
    const absl::StatusOr<bool> same = IsModelOf(run, *round, model);
    if (same.status().code() == absl::StatusCode::kNotFound) return true;
    if (!same.ok() || *same || run.finished()) return same;
  }
  return run.rounds.empty();
}

}  // namespace

absl::StatusOr<std::vector<float>> ModelOf(const RunRecord& run) {
  const std::filesystem::path file = run.path / kModelFile;
  TACET_ASSIGN_OR_RETURN(const std::string bytes, ReadText(file, kMaxModelBytes));
  std::vector<float> model(bytes.size() / sizeof(float));
  if (bytes.empty() || bytes.size() != sizeof(float) * model.size()) {
    return base::DataLoss("{} has {} bytes, expected 4 for each parameter", file.string(),
                          bytes.size());
  }
  std::memcpy(model.data(), bytes.data(), bytes.size());
  TACET_ASSIGN_OR_RETURN(const bool is_of_run, IsOfRun(run, model));
  if (is_of_run) return model;
  return base::DataLoss("{} is not the model that the run's last round released", file.string());
}

}  // namespace tacet::run
