// Warnings about the privacy settings of a planned federation.
#ifndef TACET_AGREEMENT_PRIVACY_WARNINGS_H_
#define TACET_AGREEMENT_PRIVACY_WARNINGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/accounting/observers.h"
#include "tacet/agreement/manifest.h"

namespace tacet::agreement {

// The noise of all T averages together has norm sqrt(T d) sigma / K, and T clipped averages that
// all point in one direction have norm T S. Training whose noise is this many times longer cannot
// be expected to learn anything; at T = 100 that is a noise norm of 100 S in one average.
inline constexpr double kDrowningRatio = 10;

// Norm of the noise in one average over the clip norm, sqrt(d) sigma' / (K S): sigma' is the
// deviation in the sum when all uploads arrive, K the divisor. 0 where a size is not known.
double NoiseOverClipNorm(const accounting::FederationPrivacySpec& spec, uint64_t dimension);

// A warning is a sentence without its full stop. It names the setting, its value, the limit and
// what to change. In this order:
//   delta >= 1 / (number of units), which publishing the data of one unit would satisfy;
//   noise that drowns the update (kDrowningRatio);
//   epsilon above agreement::kMaxUsefulEpsilon for an observer with a guarantee.
// None for a federation without noise. `dimension` is d; 0 is not known, nor is an expected batch
// of 0, and the warnings that depend on them are left out.
absl::StatusOr<std::vector<std::string>> PrivacyWarnings(
    const accounting::FederationPrivacySpec& spec, uint64_t dimension);

// The same for the planned rounds of an agreement; none where noise or clipping is left out, which
// a run's labels say.
absl::StatusOr<std::vector<std::string>> PrivacyWarnings(const agreement::ManifestSpec& agreed);

// A paragraph with a heading; empty without warnings.
std::string WarningsText(const std::vector<std::string>& warnings);
// A line each, with a heading of 12 columns, as AgreementText writes its lines.
std::string WarningLines(const std::vector<std::string>& warnings);

}  // namespace tacet::agreement

#endif  // TACET_AGREEMENT_PRIVACY_WARNINGS_H_
