#include "tacet/he/key_candidates.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "tacet/base/status.h"
#include "tacet/he/share_field.h"
#include "tacet/ring/ntt.h"

namespace tacet::he {
namespace {

constexpr size_t kN = ring::kCompactDegree;
constexpr uint64_t kP = kSharePrime;
// Words of a wrong answer that are looked at before it is given up.
constexpr size_t kCheckedAtOnce = 64;

void Require(bool ok) {
  if (!ok) std::abort();
}

// Answers were read as words below p: this branch is never taken. A function of its own, for its
// name in constant_time.supp of he and secagg.
[[gnu::noinline]] void RequireWordsBelowP(std::span<const uint16_t> words) {
  Require(AllBelowSharePrime(words));
}

// Whether there are at most kMostKeyTrials sets of k elements out of n.
bool FewSubsets(size_t n, size_t k) {
  size_t sets = 1;
  for (size_t i = 1; i <= k; ++i) {
    sets = sets * (n - k + i) / i;
    if (sets > kMostKeyTrials) return false;
  }
  return true;
}

// sum[b] = the value at one more point of the polynomials with the values `known`, for the words
// from `first` to before `end`.
void Evaluate(const std::vector<uint16_t>& row, const std::vector<const uint32_t*>& known,
              size_t first, size_t end, std::span<uint64_t> sum) {
  std::fill(sum.begin() + first, sum.begin() + end, 0);
  for (size_t j = 0; j < known.size(); ++j) {
    const uint64_t factor = row[j];
    const uint32_t* const value = known[j];
    for (size_t b = first; b < end; ++b) sum[b] += factor * value[b];
  }
  for (size_t b = first; b < end; ++b) sum[b] = ReduceShare(sum[b]);
}

}  // namespace

absl::StatusOr<KeyCandidates> KeyCandidates::Create(const KeySharing& sharing,
                                                    std::span<const uint8_t> share_sums,
                                                    std::span<const KeySharing::Answer> answers) {
  Require(share_sums.size() == sharing.share_bytes());
  if (const auto bad = KeySharing::FindNonCanonical(share_sums); bad.has_value()) {
    return base::DataLoss(
        "aggregated ciphertext: field `shares` is not canonical: word {} is not below {}", *bad,
        kSharePrime);
  }
  const CommitteeShape& shape = sharing.shape();
  if (answers.size() < sharing.threshold()) {
    return base::Unavailable("{} of {} committee members have answered, {} are needed",
                             answers.size(), shape.seats, sharing.threshold());
  }
  KeyCandidates candidates;
  candidates.threshold_ = sharing.threshold();
  candidates.packing_ = shape.packing;
  candidates.key_words_ = sharing.key_words();
  const size_t more = answers.size() - sharing.threshold();
  candidates.most_left_out_ = more > 0 && !FewSubsets(answers.size(), more) ? more - 1 : more;
  // values[a][b] = P_b at the point of answer a, where P_b is the sum of all clients' polynomials.
  const size_t words = sharing.key_words();
  for (const KeySharing::Answer& answer : answers) {
    Require(answer.seat < shape.seats && answer.mask_sums.size() == sharing.mask_words());
    RequireWordsBelowP(answer.mask_sums);
    candidates.seats_.push_back(answer.seat);
    const std::span<uint32_t> value = candidates.values_.emplace_back(words).Expose();
    const bool is_sent = answer.seat >= shape.corrupt;
    const size_t first = is_sent ? (answer.seat - shape.corrupt) * sharing.mask_words() : 0;
    for (size_t b = 0; b < words; ++b) {
      const uint32_t share = is_sent ? LoadShareWord(share_sums, first + b) : 0;
      value[b] = ReduceShare(share + kP - answer.mask_sums[b]);
    }
  }
  return candidates;
}

std::optional<KeySharing::Recovery> KeyCandidates::Next(size_t left_out) {
  while (Advance(std::min(left_out, most_left_out_))) {
    if (IsKnown()) continue;
    bool is_codeword = false;
    std::optional<KeySharing::Recovery> recovery = Try(is_codeword);
    if (is_codeword) known_.push_back(left_out_);
    if (recovery.has_value()) return recovery;
  }
  return std::nullopt;
}

bool KeyCandidates::Advance(size_t left_out) {
  if (!begun_) {
    begun_ = true;
    return true;
  }
  std::vector<size_t> next = left_out_;
  if (!NextSubset(next, seats_.size())) {
    if (left_out_.size() >= left_out) return false;
    next.resize(left_out_.size() + 1);
    std::iota(next.begin(), next.end(), 0);
  }
  left_out_ = std::move(next);
  return true;
}

bool KeyCandidates::IsKnown() const {
  return std::ranges::any_of(known_, [this](const std::vector<size_t>& wrong) {
    return std::ranges::includes(left_out_, wrong);
  });
}

std::optional<KeySharing::Recovery> KeyCandidates::Try(bool& is_codeword) {
  std::vector<const uint32_t*> known;  // of the first t answers that are not left out
  std::vector<const uint32_t*> checked;
  std::vector<uint32_t> from;
  std::vector<uint32_t> to;
  for (size_t a = 0; a < seats_.size(); ++a) {
    if (std::ranges::binary_search(left_out_, a)) continue;
    const bool is_known = known.size() < threshold_;
    (is_known ? known : checked).push_back(values_[a].Expose().data());
    (is_known ? from : to).push_back(SeatPoint(seats_[a]));
  }
  crypto::SecretVector<uint64_t> sums(key_words_);
  const std::span<uint64_t> sum = sums.Expose();
  const ShareMatrix check = InterpolateShares(from, to);
  for (size_t first = 0; first < key_words_; first += kCheckedAtOnce) {
    const size_t end = std::min(key_words_, first + kCheckedAtOnce);
    for (size_t r = 0; r < check.size(); ++r) {
      Evaluate(check[r], known, first, end, sum);
      uint64_t difference = 0;
      for (size_t b = first; b < end; ++b) difference |= sum[b] ^ checked[r][b];
      if (difference != 0) return std::nullopt;
    }
  }
  is_codeword = true;
  KeySharing::Recovery recovery{.key_sum = crypto::SecretVector<int32_t>(kN), .wrong_seats = {}};
  for (const size_t a : left_out_) recovery.wrong_seats.push_back(seats_[a]);
  std::ranges::sort(recovery.wrong_seats);
  std::vector<uint32_t> secret_points;
  for (uint32_t s = 0; s < packing_; ++s) secret_points.push_back(SecretPoint(s));
  const ShareMatrix secrets = InterpolateShares(from, secret_points);
  uint32_t behind = 0;  // secrets that are 0 in the right codeword
  for (size_t s = 0; s < packing_; ++s) {
    Evaluate(secrets[s], known, 0, key_words_, sum);
    const size_t first = std::min(s * key_words_, kN);
    const std::span<int32_t> key_sum = recovery.key_sum.Expose().subspan(first);
    for (size_t b = 0; b < std::min(key_words_, key_sum.size()); ++b) {
      constexpr auto kHalf = static_cast<int32_t>(kP / 2);
      // Centred without a branch: values above p/2 lose p.
      const auto value = static_cast<int32_t>(sum[b]);
      key_sum[b] = value - (static_cast<int32_t>(kP) & ((kHalf - value) >> 31));
    }
    for (size_t b = key_sum.size(); b < key_words_; ++b) behind |= static_cast<uint32_t>(sum[b]);
  }
  if (behind != 0) return std::nullopt;
  return recovery;
}

}  // namespace tacet::he
