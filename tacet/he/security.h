// Security check of ring-LWE parameters: refuses less than 128 bits, by published tables.
#ifndef TACET_HE_SECURITY_H_
#define TACET_HE_SECURITY_H_

#include <cstdint>

#include "absl/status/status.h"

namespace tacet::he {

// kErrorLaw: coefficients are drawn like those of the error.
enum class SecretDistribution : uint8_t { kTernary, kErrorLaw, kSparseTernary };

struct RlweSpec {
  uint64_t ring_degree = 0;  // N
  double log2_modulus = 0;   // log2 Q
  double error_stddev = 0;   // sigma_e
  SecretDistribution secret = SecretDistribution::kTernary;
};

// OK when (N, log2 Q) has at least 128 bits against classical and quantum attacks for sigma_e >=
// 3.19 and uniform ternary secrets, by the stricter of
//   Bossuat et al., Security Guidelines for Implementing Homomorphic Encryption, 2024 (table 5.2),
//   Albrecht et al., Homomorphic Encryption Standard 1.1, 2018 (tables 1 and 2).
// Secrets with the error's law are held to the limits of ternary ones. Their own are wider: at N =
// 4096 the standard allows 111 bits (classical) and 103 (quantum), 109 and 101 for ternary ones.
// InvalidArgument otherwise, with one reason: degree not in the tables, another secret
// distribution, error too small, or modulus too large for the degree.
absl::Status CheckRlweSecurity(const RlweSpec& spec);

}  // namespace tacet::he

#endif  // TACET_HE_SECURITY_H_
