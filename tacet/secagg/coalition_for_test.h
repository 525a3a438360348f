// Attempts as the largest coalition sees them, and what it makes of them.
//
// In each attempt two honest members send +x and -x, with noise, and two members of the coalition
// send zeros. The coalition has the server, the epoch key and two members on two seats: c = K_min -
// 2 and f = 2 of 5. It sees every upload, the answers and the check rows of all seats, and guesses
// which honest member sent which.
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

#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/he/homomorphic_mac.h"
#include "tacet/secagg/check_row.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/lattice_for_test.h"
#include "tacet/secagg/noise_law_for_test.h"
#include "tacet/secagg/small_round_for_test.h"
#include "tacet/secagg/unmask_share.h"
#include "tacet/secagg/upload.h"
#include "tacet/secagg/whole_messages_for_test.h"

namespace tacet::secagg::testing {

using Pair = std::array<uint64_t, 2>;  // of members, increasing
using Words = std::vector<uint16_t>;
using Key = std::vector<int32_t>;

inline Words Plus(Words a, std::span<const uint16_t> b, bool subtract = false) {
  for (size_t i = 0; i < a.size(); ++i) {
    const uint32_t addend = subtract ? he::kSharePrime - b[i] : b[i];
    a[i] = static_cast<uint16_t>((a[i] + addend) % he::kSharePrime);
  }
  return a;
}

// What the members of one game send.
struct GameSpec {
  uint64_t dimension = 1;
  int64_t planted = 1;  // |x| in counts, in every coordinate
  // Of each member; none: the noise of the agreement, of 100 counts.
  std::optional<NoiseLaw> noise = std::nullopt;
  he::Scheme scheme = he::Scheme::kCompact;
};

// One attempt as the coalition sees it.
struct View {
  Attempt attempt;
  std::map<uint64_t, base::Bytes> uploads;  // by member
  Pair colluders{}, honest{};
  base::Bytes aggregated_ciphertext;
  he::Decryptor::Decrypted honest_sum;  // the decrypted sum and its MAC less the coalition's own
  std::vector<Words> answers;           // by seat: sums of masks over the roster
  crypto::Digest round_hash{};
  // By seat and member: combinations of masks.
  std::vector<std::map<uint64_t, he::ShareCombination>> rows;
  std::map<uint64_t, std::vector<uint32_t>> counts;  // the truth, for the referee
};

class Federation {
 public:
  static constexpr uint32_t kPlayers = 4;  // K_min

  explicit Federation(const GameSpec& spec)
      : spec_(spec),
        round_(TermsOf(spec)),
        noise_entropy_(spec.dimension, "noise of a game"),
        random_(crypto::Random::FromEntropy(noise_entropy_)) {
    for (uint64_t member = 0; member < SmallRound::kMembers; ++member) {
      pair_keys_.push_back(round_.PairKeys(member));
    }
    for (uint32_t seat = 0; seat < SmallRound::kSeats; ++seat) {
      pair_key_of_.push_back([this, seat](uint64_t client) -> absl::StatusOr<crypto::SecretBytes> {
        return crypto::SecretBytes::CopyOf(SmallRound::PairKeyIn(pair_keys_[client], seat));
      });
    }
  }

  // Plays attempt after attempt. `swapped` is the coin: the second honest member sends +x.
  View Play(const Pair& colluders, const Pair& honest, bool swapped) {
    View view = Collect(colluders, honest, swapped);
    Aggregator aggregator(params(), view.attempt, kPlayers);
    for (const auto& [member, upload] : view.uploads) {
      EXPECT_TRUE(aggregator.Submit(member, upload).ok());
    }
    Unmask(SmallRound::CloseOf(aggregator), view);
    return view;
  }
  // The uploads alone.
  View Collect(const Pair& colluders, const Pair& honest, bool swapped) {
    View view;
    view.attempt = round_.attempt();
    view.attempt.number.attempt = ++attempts_;
    view.colluders = colluders;
    view.honest = honest;
    const auto sealer = ValueOf(Sealer::Create(round_.terms(), view.attempt, KeysOf(view.attempt)));
    for (const uint64_t member : colluders) Seal(*sealer, member, 0, view);
    for (const bool second : {false, true}) {
      Seal(*sealer, honest[second], second == swapped ? 1 : -1, view);
    }
    return view;
  }

