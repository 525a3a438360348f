// The largest coalition, and its strategies in the attempts that it sees
// (coalition_view_for_test.h).
#ifndef TACET_SECAGG_COALITION_FOR_TEST_H_
#define TACET_SECAGG_COALITION_FOR_TEST_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tacet/secagg/coalition_view_for_test.h"

namespace tacet::secagg::testing {

// The value that the coalition takes for the one-time key of an honest member.
enum class Made {
  kZero,
  kWithoutMasks,  // from the shares, with zeros for the masks of seats that it does not hold
  kHonestMasks,   // the same with the sums of both honest members' masks
  kX25519Broken,  // the same with X25519's secrets, and zeros for those of ML-KEM
  kBothBroken,    // the same with the secrets of both: more than a coalition may have
  kKeySum,        // of both honest members
  kHalfKeySum,
};

// A coalition in one game.
class Coalition {
 public:
  // Holds `seats`, and knows the uploads of the colluders. Both others must outlive it.
  Coalition(const Federation& federation, const View& view, std::vector<uint32_t> seats)
      : federation_(federation),
        params_(federation.params()),
        view_(view),
        stage_(*view.stage),
        seats_(std::move(seats)) {}

  // With keys that it makes up. True: the second one sent +x.
  bool GuessByKeys(Made made) {
    return Score(Opened(stage_.honest[1], made)) > Score(Opened(stage_.honest[0], made));
  }
  // A coalition larger than K_min - 2: it knows the key of the first honest member, too.
  bool GuessKnowingTheFirst() {
    Key second = HonestKeySum();
    const Key first = OneTimeKey(stage_.honest[0]);
    for (size_t i = 0; i < second.size(); ++i) second[i] -= first[i];
    return Score(Open(stage_.honest[1], second)) > 0;
  }
  // Which of two one-time keys, of both honest members, is the first one's: true if the guess is
  // right. R_0 at the point of a secret is a combination of the key's coefficients, and a random
  // word. With a second row of every seat, for another closed round, the random word cancels.
  bool TellsKeysApart(bool second_row) {
    const uint64_t first = stage_.honest[0];
    std::array<Key, 2> keys = {OneTimeKey(first), OneTimeKey(stage_.honest[1])};
    const bool truth = keys[0] < keys[1];
    if (!truth) std::swap(keys[0], keys[1]);  // it is told them in no order that means anything
    uint32_t seen = SecretOfR0(first, *view_.check);
    std::array<uint32_t, 2> expected = {OfKey(*view_.check, keys[0]), OfKey(*view_.check, keys[1])};
    if (second_row) {
      crypto::Digest other_hash = view_.round_hash;
      other_hash[0] ^= 1;
      const he::ShareCheck other = ShareCheckOf(params_.sharing(), other_hash);
      seen = Less(seen, SecretOfR0(first, other));
      for (size_t k = 0; k < 2; ++k) expected[k] = Less(expected[k], OfKey(other, keys[k]));
    }
    return (Less(seen, expected[0]) < Less(seen, expected[1])) == truth;
  }

  // With the counts of either honest member, where its MAC can be read anywhere.
  bool GuessByCounts(bool otherwise) {
    for (const bool second : {false, true}) {
      const auto found = CountsBehindMac(stage_.honest[second]);
      if (!found.has_value()) continue;
      int64_t sum = 0;
      for (const int64_t count : *found) sum += count;
      return second == (sum > 0);
    }
    return otherwise;
  }
  // The centred counts of a member whose MAC, in clear or decrypted with a wrong key, is anywhere
  // in what the coalition has. They are small solutions of linear equations that it knows.
  std::optional<std::vector<int64_t>> CountsBehindMac(uint64_t member) {
    const he::Tag known = he::AddTags(
        stage_.mac->Mask(view_.NonceOfUpload(member)),
        stage_.mac->OfSum(std::vector<uint64_t>(params_.dimension(), params_.offset())));
    for (const he::Tag& candidate : CandidatesForMac(member)) {
      const he::Tag tag = Minus(candidate, known);
      auto counts = stage_.solver->Solve({tag.words.begin(), tag.words.end()}, kLargestCount);
      if (counts.has_value()) return counts;
    }
    return std::nullopt;
  }

 private:
  static constexpr int64_t kLargestCount = 5000;

