#include "tacet/data/split.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "tacet/crypto/seeded_random.h"

namespace tacet::data {

namespace {

// A client's rows, those of one unit together, in the order of the units' first rows.
std::vector<std::vector<uint32_t>> UnitsOf(const Dataset& dataset, uint64_t client,
                                           bool by_person) {
  std::vector<std::vector<uint32_t>> units;
  std::unordered_map<uint32_t, size_t> place_of;
  for (const uint32_t row : dataset.rows(client)) {
    const size_t place = by_person
                             ? place_of.try_emplace(dataset.person(row), units.size()).first->second
                             : units.size();
    if (place == units.size()) units.emplace_back();
    units[place].push_back(row);
  }
  return units;
}

}  // namespace

Split::Split(const Dataset& dataset, uint64_t seed, double held_out_share, accounting::Unit unit) {
  first_.reserve(dataset.clients() + 1);
  first_.push_back(0);
  training_.reserve(dataset.samples());
  for (uint64_t client = 0; client < dataset.clients(); ++client) {
    const std::vector<std::vector<uint32_t>> units =
        UnitsOf(dataset, client, unit == accounting::Unit::kPerson && dataset.has_persons());
    std::vector<uint32_t> order(units.size());
    std::iota(order.begin(), order.end(), 0U);
    if (!units.empty()) {
      crypto::Random random = crypto::SeededRandom(seed, "split", client);
      crypto::Shuffle(random, order);
    }
    const auto wanted =
        static_cast<size_t>(std::llround(static_cast<double>(units.size()) * held_out_share));
    const size_t held_out = units.empty() ? 0 : std::min(wanted, units.size() - 1);
    for (size_t i = 0; i < units.size(); ++i) {
      const std::vector<uint32_t>& rows = units[order[i]];
      std::vector<uint32_t>& part = i + held_out < units.size() ? training_ : held_out_;
      part.insert(part.end(), rows.begin(), rows.end());
    }
    first_.push_back(training_.size());
  }
}

}  // namespace tacet::data
