#include "tacet/data/split.h"

#include <algorithm>
#include <cmath>

#include "tacet/crypto/seeded_random.h"

namespace tacet::data {

Split::Split(const Dataset& dataset, uint64_t seed, double held_out_share) {
  first_.reserve(dataset.clients() + 1);
  first_.push_back(0);
  training_.reserve(dataset.samples());
  std::vector<uint32_t> rows;
  for (uint64_t client = 0; client < dataset.clients(); ++client) {
    rows.assign(dataset.rows(client).begin(), dataset.rows(client).end());
    if (!rows.empty()) {
      crypto::Random random = crypto::SeededRandom(seed, "split", client);
      crypto::Shuffle(random, rows);
    }
    const auto wanted =
        static_cast<size_t>(std::llround(static_cast<double>(rows.size()) * held_out_share));
    const size_t held_out = rows.empty() ? 0 : std::min(wanted, rows.size() - 1);
    const auto border = rows.end() - static_cast<ptrdiff_t>(held_out);
    training_.insert(training_.end(), rows.begin(), border);
    held_out_.insert(held_out_.end(), border, rows.end());
    first_.push_back(training_.size());
  }
}

}  // namespace tacet::data
