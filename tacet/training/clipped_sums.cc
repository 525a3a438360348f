#include "tacet/training/clipped_sums.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "tacet/base/status.h"

namespace tacet::training {
namespace {

constexpr size_t kChunk = models::RecordGradients::kMaxRecords;

// The factor that a contribution of this norm gets.
double Factor(double norm, double clip_norm) {
  if (!std::isfinite(norm)) return 0;
  return std::min(1.0, clip_norm * (1 - kClippingSlack) / norm);
}

}  // namespace

ClippedSums::ClippedSums(const models::Architecture& architecture, const data::Dataset& dataset,
                         const data::UnitRows& units)
    : dataset_(dataset),
      units_(units),
      gradients_(architecture),
      input_size_(architecture.input_size()),
      total_(architecture.dimension()) {
  if (units.unit() == accounting::Unit::kPerson) person_.resize(total_.size());
}

absl::StatusOr<std::span<const double>> ClippedSums::Norms(std::span<const uint32_t> rows) {
  labels_.clear();
  for (size_t i = 0; i < rows.size(); ++i) {
    dataset_.CopyInput(rows[i], gradients_.input().subspan(i * input_size_, input_size_));
    labels_.push_back(dataset_.label(rows[i]));
  }
  return gradients_.Norms(labels_);
}

absl::Status ClippedSums::AddRecords(uint64_t client, std::span<const uint32_t> units,
                                     double clip_norm) {
  std::array<double, kChunk> factors{};
  for (size_t first = 0; first < units.size();) {
    rows_.clear();
    size_t next = first;
    while (next < units.size() && rows_.size() < kChunk &&
           units[next] / kBlock == units[first] / kBlock) {
      rows_.push_back(units_.rows(client, units[next++]).front());
    }
    TACET_ASSIGN_OR_RETURN(const std::span<const double> norms, Norms(rows_));
    for (size_t i = 0; i < norms.size(); ++i) {
      factors[i] = dataset_.is_readable(rows_[i]) ? -Factor(norms[i], clip_norm) : 0;
    }
    gradients_.AddTo(std::span(factors).first(norms.size()), total_);
    first = next;
  }
  return absl::OkStatus();
}

absl::Status ClippedSums::AddPerson(uint64_t client, uint32_t unit, double clip_norm) {
  std::ranges::fill(person_, 0.0);
  std::array<double, kChunk> weights{};
  const std::span<const uint32_t> rows = units_.rows(client, unit);
  for (size_t first = 0; first < rows.size(); first += kChunk) {
    const auto chunk = rows.subspan(first, std::min(kChunk, rows.size() - first));
    TACET_ASSIGN_OR_RETURN(const std::span<const double> norms, Norms(chunk));
    if (!std::ranges::all_of(norms, [](double norm) { return std::isfinite(norm); })) {
      return absl::OkStatus();
    }
    for (size_t i = 0; i < chunk.size(); ++i) {
      weights[i] = dataset_.is_readable(chunk[i]) ? 1.0 : 0.0;
    }
    gradients_.AddTo(std::span(weights).first(chunk.size()), person_);
  }
  double square = 0;
  for (const double value : person_) square += value * value;
  const double factor = Factor(std::sqrt(square), clip_norm);
  if (factor == 0) return absl::OkStatus();
  for (size_t p = 0; p < total_.size(); ++p) total_[p] -= factor * person_[p];
  return absl::OkStatus();
}

absl::Status ClippedSums::Sum(std::span<const float> model, uint64_t client,
                              std::span<const uint32_t> units, double clip_norm,
                              std::span<float> sum) {
  gradients_.Load(model);
  std::ranges::fill(total_, 0.0);
  if (units_.unit() == accounting::Unit::kPerson) {
    for (const uint32_t unit : units) {
      TACET_RETURN_IF_ERROR(AddPerson(client, unit, clip_norm));
    }
  } else {
    TACET_RETURN_IF_ERROR(AddRecords(client, units, clip_norm));
  }
  for (size_t p = 0; p < sum.size(); ++p) sum[p] = static_cast<float>(total_[p]);
  return absl::OkStatus();
}

}  // namespace tacet::training
