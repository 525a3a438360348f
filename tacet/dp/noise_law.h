// Law of the noise in a sum.
#ifndef TACET_DP_NOISE_LAW_H_
#define TACET_DP_NOISE_LAW_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace tacet::dp {

// Frozen values: they are part of a manifest.
//   gaussian          real numbers, which Poisson quantisation follows
//   discrete-laplace  multiples of the scale s, for updates that are such multiples: one-hot rows
enum class NoiseLaw : uint8_t { kGaussian = 0, kDiscreteLaplace = 1 };

// "gaussian" or "discrete-laplace"; "unknown" for any other value.
std::string_view NoiseLawName(NoiseLaw law);
absl::StatusOr<NoiseLaw> ParseNoiseLaw(std::string_view name);

}  // namespace tacet::dp

#endif  // TACET_DP_NOISE_LAW_H_
