#include "tacet/he/security.h"

#include "tacet/base/status.h"

namespace tacet::he {
namespace {

// Largest log2 Q for 128 bits, uniform ternary secret, sigma_e = 3.19.
struct TableRow {
  uint64_t ring_degree;
  double guidelines_classical;  // Bossuat et al. 2024
  double standard_classical;    // HE Standard 1.1
  double standard_quantum;      // HE Standard 1.1
};
constexpr TableRow kTable[] = {
    {2048, 53, 54, 51},
    {4096, 106, 109, 101},
    {8192, 214, 218, 202},
    {16384, 430, 438, 411},
};
constexpr double kMinErrorStddev = 3.19;

const TableRow* FindRow(uint64_t ring_degree) {
  for (const TableRow& row : kTable) {
    if (row.ring_degree == ring_degree) return &row;
  }
  return nullptr;
}

}  // namespace

absl::Status CheckRlweSecurity(const RlweSpec& spec) {
  const TableRow* const row = FindRow(spec.ring_degree);
  if (row == nullptr) {
    return base::InvalidArgument(
        "ring degree {} is not one of 2048, 4096, 8192, 16384, for which the tables (Bossuat et "
        "al. 2024, HE Standard 1.1) give a security level",
        spec.ring_degree);
  }
  if (spec.secret == SecretDistribution::kSparseTernary) {
    return base::InvalidArgument(
        "the secret distribution is sparse ternary; the tables are for uniform ternary secrets and "
        "for secrets with the error's law");
  }
  if (!(spec.error_stddev >= kMinErrorStddev)) {
    return base::InvalidArgument(
        "the error's standard deviation {} is below {}, which the tables assume", spec.error_stddev,
        kMinErrorStddev);
  }
  if (!(spec.log2_modulus <= row->guidelines_classical)) {
    return base::InvalidArgument(
        "log2 Q = {:.4f} is above {}, the limit for 128 bits against classical attacks at ring "
        "degree {} (Bossuat et al. 2024; HE Standard 1.1 allows {})",
        spec.log2_modulus, row->guidelines_classical, spec.ring_degree, row->standard_classical);
  }
  if (!(spec.log2_modulus <= row->standard_quantum)) {
    return base::InvalidArgument(
        "log2 Q = {:.4f} is above {}, the limit for 128 bits against quantum attacks at ring "
        "degree {} (HE Standard 1.1)",
        spec.log2_modulus, row->standard_quantum, spec.ring_degree);
  }
  return absl::OkStatus();
}

}  // namespace tacet::he
