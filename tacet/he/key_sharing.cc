#include "tacet/he/key_sharing.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <numbers>
#include <system_error>

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/he/key_candidates.h"
#include "tacet/ring/ntt.h"
#include "tacet/ring/sampling.h"

namespace tacet::he {
namespace {

constexpr size_t kN = ring::kCompactDegree;
constexpr uint64_t kP = kSharePrime;

void Require(bool ok) {
  if (!ok) std::abort();
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
    : shape_(shape), votes_(votes), key_words_(2 * ((kN / 2 + shape.packing - 1) / shape.packing)) {
  std::vector<uint32_t> from = SecretPoints();
  for (uint32_t c = 0; c < shape_.corrupt; ++c) from.push_back(SeatPoint(c));
  std::vector<uint32_t> to;
  for (uint32_t c = shape_.corrupt; c < shape_.seats; ++c) to.push_back(SeatPoint(c));
  share_matrix_ = InterpolateShares(from, to);
}

std::vector<uint32_t> KeySharing::SecretPoints() const {
  std::vector<uint32_t> points;
  for (uint32_t s = 0; s < shape_.packing; ++s) points.push_back(SecretPoint(s));
  return points;
}

uint32_t KeySharing::MaxParticipants() {
  // z^2 10.5 K <= ((p - 1) / 2)^2, z^2 = 2 * 81 ln 2.
  const double room = (kSharePrime - 1) / 2;
  return static_cast<uint32_t>(room * room / (2 * 81 * std::numbers::ln2 * ring::kErrorVariance));
}

void KeySharing::Share(std::span<const int8_t> key, std::span<const uint16_t> checks,
                       std::span<const uint16_t> masks, std::span<uint8_t> shares) const {
  const size_t words = mask_words();
  Require(key.size() == kN && checks.size() == check_secrets() &&
          masks.size() == shape_.seats * words && shares.size() == share_bytes());
  // Values at the points of share_matrix_, B + 8 words each: the secrets, then the first f seats.
  crypto::SecretVector<uint32_t> known(threshold() * words);
  const std::span<uint32_t> values = known.Expose();
  for (uint32_t s = 0; s < shape_.packing; ++s) {
    const std::span<uint32_t> secrets = values.subspan(s * words, words);
    const size_t first = std::min(s * key_words_, kN);
    const size_t count = std::min(key_words_, kN - first);
    for (size_t b = 0; b < count; ++b) {
      // k mod p without a branch: k < 0 borrows p once.
      const int32_t k = key[first + b];
      secrets[b] = static_cast<uint32_t>(k + (static_cast<int32_t>(kP) & (k >> 31)));
    }
    std::ranges::copy(checks.subspan(s * kCheckWords, kCheckWords),
                      secrets.subspan(key_words_).begin());
  }
  for (size_t i = 0; i < shape_.corrupt * words; ++i) {
    values[shape_.packing * words + i] = static_cast<uint32_t>(kP) - masks[i];  // in 1..p
  }
  crypto::SecretVector<uint64_t> sums(words);
  for (uint32_t seat = shape_.corrupt; seat < shape_.seats; ++seat) {
    const std::span<uint64_t> sum = sums.Expose();
    for (size_t b = 0; b < words; ++b) sum[b] = masks[seat * words + b];
    const std::vector<uint16_t>& row = share_matrix_[seat - shape_.corrupt];
    for (size_t j = 0; j < row.size(); ++j) {
      const uint64_t factor = row[j];
      const uint32_t* const value = values.data() + j * words;
      for (size_t b = 0; b < words; ++b) sum[b] += factor * value[b];  // below 20 2^32 + 2^16
    }
    const size_t first = (seat - shape_.corrupt) * words;
    for (size_t b = 0; b < words; ++b) StoreShareWord(ReduceShare(sum[b]), first + b, shares);
  }
}

std::optional<size_t> KeySharing::FindNonCanonical(std::span<const uint8_t> shares) {
  constexpr size_t kBlock = 256;  // words that are looked at together
  const size_t words = shares.size() / 2;
  for (size_t first = 0; first < words; first += kBlock) {
    const size_t end = std::min(words, first + kBlock);
    uint32_t carries = 0;
    for (size_t i = first; i < end; ++i) {
      carries |= LoadShareWord(shares, i) + (65536 - kSharePrime);
    }
    if (carries < 65536) continue;
    for (size_t i = first; i < end; ++i) {
      if (LoadShareWord(shares, i) >= kSharePrime) return i;
    }
  }
  return std::nullopt;
}

absl::StatusOr<KeySharing::Recovery> KeySharing::Recover(std::span<const uint8_t> share_sums,
                                                         std::span<const Answer> answers) const {
  TACET_ASSIGN_OR_RETURN(KeyCandidates candidates,
                         KeyCandidates::Create(*this, share_sums, answers));
  std::optional<Recovery> recovery = candidates.Next(candidates.correctable());
  if (recovery.has_value()) return *std::move(recovery);
  return DoNotFit(answers.size(), candidates.correctable());
}

absl::Status KeySharing::DoNotFit(size_t answers, size_t correctable) {
  return base::DataLoss(
      "the answers of {} committee members do not fit together: more than {} of them are wrong, or "
      "a participant sent wrong shares, or the server altered them",
      answers, correctable);
}

void AddShares(std::span<const uint8_t> addend, std::span<uint8_t> sum) {
  Require(addend.size() == sum.size());
  for (size_t i = 0; i < sum.size() / 2; ++i) {
    StoreShareWord(ReduceShare(uint64_t{LoadShareWord(addend, i)} + LoadShareWord(sum, i)), i, sum);
  }
}

void ShareSums::Add(std::span<const uint8_t> shares) {
  Require(shares.size() == 2 * words_.size());
  for (size_t i = 0; i < words_.size(); ++i) words_[i] += LoadShareWord(shares, i);
}

void ShareSums::Merge(const ShareSums& other) {
  Require(other.words_.size() == words_.size());
  for (size_t i = 0; i < words_.size(); ++i) words_[i] += other.words_[i];
}

void ShareSums::Write(std::span<uint8_t> shares) const {
  Require(shares.size() == 2 * words_.size());
  for (size_t i = 0; i < words_.size(); ++i) StoreShareWord(ReduceShare(words_[i]), i, shares);
}

}  // namespace tacet::he
