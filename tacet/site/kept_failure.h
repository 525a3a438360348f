// Update source that remembers the first failure of another one.
#ifndef TACET_SITE_KEPT_FAILURE_H_
#define TACET_SITE_KEPT_FAILURE_H_

#include <span>

#include "absl/status/status.h"
#include "fmt/core.h"

#include "tacet/base/status.h"
#include "tacet/secagg/attempt.h"
#include "tacet/trainer/update_source.h"

namespace tacet::site {

// For training by code of the site's own: after a failure zeros are sealed in the update's place,
// so the site has to end and repair its code.
class KeptFailure final : public trainer::UpdateSource {
 public:
  // `updates` must outlive it.
  explicit KeptFailure(trainer::UpdateSource& updates) : updates_(updates) {}

  absl::Status Update(const secagg::Attempt& attempt, std::span<const float> model,
                      std::span<float> update) override {
    absl::Status updated = updates_.Update(attempt, model, update);
    if (failure_.ok() && !updated.ok() && updated.code() != absl::StatusCode::kCancelled) {
      failure_ = base::Annotate(updated, fmt::format("round {}", attempt.number.round));
    }
    return updated;
  }

  // The first error of Update but Cancelled; OK without one.
  const absl::Status& failure() const { return failure_; }

 private:
  trainer::UpdateSource& updates_;
  absl::Status failure_;
};

}  // namespace tacet::site

#endif  // TACET_SITE_KEPT_FAILURE_H_
