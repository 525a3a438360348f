#include "tacet/he/key_sharing.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <numbers>
#include <numeric>
#include <system_error>

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/ring/ntt.h"
#include "tacet/ring/sampling.h"

namespace tacet::he {
namespace {

constexpr size_t kN = ring::kCompactDegree;
constexpr uint64_t kP = kSharePrime;

void Require(bool ok) {
  if (!ok) std::abort();
}

// Answers were read as words below p: this branch is never taken. A function of its own, for its
// name in constant_time.supp of he and secagg.
[[gnu::noinline]] void RequireWordsBelowP(std::span<const uint16_t> words) {
  for (const uint16_t word : words) Require(word < kP);
}

// x^-1 mod p = x^(p - 2), x public.
uint64_t Inverse(uint64_t x) {
  uint64_t result = 1;
  for (uint64_t e = kP - 2; e > 0; e >>= 1) {
    if ((e & 1) != 0) result = result * x % kP;
    x = x * x % kP;
  }
  return result;
}

uint16_t LoadWord(std::span<const uint8_t> bytes, size_t index) {
  return static_cast<uint16_t>(bytes[2 * index] | bytes[2 * index + 1] << 8);
}

void StoreWord(uint64_t word, size_t index, std::span<uint8_t> bytes) {
  bytes[2 * index] = static_cast<uint8_t>(word);
  bytes[2 * index + 1] = static_cast<uint8_t>(word >> 8);
}

// Point at which seat c holds the value of a polynomial.
constexpr uint32_t SeatPoint(uint32_t seat) { return seat + 1; }

// The next subset of {0, ..., n - 1} with as many elements, in lexicographic order.
bool NextSubset(std::vector<size_t>& subset, size_t n) {
  size_t i = subset.size();
  while (i > 0 && subset[i - 1] == n - subset.size() + i - 1) --i;
  if (i == 0) return false;
  ++subset[i - 1];
  for (; i < subset.size(); ++i) subset[i] = subset[i - 1] + 1;
  return true;
}

}  // namespace

absl::StatusOr<CommitteeShape> ParseCommittee(std::string_view text) {
  CommitteeShape shape;
  const char* const end = text.data() + text.size();
  const auto seats = std::from_chars(text.data(), end, shape.seats);
  if (seats.ec == std::errc() && seats.ptr != end && *seats.ptr == ',') {
    const auto corrupt = std::from_chars(seats.ptr + 1, end, shape.corrupt);
    if (corrupt.ec == std::errc() && corrupt.ptr == end) return shape;
  }
  return base::InvalidArgument(
      "a committee is written as seats,corrupt seats, for example 7,2; found \"{}\"", text);
}

absl::StatusOr<KeySharing> KeySharing::Create(const CommitteeShape& shape) {
  if (shape.seats < 1 || shape.seats > kMaxSeats) {
    return base::InvalidArgument("the committee has {} seats, it must have 1 to {}", shape.seats,
                                 kMaxSeats);
  }
  if (shape.corrupt >= shape.seats) {
    return base::InvalidArgument(
        "a committee of {} seats cannot tolerate {} corrupt ones, at most {}", shape.seats,
        shape.corrupt, shape.seats - 1);
  }
  const uint32_t votes = (shape.seats + shape.corrupt) / 2 + 1;
  const uint32_t most = votes - shape.corrupt;
  if (shape.packing > 1 && shape.packing != most) {
    return base::InvalidArgument(
        "the committee's packing is {}, with {} seats of which {} may be corrupt it must be {} "
        "or 1",
        shape.packing, shape.seats, shape.corrupt, most);
  }
  CommitteeShape checked = shape;
  if (checked.packing == 0) checked.packing = most;
  return KeySharing(checked, votes);
}

KeySharing::KeySharing(const CommitteeShape& shape, uint32_t votes)
    : shape_(shape), votes_(votes), blocks_(2 * ((kN / 2 + shape.packing - 1) / shape.packing)) {
  std::vector<uint32_t> from = SecretPoints();
  for (uint32_t c = 0; c < shape_.corrupt; ++c) from.push_back(SeatPoint(c));
  std::vector<uint32_t> to;
  for (uint32_t c = shape_.corrupt; c < shape_.seats; ++c) to.push_back(SeatPoint(c));
  share_matrix_ = Interpolation(from, to);
}

std::vector<uint32_t> KeySharing::SecretPoints() const {
  std::vector<uint32_t> points;
  for (uint32_t s = 0; s < shape_.packing; ++s) points.push_back(kSharePrime - 1 - s);
  return points;
}

uint32_t KeySharing::MaxParticipants() {
  // z^2 10.5 K <= ((p - 1) / 2)^2, z^2 = 2 * 81 ln 2.
  const double room = (kSharePrime - 1) / 2;
  return static_cast<uint32_t>(room * room / (2 * 81 * std::numbers::ln2 * ring::kErrorVariance));
}

KeySharing::Matrix KeySharing::Interpolation(std::span<const uint32_t> from,
                                             std::span<const uint32_t> to) {
  Matrix matrix;
  for (const uint32_t target : to) {
    std::vector<uint16_t>& row = matrix.emplace_back();
    for (size_t j = 0; j < from.size(); ++j) {
      uint64_t numerator = 1;
      uint64_t denominator = 1;
      for (size_t i = 0; i < from.size(); ++i) {
        if (i == j) continue;
        numerator = numerator * ((target + kP - from[i]) % kP) % kP;
        denominator = denominator * ((from[j] + kP - from[i]) % kP) % kP;
      }
      row.push_back(static_cast<uint16_t>(numerator * Inverse(denominator) % kP));
    }
  }
  return matrix;
}

void KeySharing::Share(std::span<const int8_t> key, std::span<const uint16_t> masks,
                       std::span<uint8_t> shares) const {
  Require(key.size() == kN && masks.size() == shape_.seats * blocks_ &&
          shares.size() == share_bytes());
  // Values at the points of share_matrix_, B words each: the secrets, then the first f seats.
  crypto::SecretVector<uint32_t> known(threshold() * blocks_);
  const std::span<uint32_t> values = known.Expose();
  for (size_t i = 0; i < kN; ++i) {
    // k mod p without a branch: k < 0 borrows p once.
    const int32_t k = key[i];
    values[i] = static_cast<uint32_t>(k + (static_cast<int32_t>(kP) & (k >> 31)));
  }
  for (size_t i = 0; i < shape_.corrupt * blocks_; ++i) {
    values[shape_.packing * blocks_ + i] = static_cast<uint32_t>(kP) - masks[i];  // in 1..p
  }
  crypto::SecretVector<uint64_t> sums(blocks_);
  for (uint32_t seat = shape_.corrupt; seat < shape_.seats; ++seat) {
    const std::span<uint64_t> sum = sums.Expose();
    for (size_t b = 0; b < blocks_; ++b) sum[b] = masks[seat * blocks_ + b];
    const std::vector<uint16_t>& row = share_matrix_[seat - shape_.corrupt];
    for (size_t j = 0; j < row.size(); ++j) {
      const uint64_t factor = row[j];
      const uint32_t* const value = values.data() + j * blocks_;
      for (size_t b = 0; b < blocks_; ++b) sum[b] += factor * value[b];  // below 20 2^32 + 2^16
    }
    const size_t first = (seat - shape_.corrupt) * blocks_;
    for (size_t b = 0; b < blocks_; ++b) StoreWord(sum[b] % kP, first + b, shares);
  }
}

std::optional<size_t> KeySharing::FindNonCanonical(std::span<const uint8_t> shares) {
  for (size_t i = 0; i < shares.size() / 2; ++i) {
    if (LoadWord(shares, i) >= kSharePrime) return i;
  }
  return std::nullopt;
}

absl::StatusOr<KeySharing::Recovery> KeySharing::Recover(std::span<const uint8_t> share_sums,
                                                         std::span<const Answer> answers) const {
  Require(share_sums.size() == share_bytes());
  if (const auto bad = FindNonCanonical(share_sums); bad.has_value()) {
    return base::DataLoss(
        "aggregated ciphertext: field `shares` is not canonical: word {} is not below {}", *bad,
        kSharePrime);
  }
  const size_t needed = threshold();
  if (answers.size() < needed) {
    return base::Unavailable("{} of {} committee members have answered, {} are needed",
                             answers.size(), shape_.seats, needed);
  }
  // values[a][b] = P_b at the point of answer a, where P_b is the sum of all clients' polynomials.
  std::vector<crypto::SecretVector<uint32_t>> values;
  std::vector<uint32_t> points;
  for (const Answer& answer : answers) {
    Require(answer.seat < shape_.seats && answer.mask_sums.size() == blocks_);
    RequireWordsBelowP(answer.mask_sums);
    crypto::SecretVector<uint32_t>& value = values.emplace_back(blocks_);
    points.push_back(SeatPoint(answer.seat));
    for (size_t b = 0; b < blocks_; ++b) {
      uint64_t share = 0;
      if (answer.seat >= shape_.corrupt) {
        share = LoadWord(share_sums, (answer.seat - shape_.corrupt) * blocks_ + b);
      }
      value.Expose()[b] = static_cast<uint32_t>((share + kP - answer.mask_sums[b]) % kP);
    }
  }
  // The smallest set of answers without which the others lie on polynomials of the right degree. No
  // other set of at most floor((a - threshold) / 2) answers can be meant: two such codewords agree
  // in threshold() places.
  for (size_t wrong = 0; wrong <= (answers.size() - needed) / 2; ++wrong) {
    std::vector<size_t> left_out(wrong);
    std::iota(left_out.begin(), left_out.end(), 0);
    do {
      std::vector<size_t> base_answers;
      std::vector<size_t> checked;
      for (size_t a = 0; a < answers.size(); ++a) {
        if (std::ranges::find(left_out, a) != left_out.end()) continue;
        (base_answers.size() < needed ? base_answers : checked).push_back(a);
      }
      std::vector<uint32_t> from;
      for (const size_t a : base_answers) from.push_back(points[a]);
      std::vector<uint32_t> to;
      for (const size_t a : checked) to.push_back(points[a]);
      const auto evaluate = [&](const std::vector<uint16_t>& row, size_t b) {
        uint64_t sum = 0;
        for (size_t j = 0; j < needed; ++j) {
          sum += uint64_t{row[j]} * values[base_answers[j]].Expose()[b];
        }
        return static_cast<uint32_t>(sum % kP);
      };
      const Matrix check = Interpolation(from, to);
      bool fits = true;
      for (size_t b = 0; fits && b < blocks_; ++b) {
        for (size_t r = 0; fits && r < checked.size(); ++r) {
          fits = evaluate(check[r], b) == values[checked[r]].Expose()[b];
        }
      }
      if (!fits) continue;
      Recovery recovery{.key_sum = crypto::SecretVector<int32_t>(kN), .wrong_seats = {}};
      for (const size_t a : left_out) recovery.wrong_seats.push_back(answers[a].seat);
      std::ranges::sort(recovery.wrong_seats);
      const Matrix secrets = Interpolation(from, SecretPoints());
      for (size_t i = 0; i < kN; ++i) {
        const auto value = static_cast<int32_t>(evaluate(secrets[i / blocks_], i % blocks_));
        constexpr auto kHalf = static_cast<int32_t>(kP / 2);
        // Centred without a branch: values above p/2 lose p.
        recovery.key_sum.Expose()[i] = value - (static_cast<int32_t>(kP) & ((kHalf - value) >> 31));
      }
      return recovery;
    } while (NextSubset(left_out, answers.size()));
  }
  return base::DataLoss(
      "the answers of {} committee members do not fit together: more than {} of them are wrong, or "
      "a participant sent wrong shares, or the server altered them",
      answers.size(), (answers.size() - needed) / 2);
}

void AddShares(std::span<const uint8_t> addend, std::span<uint8_t> sum) {
  Require(addend.size() == sum.size());
  for (size_t i = 0; i < sum.size() / 2; ++i) {
    StoreWord((uint64_t{LoadWord(addend, i)} + LoadWord(sum, i)) % kP, i, sum);
  }
}

void ShareSums::Add(std::span<const uint8_t> shares) {
  Require(shares.size() == 2 * words_.size());
  for (size_t i = 0; i < words_.size(); ++i) words_[i] += LoadWord(shares, i);
}

void ShareSums::Merge(const ShareSums& other) {
  Require(other.words_.size() == words_.size());
  for (size_t i = 0; i < words_.size(); ++i) words_[i] += other.words_[i];
}

void ShareSums::Write(std::span<uint8_t> shares) const {
  Require(shares.size() == 2 * words_.size());
  for (size_t i = 0; i < words_.size(); ++i) StoreWord(words_[i] % kP, i, shares);
}

}  // namespace tacet::he
