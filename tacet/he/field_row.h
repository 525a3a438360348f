// Inner products of a row of field elements with rows of 32-bit words.
#ifndef TACET_HE_FIELD_ROW_H_
#define TACET_HE_FIELD_ROW_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "tacet/crypto/secret.h"
#include "tacet/ring/modulus.h"

namespace tacet::he {

// v_0, ..., v_{n-1} mod a prime of 50 bits, n <= 4096, kept in limbs. Immutable; takes the same
// time whatever the values. Wiped when it goes.
class FieldRow {
 public:
  FieldRow() = default;
  // Canonical values.
  FieldRow(const ring::Modulus& modulus, std::span<const uint64_t> values);

  // products[r] = Σ_b v_b rows[r][b] mod p, canonical, for b < size <= n and as many rows as there
  // are products, at most kRowsAtOnce.
  void Multiply(const uint32_t* const* rows, size_t size, std::span<uint64_t> products) const;

 private:
  const ring::Modulus* modulus_ = nullptr;
  size_t size_ = 0;
  crypto::SecretVector<uint32_t> limbs_;  // size_ words a limb
};

}  // namespace tacet::he

#endif  // TACET_HE_FIELD_ROW_H_
