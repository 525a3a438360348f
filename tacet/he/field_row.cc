#include "tacet/he/field_row.h"

#include <array>

#include "tacet/he/sum_kernels.h"

namespace tacet::he {

FieldRow::FieldRow(const ring::Modulus& modulus, std::span<const uint64_t> values)
    : modulus_(&modulus), size_(values.size()), limbs_(kLimbs * values.size()) {
  for (size_t limb = 0; limb < kLimbs; ++limb) {
    const auto of_limb = limbs_.Expose().subspan(limb * size_, size_);
    for (size_t b = 0; b < size_; ++b) {
      of_limb[b] = static_cast<uint32_t>(values[b] >> (kLimbBits * limb)) & ((1u << kLimbBits) - 1);
    }
  }
}

void FieldRow::Multiply(const uint32_t* const* rows, size_t size,
                        std::span<uint64_t> products) const {
  std::array<LimbProducts, kRowsAtOnce> of_limbs;
  ActiveSumKernels().limb_products(limbs_.Expose().data(), size_, rows, products.size(), size,
                                   of_limbs.data());
  for (size_t r = 0; r < products.size(); ++r) {
    products[r] = 0;
    // Horner's rule; 4096 products below 2^57 and 2^(50 + 25) stay below 2^76.
    for (size_t limb = kLimbs; limb-- > 0;) {
      products[r] = modulus_->Reduce((static_cast<ring::Uint128>(products[r]) << kLimbBits) +
                                     of_limbs[r][limb]);
    }
  }
  crypto::Wipe(of_limbs.data(), sizeof(of_limbs));
}

}  // namespace tacet::he
