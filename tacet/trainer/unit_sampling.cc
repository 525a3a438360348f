#include "tacet/trainer/unit_sampling.h"

#include <cmath>
#include <numeric>

namespace tacet::trainer {

std::vector<uint32_t> DrawUnits(uint64_t units, double rate, crypto::Random& coins) {
  std::vector<uint32_t> drawn;
  if (rate >= 1) {
    drawn.resize(units);
    std::iota(drawn.begin(), drawn.end(), uint32_t{0});
    return drawn;
  }
  const auto threshold = static_cast<uint64_t>(std::ldexp(rate, 64));
  for (uint64_t unit = 0; unit < units; ++unit) {
    if (coins.NextU64() < threshold) drawn.push_back(static_cast<uint32_t>(unit));
  }
  return drawn;
}

}  // namespace tacet::trainer