  const GameSpec& spec() const { return spec_; }
  const he::AggregationParams& params() const { return round_.params(); }
  AttemptKeys KeysOf(const Attempt& attempt) const { return round_.KeysOf(attempt); }
  he::HomomorphicMacKey MacOf(const Attempt& attempt) const {
    return {KeysOf(attempt).tag_key, spec_.dimension, TagContext(attempt)};
  }
  // Mask of a client's upload at a seat.
  Words Mask(const View& view, uint64_t client, uint32_t seat) {
    Words mask(params().sharing().mask_words());
    ExpandMask(SmallRound::PairKeyIn(pair_keys_[client], seat), view.attempt,
               NonceOf(view.uploads.at(client)), mask);
    return mask;
  }

 private:
  static TermsSpec TermsOf(const GameSpec& spec) {
    TermsSpec terms = SmallTerms(spec.dimension, kPlayers, spec.scheme);
    terms.mechanism.params.noise_stddev = 0.2;  // 200 counts, half of that a member's
    return terms;
  }

  void Seal(const Sealer& sealer, uint64_t member, int sign, View& view) {
    std::vector<uint32_t>& counts = view.counts[member];
    counts.resize(spec_.dimension);
    const int64_t centre = static_cast<int64_t>(params().offset()) + sign * spec_.planted;
    const crypto::SecretBytes seal_key = round_.entropy().Draw(32);
    if (spec_.noise.has_value()) {
      for (uint32_t& count : counts) {
        count = static_cast<uint32_t>(centre + spec_.noise->Draw(random_));
      }
    } else {
      const dp::Mechanism mechanism(round_.terms().mechanism());
      const double planted = sign * static_cast<double>(spec_.planted);
      const double scale = mechanism.plan().spec().params.scale;
      std::vector<float> update(spec_.dimension, static_cast<float>(planted * scale));
      mechanism.Clip(update, update);
      crypto::Random noise = SealRandom(seal_key, "noise");
      crypto::Random quantise = SealRandom(seal_key, "quantise");
      mechanism.NoiseAndQuantize(update, noise, quantise, counts);
    }
    view.uploads[member] =
        ValueOf(secagg::SealCounts(sealer, counts, pair_keys_[member], seal_key));
  }

  // All seats vote and answer, and what every member does with the answers succeeds.
  void Unmask(const Aggregator::Closed& closed, View& view) {
    const AttemptKeys keys = KeysOf(view.attempt);
    std::vector<MemoryJournal> journals(SmallRound::kSeats);
    std::vector<CommitteeMember> seats;
    std::vector<base::Bytes> votes, shares;
    for (uint32_t seat = 0; seat < SmallRound::kSeats; ++seat) {
      OwnUpload own;
      if (const auto upload = view.uploads.find(seat); upload != view.uploads.end()) {
        own = {.nonce = NonceOf(upload->second), .acknowledged = true};
      }
      seats.push_back(CommitteeMember({.terms = round_.terms(),
                                       .committee = round_.committee(),
                                       .signing_key = round_.signing_key(seat),
                                       .result_key = keys.result_key,
                                       .pair_key_of = pair_key_of_[seat],
                                       .journal = journals[seat],
                                       .entropy = round_.entropy()},
                                      view.attempt, seat, SmallRound::kMembers, own));
      votes.push_back(ValueOf(seats.back().Vote(closed.closed_round, closed.roster)));
    }
    for (CommitteeMember& seat : seats) shares.push_back(ValueOf(seat.Unmask(votes)));
    const auto decrypted = DecryptRound(
        round_.terms(), round_.committee(), view.attempt, keys,
        {.closed_round = closed.closed_round, .votes = votes, .unmask_shares = shares});
    ASSERT_TRUE(decrypted.ok()) << decrypted.status();
    for (const base::Bytes& share : shares) {
      const UnmaskShare read = ValueOf(ReadUnmaskShare(share, view.attempt, params().sharing(),
                                                       round_.committee(), keys.result_key));
      view.answers.emplace_back(read.mask_sums.Expose().begin(), read.mask_sums.Expose().end());
    }
    ClosedRound round = ValueOf(ReadClosedRound(closed.closed_round, view.attempt, params(), 1));
    view.round_hash = ClosedRoundHash(round);
    view.aggregated_ciphertext = std::move(round.aggregated_ciphertext);
    const Roster roster = ValueOf(ReadRoster(closed.roster, view.attempt, kPlayers));
    for (const CommitteeMember& seat : seats) {
      const CheckRow row = ValueOf(
          ReadCheckRow(ValueOf(seat.CheckShares()), view.attempt, round_.committee(), kPlayers));
      auto& of_seat = view.rows.emplace_back();
      for (size_t i = 0; i < kPlayers; ++i) of_seat[roster.members[i]] = row.combinations[i];
    }
    TakeOwnOut(view);
  }