  static uint32_t Less(uint32_t a, uint32_t b) {
    return (a + he::kSharePrime - b) % he::kSharePrime;
  }
  // R_0 of a member's shares at the point of the first secret.
  uint32_t SecretOfR0(uint64_t member, const he::ShareCheck& check) const {
    const he::KeySharing& sharing = params_.sharing();
    const auto shares = federation_.SharesIn(stage_, view_.UploadOf(member));
    std::vector<uint32_t> points, values;
    for (uint32_t seat = 0; seat < sharing.threshold(); ++seat) {
      points.push_back(he::SeatPoint(seat));
      uint32_t of_shares = 0;
      if (seat >= sharing.shape().corrupt) {
        Words words(sharing.mask_words());
        const size_t first = (seat - sharing.shape().corrupt) * words.size();
        for (size_t b = 0; b < words.size(); ++b) words[b] = he::LoadShareWord(shares, first + b);
        of_shares = check.Combine(words)[0];
      }
      values.push_back(Less(of_shares, check.Combine(view_.Mask(member, seat))[0]));
    }
    const std::array<uint32_t, 1> to = {he::SecretPoint(0)};
    const he::ShareMatrix factors = he::InterpolateShares(points, to);
    uint64_t sum = 0;
    for (size_t i = 0; i < values.size(); ++i) sum += uint64_t{factors[0][i]} * values[i];
    return static_cast<uint32_t>(sum % he::kSharePrime);
  }
  // The same as it would be of a key without the random word.
  uint32_t OfKey(const he::ShareCheck& check, const Key& key) const {
    Words words(params_.sharing().mask_words());
    for (size_t b = 0; b < params_.sharing().key_words(); ++b) {
      words[b] = static_cast<uint16_t>(key[b] < 0 ? key[b] + static_cast<int32_t>(he::kSharePrime)
                                                  : key[b]);
    }
    return check.Combine(words)[0];
  }

  // Takes the shares of `victim`, with the masks of as many seats as are needed, its own first.
  Key KeyByMasks(uint64_t victim, Made made) const {
    std::vector<Words> masks;
    std::vector<uint32_t> order = seats_;
    for (uint32_t seat = 0; seat < SmallRound::kSeats; ++seat) {
      Words& mask = masks.emplace_back(params_.sharing().mask_words());
      if (std::ranges::find(seats_, seat) != seats_.end()) {
        mask = view_.Mask(victim, seat);
        continue;
      }
      order.push_back(seat);
      if (made == Made::kX25519Broken || made == Made::kBothBroken) {
        mask = federation_.MaskOfBroken(stage_, view_.UploadOf(victim), victim, seat,
                                        made == Made::kBothBroken);
      }
      if (made != Made::kHonestMasks) continue;
      mask = view_.answers[seat];
      for (const uint64_t own : stage_.colluders) {
        mask = Plus(std::move(mask), view_.Mask(own, seat), true);
      }
    }
    order.resize(params_.sharing().threshold());
    return federation_.RecoverKey(federation_.SharesIn(stage_, view_.UploadOf(victim)), masks,
                                  order);
  }
  // For a member whose masks with all seats are known.
  Key OneTimeKey(uint64_t member) const {
    const Sent& sent = *view_.sent.at(member);
    return federation_.RecoverKey(
        federation_.SharesIn(stage_, sent.upload), sent.masks,
        std::span(Federation::kAllSeats).first(params_.sharing().threshold()));
  }
  // The sum of all keys less those of its own members.
  Key HonestKeySum() const {
    Key sum = view_.key_sum;
    for (const auto& [member, own] : stage_.keys) {
      for (size_t i = 0; i < sum.size(); ++i) sum[i] -= own[i];
    }
    return sum;
  }
  Key Make(uint64_t member, Made made) const {
    switch (made) {
      case Made::kZero:
        return Key(params_.ring_degree());
      case Made::kWithoutMasks:
      case Made::kHonestMasks:
      case Made::kX25519Broken:
      case Made::kBothBroken:
        return KeyByMasks(member, made);
      case Made::kKeySum:
        return HonestKeySum();
      case Made::kHalfKeySum:
        break;
    }
    Key sum = HonestKeySum();
    for (int32_t& coefficient : sum) coefficient /= 2;
    return sum;
  }

