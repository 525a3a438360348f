// Refuses ring-LWE parameters below 128 bits of security, by published tables.
#ifndef TACET_HE_SECURITY_H_
#define TACET_HE_SECURITY_H_

#include <cstdint>

#include "absl/status/status.h"

namespace tacet::he {

enum class SecretDistribution : uint8_t { kTernary, kSparseTernary, kGaussian };

struct RlweSpec {
  uint64_t ring_degree = 0;  // N
  double log2_modulus = 0;   // log2 Q
  double error_stddev = 0;   // sigma_e
  SecretDistribution secret = SecretDistribution::kTernary;
};

// OK when (N, log2 Q) has at least 128 bits against classical and quantum attacks for uniform
// ternary secrets and sigma_e >= 3.19, by the stricter of
//   Bossuat et al., Security Guidelines for Implementing Homomorphic Encryption, 2024 (table 5.2),
//   Albrecht et al., Homomorphic Encryption Standard 1.1, 2018 (tables 1 and 2).
// InvalidArgument otherwise, with one reason: degree not in the tables, another secret
// distribution, error too small, or modulus too large for the degree.
absl::Status CheckRlweSecurity(const RlweSpec& spec);

}  // namespace tacet::he

#endif  // TACET_HE_SECURITY_H_
