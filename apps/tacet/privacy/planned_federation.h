// Flags that describe a planned federation, shared by the commands of `tacet privacy`.
#ifndef TACET_APPS_TACET_PRIVACY_PLANNED_FEDERATION_H_
#define TACET_APPS_TACET_PRIVACY_PLANNED_FEDERATION_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "apps/tacet/program/options.h"
#include "tacet/accounting/federation_privacy.h"
#include "tacet/agreement/manifest.h"

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
  // The terms of the flags, not checked.
  accounting::FederationPrivacySpec Given() const;
  absl::Status SetNoise(Varied varied, accounting::FederationPrivacySpec& spec) const;
  absl::Status SetCommittee(accounting::FederationPrivacySpec& spec) const;

  // Those of an agreement that have a flag (agreement/terms_table.h). A coordinate bound of 0 is
  // the clip norm.
  agreement::ManifestSpec terms_ = {.sampling = {.method = std::nullopt, .appearances = 1},
                                    .mechanism = {.coordinate_bound = 0}};
  std::map<std::string_view, std::string> words_;  // of choices, by the term's name
  std::optional<std::string> committee_;
  std::optional<uint64_t> dimension_;
  std::optional<uint64_t> rounds_;
  std::optional<double> noise_multiplier_;
  std::optional<double> noise_stddev_;
  double availability_ = 1;
};

}  // namespace tacet::app::privacy

#endif  // TACET_APPS_TACET_PRIVACY_PLANNED_FEDERATION_H_