  // An upload decrypted with a key that may be another's.
  he::Decryptor::Decrypted Open(uint64_t member, const Key& key) {
    const auto [found, is_new] = as_sums_.try_emplace(member);
    if (is_new) {
      found->second =
          stage_.decryptor->AsSum(federation_.CiphertextIn(stage_, view_.UploadOf(member)));
    }
    return stage_.decryptor->Open(found->second, 1, key);
  }
  const he::Decryptor::Decrypted& Opened(uint64_t member, Made made) {
    const auto [found, is_new] = opened_.try_emplace({member, made});
    if (is_new) found->second = Open(member, Make(member, made));
    return found->second;
  }
  // The score by which an update is more than zeros.
  double Score(const he::Decryptor::Decrypted& opened) const {
    double score = 0;
    for (const uint64_t count : opened.sums) {
      score += static_cast<double>(count) - static_cast<double>(params_.offset());
    }
    return score;
  }

  // All that could be the words of a member's MAC: three in a row anywhere in its upload, and what
  // comes out of it with every key that the coalition can make up.
  std::vector<he::Tag> CandidatesForMac(uint64_t member) {
    std::vector<he::Tag> candidates;
    const base::Bytes& upload = view_.UploadOf(member);
    for (size_t at = 0; at + he::kTagBytes <= upload.size(); ++at) {
      he::Tag tag;
      size_t m = 0;
      for (; m < he::kTagWords; ++m) {
        tag.words[m] = base::LoadU64(upload.data() + at + 8 * m);
        if (tag.words[m] >= he::kTagPrime) break;
      }
      if (m == he::kTagWords) candidates.push_back(tag);
    }
    if (params_.scheme() != he::Scheme::kCompact) return candidates;
    for (const Made made : {Made::kZero, Made::kWithoutMasks, Made::kHonestMasks,
                            Made::kX25519Broken, Made::kKeySum, Made::kHalfKeySum}) {
      candidates.push_back(Opened(member, made).tag);
    }
    return candidates;
  }

  const Federation& federation_;
  const he::AggregationParams& params_;
  const View& view_;
  const Stage& stage_;
  std::vector<uint32_t> seats_;
  std::map<uint64_t, base::Bytes> as_sums_;  // uploads, by member
  std::map<std::pair<uint64_t, Made>, he::Decryptor::Decrypted> opened_;
};

// The coin from sums of two MACs that were added as integers: a word that wrapped shows where its
// member's count lies. `sums` are the words as they came out, `count_sum` the sum of the centred
// counts of both members, of one value each. The best guess there is; `otherwise` without one.
inline bool GuessByWraps(const he::HomomorphicMacKey& mac, const GameSpec& spec,
                         const std::array<SealNonce, 2>& nonces, uint64_t offset, int64_t count_sum,
                         const std::array<uint64_t, he::kTagWords>& sums, bool otherwise) {
  const NoiseLaw& law = *spec.noise;
  const std::vector<uint64_t> unit = {1};
  const he::Tag slope = mac.OfSum(unit);
  const std::array<he::Tag, 2> masks = {mac.Mask(nonces[0]), mac.Mask(nonces[1])};
  std::array<double, 2> likelihood{};  // of not swapped, swapped
  for (int64_t y = -law.radius() - spec.planted; y <= law.radius() + spec.planted; ++y) {
    const std::array<int64_t, 2> counts = {y, count_sum - y};
    bool fits = true;
    for (size_t m = 0; m < he::kTagWords; ++m) {
      uint64_t sum = 0;
      for (size_t k = 0; k < 2; ++k) {
        const auto count = static_cast<uint64_t>(static_cast<int64_t>(offset) + counts[k]);
        sum += static_cast<uint64_t>(
            (static_cast<unsigned __int128>(slope.words[m]) * count + masks[k].words[m]) %
            he::kTagPrime);
      }
      fits = fits && sum == sums[m];
    }
    if (!fits) continue;
    for (const bool swapped : {false, true}) {
      const int64_t x = swapped ? -spec.planted : spec.planted;
      likelihood[swapped] += law(counts[0] - x) * law(counts[1] + x);
    }
  }
  if (likelihood[0] == likelihood[1]) return otherwise;
  return likelihood[1] > likelihood[0];
}

}  // namespace tacet::secagg::testing

#endif  // TACET_SECAGG_COALITION_FOR_TEST_H_
