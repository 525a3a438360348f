#include <array>
#include <optional>

#include "lab/reproduce/reproduce_rows.h"

namespace tacet::app::reproduce {
namespace {

// In the paper's order, then what it reports in its text, then what it has not.
constexpr std::array<Row, 12> kTable1Rows = {{
    {"baseline", "no privacy: 200 rounds, few clients, weighted by samples", 0.846},
    {"rounds", "100 rounds", 0.8358},
    {"cohort", "all 3596 clients, 1000 a round", 0.8104},
    {"equal-weights", "the same coefficient for everybody", 0.8021},
    {"clipping", "updates clipped to S", 0.7926},
    {"quantisation", "Poisson quantisation", 0.7903},
    {"modulo", "encrypted, 26 bits a sum", 0.7907},
    {"noise", "Gaussian noise of 6 S in the sum: private", 0.7684},
    {"noise-plain", "the same noise without quantisation and modulo", 0.7684},
    {"noise-normalised", "noise, and layer norms without parameters", std::nullopt},
    {"noise-best-bound", "the noise that costs 5.31 by the best valid bound, 5.312 S",
     std::nullopt},
    {"noise-poisson", "Poisson cohorts of public size, 4.696 S", std::nullopt},
}};

}  // namespace

absl::StatusOr<Reproduced> ReproduceTable1(const ReproduceFlags& flags) {
  return ReproduceRows({.name = "table1", .id = "1", .subject = "table 1", .rows = kTable1Rows},
                       flags);
}

}  // namespace tacet::app::reproduce
