// A training that leaves nothing behind: for experiments of many short runs.
#ifndef TACET_APPS_TACET_RUN_MEMORY_RUN_H_
#define TACET_APPS_TACET_RUN_MEMORY_RUN_H_

#include <vector>

#include "absl/status/statusor.h"

#include "apps/tacet/run/run_config.h"
#include "tacet/federation/manifest.h"
#include "tacet/learning/dataset.h"

namespace tacet::app {

struct MemoryRun {
  std::vector<float> model;
  federation::ManifestSpec agreed;  // with the noise that a target epsilon led to
  double epsilon = 0;               // what the ledger counted; infinite without a guarantee
};

// The federation of `config` on exactly these samples, nothing held out: rounds, noise, sealing and
// opening are those of `tacet simulate`; ledger and checkpoint live in memory and end with the
// call.
absl::StatusOr<MemoryRun> TrainInMemory(const RunConfig& config, const learning::Dataset& dataset);

}  // namespace tacet::app

#endif  // TACET_APPS_TACET_RUN_MEMORY_RUN_H_
