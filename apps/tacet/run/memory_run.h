// Training without a run directory, for experiments of many short runs.
#ifndef TACET_APPS_TACET_RUN_MEMORY_RUN_H_
#define TACET_APPS_TACET_RUN_MEMORY_RUN_H_

#include <vector>

#include "absl/status/statusor.h"

#include "apps/tacet/run/run_config.h"
#include "tacet/agreement/manifest.h"
#include "tacet/data/dataset.h"

namespace tacet::app::run {

struct MemoryRun {
  std::vector<float> model;
  agreement::ManifestSpec agreed;  // with the noise that a target epsilon led to
  double epsilon = 0;              // what the ledger counted; infinite without a guarantee
};

// The federation of `config` on exactly these samples, nothing held out: rounds, noise, sealing and
// decryption are those of `tacet simulate`; ledger and checkpoint live in memory and end with the
// call.
absl::StatusOr<MemoryRun> TrainInMemory(const RunConfig& config, const data::Dataset& dataset);

}  // namespace tacet::app::run

#endif  // TACET_APPS_TACET_RUN_MEMORY_RUN_H_
