#include "tacet/data/patients.h"

#include <algorithm>
#include <iterator>

#include "fmt/core.h"

#include "tacet/crypto/random.h"
#include "tacet/crypto/seeded_random.h"
#include "tacet/data/wobble.h"

namespace tacet::data {
namespace {

// A whole number around `mean`.
int Measured(crypto::Random& random, double mean, double deviation, double low, double high) {
  return static_cast<int>(std::clamp(mean + deviation * Wobble(random), low, high) + 0.5);
}

}  // namespace

std::string DrawPatients(const PatientsSpec& spec) {
  crypto::Random random = crypto::SeededRandom(spec.seed, "patients", spec.hospital);
  const double mean_age = 52 + 4 * static_cast<double>(spec.hospital % 4);
  const double unmeasured = 0.05 + 0.1 * static_cast<double>(spec.hospital % 3);
  std::string table = "age,sbp,chol,smoker,ill\n";
  for (uint64_t i = 0; i < spec.patients; ++i) {
    const int age = Measured(random, mean_age, 12, 18, 100);
    const int sbp = Measured(random, 105 + 0.5 * age, 15, 70, 230);
    const int chol = Measured(random, 210, 40, 80, 500);
    const int smoker = crypto::Uniform(random) < 0.3 ? 1 : 0;
    const double score = 0.09 * (age - 58) + 0.05 * (sbp - 134) + 0.02 * (chol - 210) +
                         1.5 * (smoker - 0.3) + 1.5 * Wobble(random);
    const std::string shown = crypto::Uniform(random) < unmeasured ? "" : fmt::format("{}", chol);
    fmt::format_to(std::back_inserter(table), "{},{},{},{},{}\n", age, sbp, shown, smoker,
                   score > 0 ? 1 : 0);
  }
  return table;
}

}  // namespace tacet::data
