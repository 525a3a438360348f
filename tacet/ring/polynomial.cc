#include "tacet/ring/polynomial.h"

#include "tacet/ring/kernels.h"

namespace tacet::ring {

void AddInPlace(std::span<uint64_t> sum, std::span<const uint64_t> term, const Modulus& modulus) {
  ActiveKernels().add(modulus, term.data(), term.size(), sum.data());
}

ValueMultiplier::ValueMultiplier(std::span<const uint64_t> values_ntt, const Ntt& ntt)
    : ntt_(&ntt), factors_(2 * ntt.degree()) {
  ntt.kernels().make_factors(ntt.modulus(), values_ntt.data(), 1, ntt.degree(),
                             factors_.Expose().data());
}

void ValueMultiplier::Multiply(std::span<const uint64_t> other_ntt,
                               std::span<uint64_t> product_ntt) const {
  ntt_->kernels().multiply(ntt_->modulus(), other_ntt.data(), factors_.Expose().data(),
                           ntt_->degree(), product_ntt.data());
}

void Multiplier::SetFactors(std::span<const uint64_t> values_ntt) {
  ntt_->kernels().make_factors(ntt_->modulus(), values_ntt.data(), ntt_->inverse_degree(),
                               ntt_->degree(), factors_.Expose().data());
}

void Multiplier::Multiply(std::span<const uint64_t> other_ntt, std::span<uint64_t> product) const {
  ntt_->kernels().multiply_inverse(ntt_->tables(), other_ntt.data(), factors(), product.data());
}

}  // namespace tacet::ring
