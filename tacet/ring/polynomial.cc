#include "tacet/ring/polynomial.h"

namespace tacet::ring {

void AddInPlace(std::span<uint64_t> sum, std::span<const uint64_t> term, const Modulus& modulus) {
  for (size_t i = 0; i < term.size(); ++i) sum[i] = modulus.Add(sum[i], term[i]);
}

void Multiplier::SetFactors(std::span<const uint64_t> values_ntt) {
  const auto factors = factors_.Expose();
  for (size_t i = 0; i < factors.size(); ++i) factors[i] = ntt_->modulus().Shoup(values_ntt[i]);
}

void Multiplier::MultiplyNtt(std::span<const uint64_t> other_ntt,
                             std::span<uint64_t> product_ntt) const {
  const auto factors = factors_.Expose();
  const Modulus& modulus = ntt_->modulus();
  for (size_t i = 0; i < factors.size(); ++i) {
    product_ntt[i] = modulus.Multiply(other_ntt[i], factors[i]);
  }
}

void Multiplier::Multiply(std::span<const uint64_t> other_ntt, std::span<uint64_t> product) const {
  const auto factors = factors_.Expose();
  const Modulus& modulus = ntt_->modulus();
  for (size_t i = 0; i < factors.size(); ++i) {
    product[i] = modulus.MultiplyLazy(other_ntt[i], factors[i]);
  }
  ntt_->Inverse(product);
}

}  // namespace tacet::ring