  // Fills in `honest_sum`.
  void TakeOwnOut(View& view) const {
    std::vector<he::KeySharing::Answer> answers;
    for (uint32_t seat = 0; seat < SmallRound::kSeats; ++seat) {
      answers.push_back({.seat = seat, .mask_sums = view.answers[seat]});
    }
    auto recovery = ValueOf(params().sharing().Recover(
        std::span(view.aggregated_ciphertext).last(params().share_bytes()), answers));
    const auto decryptor = ValueOf(
        he::NewCompactDecryptor(params(), PublicSeed(view.attempt), std::move(recovery.key_sum)));
    view.honest_sum = ValueOf(decryptor->Decrypt(view.aggregated_ciphertext, kPlayers));
    const he::HomomorphicMacKey mac = MacOf(view.attempt);
    for (const uint64_t own : view.colluders) {
      const std::vector<uint32_t>& counts = view.counts.at(own);
      for (size_t i = 0; i < counts.size(); ++i) view.honest_sum.sums[i] -= counts[i];
      view.honest_sum.tag =
          Minus(view.honest_sum.tag, mac.Compute(counts, NonceOf(view.uploads.at(own))));
    }
  }

  GameSpec spec_;
  SmallRound round_;
  crypto::InsecureSeededEntropy noise_entropy_;
  crypto::Random random_;
  std::vector<crypto::SecretBytes> pair_keys_;  // by member
  std::vector<PairKeyOf> pair_key_of_;          // by seat
  uint32_t attempts_ = 0;
};

// What the coalition takes for masks at seats that it does not hold.
enum class Unknown { kZero, kSumOfHonest };

class Coalition {
 public:
  // Holds `seats`, and knows the uploads of `view.colluders`, of which there may be more.
  Coalition(Federation& federation, std::vector<uint32_t> seats)
      : federation_(federation), params_(federation.params()), seats_(std::move(seats)) {}

  // With the masks of its own seats, and something else for the others. True: the second one.
  bool GuessByMasks(const View& view, Unknown unknown) {
    return GuessByKeys(view, KeyByMasks(view, view.honest[0], unknown),
                       KeyByMasks(view, view.honest[1], unknown));
  }
  // With half of what all one-time keys less its own ones add up to. The keys of `also` are known,
  // too: with that of an honest member the coalition is larger than K_min - 2.
  bool GuessByKeySum(const View& view, std::optional<uint64_t> also) {
    Key sum = HonestKeySum(view);
    if (also.has_value()) {
      const Key own = OneTimeKey(view, *also);
      for (size_t i = 0; i < sum.size(); ++i) sum[i] -= own[i];
    }
    if (also == view.honest[0]) return Score(view, view.honest[1], sum) > 0;
    for (int32_t& coefficient : sum) coefficient /= 2;
    return GuessByKeys(view, sum, sum);
  }
  // Which of two one-time keys, of both honest members, is the first one's: true if the guess is
  // right. R_0 at the point of a secret is a combination of the key's coefficients, and a random
  // word. With a second row of every seat, for another closed round, the random word cancels.
  bool TellsKeysApart(const View& view, bool second_row) {
    std::array<Key, 2> keys = {OneTimeKey(view, view.honest[0]), OneTimeKey(view, view.honest[1])};
    const bool truth = keys[0] < keys[1];
    if (!truth) std::swap(keys[0], keys[1]);  // it is told them in no order that means anything
    const he::ShareCheck check = ShareCheckOf(params_.sharing(), view.round_hash);
    uint32_t seen = SecretOfR0(view, view.honest[0], check,
                               [&](uint32_t seat) { return view.rows[seat].at(view.honest[0]); });
    std::array<uint32_t, 2> expected = {OfKey(check, keys[0]), OfKey(check, keys[1])};
    if (second_row) {
      crypto::Digest other_hash = view.round_hash;
      other_hash[0] ^= 1;
      const he::ShareCheck other = ShareCheckOf(params_.sharing(), other_hash);
      seen = Less(seen, SecretOfR0(view, view.honest[0], other, [&](uint32_t seat) {
                    return other.Combine(federation_.Mask(view, view.honest[0], seat));
                  }));
      for (size_t k = 0; k < 2; ++k) expected[k] = Less(expected[k], OfKey(other, keys[k]));
    }
    return (Less(seen, expected[0]) < Less(seen, expected[1])) == truth;
  }

