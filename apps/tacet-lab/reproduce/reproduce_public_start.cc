#include <array>
#include <optional>

#include "apps/tacet-lab/reproduce/reproduce_rows.h"
#include "tacet/base/status.h"

namespace tacet::app::reproduce {
namespace {

constexpr std::array<Row, 4> kPublicStartRows = {{
    {"pretrain", "the public start: drawn characters, no person's data", std::nullopt},
    {"t20", "from the public start, 20 rounds at 6.6 S: private", std::nullopt},
    {"t40", "from the public start, 40 rounds at 6.6 S: private", std::nullopt},
    {"t100", "from the public start, 100 rounds at 6.6 S: private", std::nullopt},
}};

}  // namespace

absl::StatusOr<Reproduced> ReproducePublicStart(const ReproduceFlags& flags) {
  if (!flags.row.has_value() && !flags.show) {
    return base::InvalidArgument(
        "public-start trains one row: --row pretrain on drawn characters, then --row t20, t40 or "
        "t100 with --start naming the model.f32 of the first (docs/experiments/public-start)");
  }
  if (flags.row.has_value() && *flags.row != "pretrain" && !flags.show &&
      !flags.experiment.start.has_value()) {
    return base::InvalidArgument(
        "row {} begins with the public start: --start names the model.f32 that --row pretrain made",
        *flags.row);
  }
  return ReproduceRows({.name = "public-start",
                        .id = "public-start",
                        .subject = "public-start",
                        .rows = kPublicStartRows},
                       flags);
}

}  // namespace tacet::app::reproduce
