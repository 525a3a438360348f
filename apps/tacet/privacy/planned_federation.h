// Flags that describe a planned federation, shared by the commands of `tacet privacy`.
#ifndef TACET_APPS_TACET_PRIVACY_PLANNED_FEDERATION_H_
#define TACET_APPS_TACET_PRIVACY_PLANNED_FEDERATION_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "apps/tacet/program/options.h"
#include "tacet/accounting/federation_privacy.h"

namespace tacet::app::privacy {

// A quantity that a command varies itself: its flag has to be left out.
enum class Varied { kNothing, kNoise, kRounds };

class PlannedFederation {
 public:
  void Register(program::Options& options);

  // The federation of the flags, checked. A varied quantity has a placeholder: noise of one clip
  // norm, one round. InvalidArgument names the flag that is missing, out of range or not wanted.
  absl::StatusOr<accounting::FederationPrivacySpec> Read(Varied varied) const;

  // d, where it was given.
  std::optional<uint64_t> dimension() const { return dimension_; }

 private:
  absl::Status SetNoise(Varied varied, accounting::FederationPrivacySpec& spec) const;
  absl::Status SetCommittee(accounting::FederationPrivacySpec& spec) const;

  // A coordinate bound of 0 is the clip norm.
  accounting::FederationPrivacySpec spec_ = {.sampling = {.appearances = 1},
                                             .mechanism = {.coordinate_bound = 0}};
  std::optional<std::string> committee_;
  std::optional<uint64_t> dimension_;
  std::optional<uint64_t> rounds_;
  std::optional<double> noise_multiplier_;
  std::optional<double> noise_stddev_;
  std::string sampler_ = "default";
  std::string sampling_ = "default";
  std::string noise_law_ = "gaussian";
  std::string neighbouring_ = "replace-one";
  std::string unit_ = "client";
  double availability_ = 1;
};

}  // namespace tacet::app::privacy

#endif  // TACET_APPS_TACET_PRIVACY_PLANNED_FEDERATION_H_