  // With the counts of either honest member, where its MAC can be read anywhere.
  bool GuessByCounts(const View& view, bool otherwise) {
    const SmallSolver solver = SolverOf(view);
    for (const bool second : {false, true}) {
      const auto found = CountsBehindMac(view, view.honest[second], solver);
      if (!found.has_value()) continue;
      int64_t sum = 0;
      for (const int64_t count : *found) sum += count;
      return second == (sum > 0);
    }
    return otherwise;
  }
  // The centred counts of a member whose MAC, in clear or decrypted with a wrong key, is anywhere
  // in what the coalition has. They are small solutions of linear equations that it knows.
  std::optional<std::vector<int64_t>> CountsBehindMac(const View& view, uint64_t member,
                                                      const SmallSolver& solver) {
    const he::HomomorphicMacKey mac = federation_.MacOf(view.attempt);
    const he::Tag known =
        he::AddTags(mac.Mask(NonceOf(view.uploads.at(member))),
                    mac.OfSum(std::vector<uint64_t>(params_.dimension(), params_.offset())));
    for (const he::Tag& candidate : CandidatesForMac(view, member)) {
      const he::Tag tag = Minus(candidate, known);
      auto counts = solver.Solve({tag.words.begin(), tag.words.end()}, kLargestCount);
      if (counts.has_value()) return counts;
    }
    return std::nullopt;
  }
  // The equations behind a MAC, whose key the coalition has.
  SmallSolver SolverOf(const View& view) const {
    const he::HomomorphicMacKey mac = federation_.MacOf(view.attempt);
    std::vector<std::vector<uint64_t>> rows(he::kTagWords,
                                            std::vector<uint64_t>(params_.dimension()));
    std::vector<uint64_t> unit(params_.dimension());
    for (size_t i = 0; i < unit.size(); ++i) {
      unit[i] = 1;
      const he::Tag tag = mac.OfSum(unit);
      for (size_t m = 0; m < he::kTagWords; ++m) rows[m][i] = tag.words[m];
      unit[i] = 0;
    }
    return SmallSolver(he::kTagPrime, std::move(rows));
  }

 private:
  static constexpr int64_t kLargestCount = 5000;

