// Split of a data set into training samples and held-out samples.
#ifndef TACET_DATA_SPLIT_H_
#define TACET_DATA_SPLIT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tacet/accounting/privacy_event.h"
#include "tacet/data/dataset.h"

namespace tacet::data {

// Each client's rows in an order that depends on (seed, client) only; of n rows the last
// round(n * held_out_share) are held out, always leaving one to train on. Unit person: the same of
// its persons with all their rows, so that how many rows a person has decides nothing about others.
class Split {
 public:
  // Unit person where the data set knows the persons.
  Split(const Dataset& dataset, uint64_t seed, double held_out_share, accounting::Unit unit);

  std::span<const uint32_t> training_rows(uint64_t client) const {
    return std::span(training_).subspan(first_[client], first_[client + 1] - first_[client]);
  }
  // For all clients, client after client.
  std::span<const uint32_t> held_out_rows() const { return held_out_; }

 private:
  std::vector<uint32_t> training_;
  std::vector<size_t> first_;  // client o trains on training_[first_[o] .. first_[o + 1])
  std::vector<uint32_t> held_out_;
};

}  // namespace tacet::data

#endif  // TACET_DATA_SPLIT_H_
