#include <array>
#include <optional>
#include <string_view>

#include "lab/reproduce/reproduce_rows.h"
#include "tacet/base/status.h"

namespace tacet::app::reproduce {
namespace {

constexpr std::string_view kPretrain = "pretrain";
constexpr std::string_view kRandomStart = "random-start";

constexpr std::array<Row, 11> kPublicStartRows = {{
    {kPretrain, "the public start: drawn characters, no person's data", std::nullopt},
    {"epsilon-1", "from the public start, 12 rounds at 8 S: epsilon 1 against everybody",
     std::nullopt},
    {"t20", "from the public start, 20 rounds at 6.6 S: private", std::nullopt},
    {"t40", "from the public start, 40 rounds at 6.6 S: private", std::nullopt},
    {"t100", "from the public start, 100 rounds at 6.6 S: private", std::nullopt},
    {"t100-tight", "the same at 5.59 S, epsilon 5.306 by the tight accountant: private",
     std::nullopt},
    // t20 without one of its ingredients.
    {"short-start", "t20 from a start of 400 rounds: private", std::nullopt, "t20"},
    {"strokes-only", "t20 from a start drawn without fonts: private", std::nullopt, "t20"},
    {"all-layers", "t20 with all layers trained: private", std::nullopt},
    {"table1-rates", "t20 with clip norm and server rate of table 1: private", std::nullopt},
    {kRandomStart, "20 rounds at 6.6 S from random parameters: private", std::nullopt},
}};

}  // namespace

absl::StatusOr<Reproduced> ReproducePublicStart(const ReproduceFlags& flags) {
  if (!flags.row.has_value() && !flags.show) {
    return base::InvalidArgument(
        "public-start trains one row: --row pretrain on drawn characters, then another one with "
        "--start naming the model.f32 of the first (docs/experiments/public-start)");
  }
  if (flags.row.has_value() && !flags.show) {
    const bool begins_at_random = *flags.row == kPretrain || *flags.row == kRandomStart;
    if (!begins_at_random && !flags.experiment.start.has_value()) {
      return base::InvalidArgument(
          "row {} begins with the public start: --start names the model.f32 that --row pretrain "
          "made",
          *flags.row);
    }
    if (begins_at_random && flags.experiment.start.has_value()) {
      return base::InvalidArgument("row {} begins with random parameters: leave --start out",
                                   *flags.row);
    }
  }
  return ReproduceRows({.name = "public-start",
                        .id = "public-start",
                        .subject = "public-start",
                        .rows = kPublicStartRows},
                       flags);
}

}  // namespace tacet::app::reproduce
