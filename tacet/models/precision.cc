// Names of the number formats, apart from the networks so that a reader of settings needs none.
#include "tacet/base/status.h"
#include "tacet/models/network.h"

namespace tacet::models {

absl::StatusOr<Precision> ParsePrecision(std::string_view name) {
  for (const Precision precision : {Precision::kAuto, Precision::kF32, Precision::kBf16}) {
    if (name == PrecisionName(precision)) return precision;
  }
  return base::InvalidArgument("precision is \"{}\"; it must be auto, f32 or bf16", name);
}

std::string_view PrecisionName(Precision precision) {
  switch (precision) {
    case Precision::kAuto:
      return "auto";
    case Precision::kF32:
      return "f32";
    case Precision::kBf16:
      return "bf16";
  }
  return "unknown";
}

}  // namespace tacet::models
