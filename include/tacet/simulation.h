// Simulation of a whole federation in one process, whose clients train by functions of the caller.
#ifndef TACET_SIMULATION_H_
#define TACET_SIMULATION_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/federation_options.h"
#include "tacet/run.h"

namespace tacet {

// d is the number of parameters, `initial.size()`; M is `federation.clients`.
struct SimulationOptions {
  FederationOptions federation = {};

  // Parameters before the first round: d >= 1 finite values.
  std::vector<float> initial = {};

  // With unit kPerson or kRecord: number of persons (records) of each client, M values. Else empty.
  std::vector<uint64_t> units = {};

  // Directory of the run. `tacet report` and `tacet audit` read it.
  std::filesystem::path out = {};

  // Continue the run in `out`, if it was begun with the same options and functions.
  //
  // Default: false, `out` is new or empty
  bool resume = false;

  // Factor on the average update in the first round, above 0, and in the last one, which is reached
  // linearly.
  //
  // Default: 1; none: the same as in the first round
  double learning_rate = 1;
  std::optional<double> learning_rate_final = std::nullopt;

  // Share of the former step that is added to the next one, in [0, 1). It costs no privacy.
  //
  // Default: 0
  double momentum = 0;

  // Failed attempts that are permitted in all rounds together. Each attempt is charged, and epsilon
  // covers all that are permitted, needed or not.
  //
  // Default: 0
  uint32_t spare_attempts = 0;

  // Epsilon above 0 at which the run ends early. It covers this run alone: other runs on the same
  // data add their own.
  //
  // Default: none
  std::optional<double> budget_epsilon = std::nullopt;

  // Threads that train and seal, 1 to 1,048,576. With more than one, `train` and `sum_clipped` are
  // called by several threads at a time.
  //
  // Default: 1
  uint32_t threads = 1;

  // Rounds between evaluations, at least 1; the last round is always evaluated.
  //
  // Default: 1
  uint32_t evaluate_every = 1;

  // Name of the data in the run's ledger, printable ASCII, and a text that names the architecture.
  std::string data_name = "simulation";
  std::string architecture = {};
};

// A function that returns an error ends the simulation with this error.
struct SimulationFunctions {
  // Unit kClient: writes the update, new minus old parameters, d finite values. `client` is below
  // M. The update is clipped afterwards.
  std::function<absl::Status(uint32_t round, uint64_t client, std::span<const float> model,
                             std::span<float> update)>
      train = nullptr;

  // Units kPerson and kRecord: writes the sum of the drawn units' updates, each clipped to
  // `clip_norm`, which is the agreed one less 2^-8 of it for rounding: add in binary64. `units` are
  // places below the client's number of units.
  std::function<absl::Status(uint64_t client, std::span<const uint32_t> units, double clip_norm,
                             std::span<const float> model, std::span<float> sum)>
      sum_clipped = nullptr;

  // Quality of a model. Its figures are outside of epsilon: use public data, or keep the run's
  // directory to yourself.
  //
  // Default: none, no figures
  std::function<absl::StatusOr<Evaluation>(std::span<const float> model)> evaluate = nullptr;

  // Told of each round after it was written down.
  //
  // Default: none
  std::function<absl::Status(const RoundFigures& figures)> on_round = nullptr;

  // Asked between rounds; true ends the simulation with Cancelled. `resume` continues it.
  //
  // Default: none, never
  std::function<bool()> stop = nullptr;
};

// Trains for all rounds. Every update is clipped, noised, sealed, added and decrypted as in a live
// federation. Errors: InvalidArgument names the option that is wrong and its range; AlreadyExists
// when `out` is not empty; FailedPrecondition when a round failed in all attempts, or `out` holds a
// run with other options; ResourceExhausted when the budget permits no first attempt; those of the
// functions.
absl::StatusOr<Run> Simulate(const SimulationOptions& options,
                             const SimulationFunctions& functions);

}  // namespace tacet

#endif  // TACET_SIMULATION_H_
