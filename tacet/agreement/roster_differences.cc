#include "tacet/agreement/roster_differences.h"

#include <algorithm>
#include <cmath>

#include "fmt/format.h"

#include "tacet/accounting/federation_privacy.h"

namespace tacet::agreement {

std::optional<double> RosterDifferenceNoise(const ManifestSpec& spec) {
  if (spec.without_encryption || spec.scheme != he::Scheme::kCompact ||
      !(spec.mechanism.noise_stddev > 0)) {
    return std::nullopt;
  }
  // Poisson cohorts without dummy uploads can be as large as the federation.
  const bool all =
      spec.sampling.dummy_uploads || spec.sampling.method == accounting::Sampling::kPoisson;
  const uint64_t uploads = all ? spec.sampling.clients : spec.sampling.cohort;
  const uint64_t bad = std::max<uint64_t>(spec.privacy.colluders, 1);
  const uint64_t least = spec.sampling.min_participants;
  const uint64_t shares = accounting::NoiseShares(PrivacyOf(spec, 1));
  // One honest upload in a sum is that member's own part at once; the agreement allows no such sum
  // where b is the agreed number.
  if (least >= uploads || least <= bad || shares == 0) return std::nullopt;
  const auto k = static_cast<double>(least - bad);
  const auto h = static_cast<double>(uploads - bad);
  return (std::sqrt(k) + (k - 1) / std::sqrt(h - 1)) / std::sqrt(static_cast<double>(shares));
}

std::string RosterDifferenceText(const ManifestSpec& spec) {
  const std::optional<double> noise = RosterDifferenceNoise(spec);
  if (!noise.has_value()) return "";
  return fmt::format(
      "Sums of {} of {} uploads are decrypted, so the server with a bad member can leave others "
      "out in turn. After N attempts on the same update it knows a member's own part with noise of "
      "{:.3g} / sqrt(N) times the noise of a sum.",
      spec.sampling.min_participants, ExpectedUploads(spec), *noise);
}

}  // namespace tacet::agreement
