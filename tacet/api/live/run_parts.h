// Conversion of a run's records to the public interface.
#ifndef TACET_API_LIVE_RUN_PARTS_H_
#define TACET_API_LIVE_RUN_PARTS_H_

#include <cmath>
#include <optional>
#include <vector>

#include "tacet/run.h"
#include "tacet/run/run_reader.h"
#include "tacet/simulation/simulation.h"
#include "tacet/statistics/estimate.h"

namespace tacet::api {

struct RunParts {
  run::RunRecord record;
  std::vector<RoundFigures> rounds;
};

// Epsilon; absent where it is infinite, since nothing is guaranteed then.
inline std::optional<double> Bound(double epsilon) {
  return std::isfinite(epsilon) ? std::optional(epsilon) : std::nullopt;
}

RoundFigures FiguresOf(const simulation::RoundRecord& record);
Answer PublicAnswer(const statistics::Answer& answer);

}  // namespace tacet::api

#endif  // TACET_API_LIVE_RUN_PARTS_H_
