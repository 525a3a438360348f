#include "tacet/he/paper.h"

#include <cmath>
#include <numbers>

#include "tacet/ring/ntt.h"
#include "tacet/ring/sampling.h"

namespace tacet::he {

double PaperErrorBound(Scheme scheme, uint32_t participants) {
  const double degree = static_cast<double>(ring::kPaperDegree);
  const double proxy =
      ring::kErrorVariance * (scheme == Scheme::kPaperPublicKey ? 1 + 2 * degree : 1);
  return std::sqrt(2 * 81 * std::numbers::ln2 * participants * proxy);
}

double PaperNoiseVariance(Scheme scheme) {
  const double products = 2 * ring::kTernaryVariance * static_cast<double>(ring::kPaperDegree);
  return ring::kErrorVariance * (scheme == Scheme::kPaperPublicKey ? 1 + products : 1);
}

bool PaperErrorFits(Scheme scheme, uint32_t participants, uint32_t plaintext_bits) {
  const double room =
      static_cast<double>(PaperDelta(plaintext_bits)) * (0.5 - std::ldexp(1.0, -16));
  return PaperErrorBound(scheme, participants) < room;
}

}  // namespace tacet::he
