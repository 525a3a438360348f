#include "tacet/dp/noise_law.h"

#include "tacet/base/status.h"

namespace tacet::dp {

std::string_view NoiseLawName(NoiseLaw law) {
  switch (law) {
    case NoiseLaw::kGaussian:
      return "gaussian";
    case NoiseLaw::kDiscreteLaplace:
      return "discrete-laplace";
  }
  return "unknown";
}

absl::StatusOr<NoiseLaw> ParseNoiseLaw(std::string_view name) {
  for (const NoiseLaw law : {NoiseLaw::kGaussian, NoiseLaw::kDiscreteLaplace}) {
    if (name == NoiseLawName(law)) return law;
  }
  return base::InvalidArgument("unknown noise law \"{}\": expected gaussian or discrete-laplace",
                               name);
}

}  // namespace tacet::dp
