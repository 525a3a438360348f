// Model of a run on disk.
#ifndef TACET_RUN_RUN_MODEL_H_
#define TACET_RUN_RUN_MODEL_H_

#include <vector>

#include "absl/status/statusor.h"

#include "tacet/run/run_reader.h"

namespace tacet::run {

// All parameters after the run's last round. NotFound while the run has written none. DataLoss when
// they are not those of the last round, by the digest key that the run keeps. A copy of a run
// without that key cannot tell, nor can one whose site took the last round's state from others. The
// file of a run that continues may be of an earlier round.
absl::StatusOr<std::vector<float>> ModelOf(const RunRecord& run);

}  // namespace tacet::run

#endif  // TACET_RUN_RUN_MODEL_H_
