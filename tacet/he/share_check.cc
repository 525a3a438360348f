#include "tacet/he/share_check.h"

#include <algorithm>
#include <numeric>

#include "tacet/crypto/random.h"
#include "tacet/he/share_field.h"

namespace tacet::he {
namespace {

// R_j at the points of all seats that gave combinations, of one client.
using Values = std::vector<ShareCombination>;

// Whether the values without those in `left_out` (increasing) are of polynomials of degree below t.
class Fit {
 public:
  Fit(std::span<const SeatCombinations> seats, std::span<const size_t> left_out, size_t threshold) {
    std::vector<uint32_t> from;
    std::vector<uint32_t> to;
    for (size_t a = 0; a < seats.size(); ++a) {
      if (std::ranges::binary_search(left_out, a)) continue;
      const bool is_known = known_.size() < threshold;
      (is_known ? known_ : checked_).push_back(a);
      (is_known ? from : to).push_back(SeatPoint(seats[a].seat));
    }
    matrix_ = InterpolateShares(from, to);
  }

  bool Fits(const Values& values) const {
    for (size_t r = 0; r < checked_.size(); ++r) {
      for (size_t j = 0; j < kCheckWords; ++j) {
        uint64_t sum = 0;
        for (size_t i = 0; i < known_.size(); ++i) {
          sum += uint64_t{matrix_[r][i]} * values[known_[i]][j];
        }
        if (ReduceShare(sum) != values[checked_[r]][j]) return false;
      }
    }
    return true;
  }

 private:
  std::vector<size_t> known_;
  std::vector<size_t> checked_;
  ShareMatrix matrix_;
};

}  // namespace

ShareCheck::ShareCheck(const KeySharing& sharing, const crypto::Digest& seed)
    : key_words_(sharing.key_words()) {
  crypto::AesCtrStream stream(seed, std::array<uint8_t, 16>{});
  const size_t count = kCheckWords * key_words_;
  std::array<uint8_t, 4096> bytes;
  while (factors_.size() < count) {
    stream.Fill(bytes);
    for (size_t i = 0; i < bytes.size() / 2 && factors_.size() < count; ++i) {
      const uint16_t word = LoadShareWord(bytes, i);
      if (word < kSharePrime) factors_.push_back(word);
    }
  }
}

ShareCombination ShareCheck::Combine(std::span<const uint16_t> words) const {
  ShareCombination combination;
  for (size_t j = 0; j < kCheckWords; ++j) {
    const uint16_t* const factors = factors_.data() + j * key_words_;
    uint64_t sum = words[key_words_ + j];  // below 2^45
    for (size_t b = 0; b < key_words_; ++b) sum += uint64_t{factors[b]} * words[b];
    combination[j] = static_cast<uint16_t>(ReduceShare(sum));
  }
  return combination;
}

WrongShares FindWrongShares(const KeySharing& sharing, const ShareCheck& check,
                            std::span<const SeatCombinations> seats,
                            std::span<const std::span<const uint8_t>> shares) {
  const size_t threshold = sharing.threshold();
  const size_t liars = sharing.shape().corrupt;
  if (seats.size() <= threshold) return {};
  const Fit all(seats, {}, threshold);
  std::vector<size_t> wrong;  // clients that do not fit with all seats
  std::vector<Values> values;
  std::vector<uint16_t> words(sharing.mask_words());
  for (size_t client = 0; client < shares.size(); ++client) {
    Values of_client;
    for (const SeatCombinations& seat : seats) {
      ShareCombination value{};
      if (seat.seat >= sharing.shape().corrupt) {
        const size_t first = (seat.seat - sharing.shape().corrupt) * words.size();
        for (size_t b = 0; b < words.size(); ++b) {
          words[b] = LoadShareWord(shares[client], first + b);
        }
        value = check.Combine(words);
      }
      for (size_t j = 0; j < kCheckWords; ++j) {
        value[j] = static_cast<uint16_t>(
            ReduceShare(uint32_t{value[j]} + kSharePrime - seat.of_masks[client][j]));
      }
      of_client.push_back(value);
    }
    if (all.Fits(of_client)) continue;
    wrong.push_back(client);
    values.push_back(std::move(of_client));
  }
  // Calls visit for each set of `size` seats until it returns false.
  const auto each_set = [&](size_t size, const auto& visit) {
    std::vector<size_t> left_out(size);
    std::iota(left_out.begin(), left_out.end(), 0);
    do {
      if (!visit(Fit(seats, left_out, threshold))) return;
    } while (NextSubset(left_out, seats.size()));
  };
  WrongShares found{.named = {}, .disputed = wrong};
  const size_t correctable = std::min(liars, (seats.size() - threshold) / 2);
  for (size_t size = 1; size <= correctable; ++size) {
    each_set(size, [&](const Fit& others) {
      std::vector<size_t> still;
      for (size_t i = 0; i < wrong.size() && still.size() < found.disputed.size(); ++i) {
        if (!others.Fits(values[i])) still.push_back(wrong[i]);
      }
      if (still.size() < found.disputed.size()) found.disputed = std::move(still);
      return !found.disputed.empty();
    });
  }
  if (seats.size() <= liars + threshold) return found;
  // A client that fits without some seats fits without more of them.
  std::vector<size_t> unexplained(wrong.size());
  std::iota(unexplained.begin(), unexplained.end(), 0);
  each_set(liars, [&](const Fit& others) {
    std::erase_if(unexplained, [&](size_t i) { return others.Fits(values[i]); });
    return !unexplained.empty();
  });
  for (const size_t i : unexplained) found.named.push_back(wrong[i]);
  return found;
}

}  // namespace tacet::he