  UploadView Read(const View& view, uint64_t member) const {
    return ValueOf(ReadUpload(view.uploads.at(member), view.attempt, params_));
  }
  static uint32_t Less(uint32_t a, uint32_t b) {
    return (a + he::kSharePrime - b) % he::kSharePrime;
  }
  // R_0 of a member's shares at the point of the first secret.
  template <typename CombinationOf>
  uint32_t SecretOfR0(const View& view, uint64_t member, const he::ShareCheck& check,
                      const CombinationOf& combination_of) const {
    const he::KeySharing& sharing = params_.sharing();
    const auto shares = Read(view, member).ciphertext.last(params_.share_bytes());
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
      values.push_back(Less(of_shares, combination_of(seat)[0]));
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
  bool Holds(uint32_t seat) const { return std::ranges::find(seats_, seat) != seats_.end(); }

  // With the answers of as many seats as are needed, its own ones first.
  Key Recover(std::span<const uint8_t> shares, const std::vector<Words>& masks) const {
    std::vector<he::KeySharing::Answer> answers;
    for (const bool own : {true, false}) {
      for (uint32_t seat = 0; seat < SmallRound::kSeats; ++seat) {
        if (Holds(seat) != own || answers.size() == params_.sharing().threshold()) continue;
        answers.push_back({.seat = seat, .mask_sums = masks[seat]});
      }
    }
    const auto recovery = ValueOf(params_.sharing().Recover(shares, answers));
    return Key(recovery.key_sum.Expose().begin(), recovery.key_sum.Expose().end());
  }
  Key KeyByMasks(const View& view, uint64_t victim, Unknown unknown) {
    std::vector<Words> masks;
    for (uint32_t seat = 0; seat < SmallRound::kSeats; ++seat) {
      Words& mask = masks.emplace_back(params_.sharing().mask_words());
      if (Holds(seat)) {
        mask = federation_.Mask(view, victim, seat);
      } else if (unknown == Unknown::kSumOfHonest) {
        mask = view.answers[seat];
        for (const uint64_t own : view.colluders) {
          mask = Plus(std::move(mask), federation_.Mask(view, own, seat), true);
        }
      }
    }
    return Recover(Read(view, victim).ciphertext.last(params_.share_bytes()), masks);
  }
  // Of a member whose masks with all seats are known.
  Key OneTimeKey(const View& view, uint64_t member) {
    std::vector<Words> masks;
    for (uint32_t seat = 0; seat < SmallRound::kSeats; ++seat) {
      masks.push_back(federation_.Mask(view, member, seat));
    }
    return Recover(Read(view, member).ciphertext.last(params_.share_bytes()), masks);
  }
  // The sum of all keys less those of its own members.
  Key HonestKeySum(const View& view) {
    Key sum =
        Recover(std::span(view.aggregated_ciphertext).last(params_.share_bytes()), view.answers);
    for (const uint64_t member : view.colluders) {
      const Key own = OneTimeKey(view, member);
      for (size_t i = 0; i < sum.size(); ++i) sum[i] -= own[i];
    }
    return sum;
  }

  // An upload decrypted with a key that may be another's.
  he::Decryptor::Decrypted Open(const View& view, uint64_t member, const Key& key) const {
    crypto::SecretVector<int32_t> secret(key.size());
    std::ranges::copy(key, secret.Expose().begin());
    const auto decryptor =
        ValueOf(he::NewCompactDecryptor(params_, PublicSeed(view.attempt), std::move(secret)));
    const auto adder = he::NewAdder(params_);
    EXPECT_TRUE(adder->Add(Read(view, member).ciphertext).ok());
    return ValueOf(decryptor->Decrypt(adder->Close(), 1));
  }
  bool GuessByKeys(const View& view, const Key& first, const Key& second) {
    return Score(view, view.honest[1], second) > Score(view, view.honest[0], first);
  }
  // How much more than zeros the update of `member` is, decrypted with `key`.
  double Score(const View& view, uint64_t member, const Key& key) {
    double score = 0;
    for (const uint64_t count : Open(view, member, key).sums) {
      score += static_cast<double>(count) - static_cast<double>(params_.offset());
    }
    return score;
  }

  // All that could be the words of a member's MAC: three in a row anywhere in its upload, and what
  // comes out of it with every key that the coalition can make up.
  std::vector<he::Tag> CandidatesForMac(const View& view, uint64_t member) {
    std::vector<he::Tag> candidates;
    const base::Bytes& upload = view.uploads.at(member);
    for (size_t at = 0; at + he::kTagBytes <= upload.size(); ++at) {
      he::Tag tag;
      for (size_t m = 0; m < he::kTagWords; ++m) {
        tag.words[m] = base::LoadU64(upload.data() + at + 8 * m);
      }
      if (std::ranges::all_of(tag.words, [](uint64_t word) { return word < he::kTagPrime; })) {
        candidates.push_back(tag);
      }
    }
    if (params_.scheme() != he::Scheme::kCompact) return candidates;
    std::vector<Key> keys = {Key(params_.ring_degree())};
    for (const Unknown unknown : {Unknown::kZero, Unknown::kSumOfHonest}) {
      keys.push_back(KeyByMasks(view, member, unknown));
    }
    keys.push_back(HonestKeySum(view));
    keys.push_back(keys.back());
    for (int32_t& coefficient : keys.back()) coefficient /= 2;
    for (const Key& key : keys) candidates.push_back(Open(view, member, key).tag);
    return candidates;
  }

  Federation& federation_;
  const he::AggregationParams& params_;
  std::vector<uint32_t> seats_;
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
