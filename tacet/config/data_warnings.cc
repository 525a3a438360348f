#include "tacet/config/data_warnings.h"

#include <algorithm>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "tacet/data/split.h"

namespace tacet::config {
namespace {

constexpr size_t kMaxNamedClasses = 10;

std::string EmptyClasses(const RunConfig& config, const data::Dataset& dataset) {
  std::vector<std::string> names;
  const std::vector<uint64_t> counts = ClassCounts(dataset);
  for (uint64_t label = 0; label < counts.size(); ++label) {
    if (counts[label] == 0) names.push_back(ClassText(config, label));
  }
  if (names.empty()) return "";
  const size_t count = names.size();
  if (count > kMaxNamedClasses) names.resize(kMaxNamedClasses);
  return fmt::format(
      "{} of {} classes {} no row here: {}{}; check the labels, or the agreed list of classes",
      count, counts.size(), count == 1 ? "has" : "have", fmt::join(names, ", "),
      count > kMaxNamedClasses ? ", ..." : "");
}

}  // namespace

std::vector<uint64_t> ClassCounts(const data::Dataset& dataset) {
  std::vector<uint64_t> counts(dataset.classes());
  for (uint64_t row = 0; row < dataset.samples(); ++row) {
    if (dataset.is_readable(row)) ++counts[dataset.label(row)];
  }
  return counts;
}

std::string ClassText(const RunConfig& config, uint64_t label) {
  return label < config.data.csv_labels.size()
             ? fmt::format("class {} (\"{}\")", label, config.data.csv_labels[label])
             : fmt::format("class {}", label);
}

uint64_t HeldOutRows(const RunConfig& config, const data::Dataset& dataset) {
  const data::Split split(dataset, config.run.seed, config.data.held_out,
                          config.agreement.privacy.unit);
  return static_cast<uint64_t>(std::ranges::count_if(
      split.held_out_rows(), [&](uint32_t row) { return dataset.is_readable(row); }));
}

std::vector<std::string> DataWarnings(const RunConfig& config, const data::Dataset& dataset) {
  std::vector<std::string> warnings;
  if (std::string classes = EmptyClasses(config, dataset); !classes.empty()) {
    warnings.push_back(std::move(classes));
  }
  if (HeldOutRows(config, dataset) == 0) {
    warnings.push_back(
        config.data.held_out == 0
            ? "nothing is held out, so no accuracy can be measured: `data.held_out` is 0; set it, "
              "for example to 0.2"
            : fmt::format("nothing is held out, so no accuracy can be measured: no client has "
                          "enough rows for `data.held_out` = {}; raise it",
                          config.data.held_out));
  }
  return warnings;
}

}  // namespace tacet::config
