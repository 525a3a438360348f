#include "tacet/data/unit_rows.h"

#include <algorithm>

#include "tacet/base/status.h"

namespace tacet::data {

absl::StatusOr<UnitRows> UnitRows::Create(const Dataset& dataset, const Split& split,
                                          accounting::Unit unit) {
  if (unit == accounting::Unit::kPerson && !dataset.has_persons()) {
    return base::InvalidArgument(
        "{}: unit person needs to know which person each sample is from (a person column, or "
        "clients "
        "spread over sites)",
        dataset.name());
  }
  UnitRows units(unit);
  for (uint64_t client = 0; client < dataset.clients(); ++client) {
    const std::span<const uint32_t> rows = split.training_rows(client);
    const size_t first = units.rows_.size();
    units.rows_.insert(units.rows_.end(), rows.begin(), rows.end());
    const auto own = units.rows_.begin() + static_cast<ptrdiff_t>(first);
    if (unit == accounting::Unit::kPerson) {
      std::stable_sort(own, units.rows_.end(), [&](uint32_t a, uint32_t b) {
        return dataset.person(a) < dataset.person(b);
      });
    }
    for (size_t i = first; i < units.rows_.size(); ++i) {
      const bool last = i + 1 == units.rows_.size();
      const bool ends = last || unit == accounting::Unit::kRecord ||
                        (unit == accounting::Unit::kPerson &&
                         dataset.person(units.rows_[i]) != dataset.person(units.rows_[i + 1]));
      if (ends) units.first_row_.push_back(i + 1);
    }
    units.first_unit_.push_back(units.first_row_.size() - 1);
  }
  return units;
}

}  // namespace tacet::data
