// Training rows of each record or person of each client.
#ifndef TACET_DATA_UNIT_ROWS_H_
#define TACET_DATA_UNIT_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/accounting/privacy_event.h"
#include "tacet/data/dataset.h"
#include "tacet/data/split.h"

namespace tacet::data {

// Unit record: every training row is one. Unit person: a client's training rows of one person, in
// the order of the split; a person at two clients is one unit at each. Unit client: all rows.
class UnitRows {
 public:
  // InvalidArgument for unit person when the data set does not say which person a row is from.
  static absl::StatusOr<UnitRows> Create(const Dataset& dataset, const Split& split,
                                         accounting::Unit unit);

  accounting::Unit unit() const { return unit_; }
  uint64_t units(uint64_t client) const { return first_unit_[client + 1] - first_unit_[client]; }
  // `unit` < units(client).
  std::span<const uint32_t> rows(uint64_t client, uint64_t unit) const {
    const size_t index = first_unit_[client] + unit;
    return std::span(rows_).subspan(first_row_[index], first_row_[index + 1] - first_row_[index]);
  }

 private:
  explicit UnitRows(accounting::Unit unit) : unit_(unit) {}

  accounting::Unit unit_;
  std::vector<size_t> first_unit_ = {0};  // client o has units first_unit_[o] .. first_unit_[o + 1]
  std::vector<size_t> first_row_ = {0};   // unit u has rows_[first_row_[u] .. first_row_[u + 1])
  std::vector<uint32_t> rows_;
};

}  // namespace tacet::data

#endif  // TACET_DATA_UNIT_ROWS_H_
