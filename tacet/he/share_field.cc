#include "tacet/he/share_field.h"

namespace tacet::he {
namespace {

constexpr uint64_t kP = kSharePrime;

// x^-1 mod p = x^(p - 2), x public.
uint64_t Inverse(uint64_t x) {
  uint64_t result = 1;
  for (uint64_t e = kP - 2; e > 0; e >>= 1) {
    if ((e & 1) != 0) result = result * x % kP;
    x = x * x % kP;
  }
  return result;
}

}  // namespace

ShareMatrix InterpolateShares(std::span<const uint32_t> from, std::span<const uint32_t> to) {
  ShareMatrix matrix;
  for (const uint32_t target : to) {
    std::vector<uint16_t>& row = matrix.emplace_back();
    for (size_t j = 0; j < from.size(); ++j) {
      uint64_t numerator = 1;
      uint64_t denominator = 1;
      for (size_t i = 0; i < from.size(); ++i) {
        if (i == j) continue;
        numerator = numerator * ((target + kP - from[i]) % kP) % kP;
        denominator = denominator * ((from[j] + kP - from[i]) % kP) % kP;
      }
      row.push_back(static_cast<uint16_t>(numerator * Inverse(denominator) % kP));
    }
  }
  return matrix;
}

bool NextSubset(std::vector<size_t>& subset, size_t n) {
  size_t i = subset.size();
  while (i > 0 && subset[i - 1] == n - subset.size() + i - 1) --i;
  if (i == 0) return false;
  ++subset[i - 1];
  for (; i < subset.size(); ++i) subset[i] = subset[i - 1] + 1;
  return true;
}

}  // namespace tacet::he
