// The paper's experiments (Grivet Sebert et al., section 5), one function each.
#ifndef TACET_LAB_REPRODUCE_REPRODUCE_H_
#define TACET_LAB_REPRODUCE_REPRODUCE_H_

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "lab/reproduce/experiment.h"
#include "tacet/base/json.h"

namespace tacet::app::reproduce {

// Flags of `tacet-lab reproduce`; each experiment uses those that mean something to it.
struct ReproduceFlags {
  ExperimentFlags experiment;
  std::optional<std::string> row;      // of a table of rows; none: all
  std::optional<std::string> out;      // none: runs/NAME
  std::optional<std::string> configs;  // folder of configurations; none: FindShareFolder
  bool show = false;                   // stored records instead of new ones
  // As in table 2.
  uint64_t dimension = 486'654;
  uint64_t participants = 1000;
  uint64_t repetitions = 9;
  std::FILE* progress = stdout;
};

// Result of an experiment: JSON for machines, text for people; its files are written already.
struct Reproduced {
  base::JsonValue json;
  std::string text;
};

// Rows that are trained are kept in a folder each, so the same command continues after a kill.
absl::StatusOr<Reproduced> ReproduceTable1(const ReproduceFlags& flags);
// The start on drawn characters, and private rows from it.
absl::StatusOr<Reproduced> ReproducePublicStart(const ReproduceFlags& flags);
absl::StatusOr<Reproduced> ReproduceFigure2(const ReproduceFlags& flags);
// Measured again each time, on one core.
absl::StatusOr<Reproduced> ReproduceTable2(const ReproduceFlags& flags);
// Calculations and short runs.
absl::StatusOr<Reproduced> ReproduceRemarks(const ReproduceFlags& flags);

// runs/NAME or what --out says; with --show docs/experiments/NAME or what --out says.
absl::StatusOr<std::filesystem::path> FolderOf(const ReproduceFlags& flags,
                                               const std::string& name);
// The folder of configurations: --configs, or `relative` among the shared files.
absl::StatusOr<std::filesystem::path> ConfigFolder(const ReproduceFlags& flags,
                                                   const std::string& relative);

}  // namespace tacet::app::reproduce

#endif  // TACET_LAB_REPRODUCE_REPRODUCE_H_
