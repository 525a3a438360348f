// Attempts as the largest coalition sees them.
//
// In each game two honest members send +x and -x, with noise, and two members of the coalition
// send zeros. The coalition has the server, the epoch key and two members on two seats: c = K_min -
// 2 and f = 2 of 5. It sees every upload, the answers and the check rows of all seats, and guesses
// which honest member sent which (coalition_for_test.h).
#ifndef TACET_SECAGG_COALITION_VIEW_FOR_TEST_H_
#define TACET_SECAGG_COALITION_VIEW_FOR_TEST_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
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
#include "tacet/secagg/made_up_keys_for_test.h"
#include "tacet/secagg/noise_law_for_test.h"
#include "tacet/secagg/small_round_for_test.h"
#include "tacet/secagg/unmask_share.h"
#include "tacet/secagg/upload.h"
#include "tacet/secagg/whole_messages_for_test.h"

namespace tacet::secagg::testing {

using Pair = std::array<uint64_t, 2>;  // of members, increasing
using Words = std::vector<uint16_t>;

inline Words Plus(Words a, std::span<const uint16_t> b, bool subtract = false) {
  for (size_t i = 0; i < a.size(); ++i) {
    const uint32_t addend = subtract ? he::kSharePrime - b[i] : b[i];
    a[i] = static_cast<uint16_t>((a[i] + addend) % he::kSharePrime);
  }
  return a;
}

// The messages of the members of one game.
struct GameSpec {
  uint64_t dimension = 1;
  int64_t planted = 1;  // |x| in counts, in every coordinate
  // For each member; none: the noise of the agreement, of 100 counts.
  std::optional<NoiseLaw> noise = std::nullopt;
  he::Scheme scheme = he::Scheme::kCompact;
};

// A member's message, and what the seats know of it.
struct Sent {
  base::Bytes upload;
  std::vector<uint32_t> counts;  // the truth, for the referee
  std::vector<Words> masks;      // by seat; none for the paper's schemes
};

// An attempt: all in it that is public, or known to the coalition, before an honest member sends
// anything. Games that share one are executions of the same attempt, each with uploads of its own,
// which have fresh keys, masks and noise. The coalition may send the same in all of them.
struct Stage {
  Attempt attempt;
  Pair colluders{}, honest{};
  std::unique_ptr<Sealer> sealer;
  std::optional<he::HomomorphicMacKey> mac;
  std::map<uint64_t, std::shared_ptr<const Sent>> sent;  // by colluder
  // Scheme compact.
  std::optional<AttemptDecryptor> decryptor;
  std::map<uint64_t, Key> keys;  // one-time keys of the colluders
  // The equations behind a MAC, where there are few unknowns.
  std::optional<SmallSolver> solver;
};

// A game as the coalition sees it.
struct View {
  std::shared_ptr<const Stage> stage;
  std::map<uint64_t, std::shared_ptr<const Sent>> sent;  // by member
  base::Bytes aggregated_ciphertext;
  std::vector<Words> answers;           // by seat: sums of masks over the roster
  Key key_sum;                          // what they give
  he::Decryptor::Decrypted honest_sum;  // the decrypted sum and its MAC less the coalition's own
  crypto::Digest round_hash{};
  std::optional<he::ShareCheck> check;  // of the round

  const base::Bytes& UploadOf(uint64_t member) const { return sent.at(member)->upload; }
  SealNonce NonceOfUpload(uint64_t member) const { return NonceOf(UploadOf(member)); }
  const Words& Mask(uint64_t member, uint32_t seat) const { return sent.at(member)->masks[seat]; }
  // The statement of a seat's check row about a member.
  he::ShareCombination RowOf(uint32_t seat, uint64_t member) const {
    return check->Combine(Mask(member, seat));
  }
};

class Federation {
 public:
  static constexpr uint32_t kPlayers = 4;  // K_min
  static constexpr uint64_t kMostUnknowns = 9;

  explicit Federation(const GameSpec& spec)
      : spec_(spec),
        round_(TermsOf(spec)),
        mechanism_(round_.terms().mechanism()),
        noise_entropy_(spec.dimension, "noise of a game"),
        random_(crypto::Random::FromEntropy(noise_entropy_)) {
    for (uint64_t member = 0; member < SmallRound::kMembers; ++member) {
      pair_keys_.push_back(round_.PairKeys(member));
    }
    for (uint32_t seat = 0; seat < SmallRound::kSeats; ++seat) {
      pair_key_of_.push_back([this, seat](uint64_t client) -> absl::StatusOr<ListedPairKey> {
        return ListedPairKey{
            round_.ListOf(client),
            crypto::SecretBytes::CopyOf(SmallRound::PairKeyIn(pair_keys_[client], seat))};
      });
    }
  }

  // Begins the next attempt.
  void Begin(const Pair& colluders, const Pair& honest) {
    auto stage = std::make_shared<Stage>();
    stage->attempt = round_.attempt();
    stage->attempt.number.attempt = ++attempts_;
    stage->colluders = colluders;
    stage->honest = honest;
    const AttemptKeys keys = round_.KeysOf(stage->attempt);
    stage->sealer = ValueOf(Sealer::Create(round_.terms(), stage->attempt, keys));
    stage->mac.emplace(keys.tag_key, spec_.dimension, TagContext(stage->attempt));
    for (const uint64_t member : colluders) stage->sent[member] = Seal(*stage, member, 0);
    if (spec_.dimension <= kMostUnknowns) stage->solver = SolverOf(*stage->mac);
    if (spec_.scheme == he::Scheme::kCompact) {
      stage->decryptor.emplace(params(), PublicSeed(stage->attempt));
      for (const auto& [member, sent] : stage->sent) {
        stage->keys[member] = RecoverKey(SharesIn(*stage, sent->upload), sent->masks, kAllSeats);
      }
    }
    stage_ = std::move(stage);
    is_first_ = true;
  }
  // Plays a game in this attempt. `swapped` is the coin: the second honest member sends +x.
  View Play(bool swapped) {
    View view = Collect(swapped);
    Aggregator aggregator(params(), stage_->attempt, kPlayers);
    for (const auto& [member, sent] : view.sent) {
      EXPECT_TRUE(aggregator.Submit(member, sent->upload).ok());
    }
    const Aggregator::Closed closed = round_.CloseOf(aggregator);
    ClosedRound round = ValueOf(ReadClosedRound(closed.closed_round, stage_->attempt, params(), 1));
    view.round_hash = ClosedRoundHash(round);
    view.check = ShareCheckOf(params().sharing(), view.round_hash);
    view.aggregated_ciphertext = std::move(round.aggregated_ciphertext);
    for (uint32_t seat = 0; seat < SmallRound::kSeats; ++seat) {
      Words& answer = view.answers.emplace_back(params().sharing().mask_words());
      for (const auto& [member, sent] : view.sent) {
        answer = Plus(std::move(answer), sent->masks[seat]);
      }
    }
    view.key_sum = RecoverKey(std::span(view.aggregated_ciphertext).last(params().share_bytes()),
                              view.answers, kAllSeats);
    view.honest_sum = stage_->decryptor->Open(view.aggregated_ciphertext, kPlayers, view.key_sum);
    if (std::exchange(is_first_, false)) ExpectOfSeats(closed, view);
    TakeOwnOut(view);
    return view;
  }
  // A game in an attempt of its own.
  View Play(const Pair& colluders, const Pair& honest, bool swapped) {
    Begin(colluders, honest);
    return Play(swapped);
  }
  // The uploads alone.
  View Collect(bool swapped) {
    View view;
    view.stage = stage_;
    view.sent = stage_->sent;
    for (const bool second : {false, true}) {
      const uint64_t member = stage_->honest[second];
      view.sent[member] = Seal(*stage_, member, second == swapped ? 1 : -1);
    }
    return view;
  }

  const GameSpec& spec() const { return spec_; }
  const he::AggregationParams& params() const { return round_.params(); }

  static constexpr std::array<uint32_t, SmallRound::kSeats> kAllSeats = {0, 1, 2, 3, 4};

  // The key from the shares with `masks` (by seat) at these seats.
  Key RecoverKey(std::span<const uint8_t> shares, const std::vector<Words>& masks,
                 std::span<const uint32_t> seats) const {
    std::vector<he::KeySharing::Answer> answers;
    for (const uint32_t seat : seats) answers.push_back({.seat = seat, .mask_sums = masks[seat]});
    const auto recovery = ValueOf(params().sharing().Recover(shares, answers));
    return Key(recovery.key_sum.Expose().begin(), recovery.key_sum.Expose().end());
  }
  std::span<const uint8_t> CiphertextIn(const Stage& stage, const base::Bytes& upload) const {
    return ValueOf(ReadUpload(upload, stage.attempt, params())).ciphertext;
  }
  std::span<const uint8_t> SharesIn(const Stage& stage, const base::Bytes& upload) const {
    return CiphertextIn(stage, upload).last(params().share_bytes());
  }
  // The mask of an upload for a seat whose folder is closed, by anyone who breaks X25519 and, if
  // `kem_too`, ML-KEM-768, and otherwise takes zeros for its secret.
  Words MaskOfBroken(const Stage& stage, const base::Bytes& upload, uint64_t member, uint32_t seat,
                     bool kem_too) const {
    crypto::SecretBytes shared(32);
    if (kem_too) {
      shared = round_.kem_key(seat).Decapsulate(round_.packet(member).ciphertexts[seat]);
    }
    Words mask(params().sharing().mask_words());
    ExpandMask(
        round_.PairKeyFrom(round_.BrokenExchange(member, seat), shared, member, seat).Expose(),
        stage.attempt, NonceOf(upload), mask);
    return mask;
  }

 private:
  static TermsSpec TermsOf(const GameSpec& spec) {
    TermsSpec terms = SmallTerms(spec.dimension, kPlayers, spec.scheme);
    terms.mechanism.params.noise_stddev = 0.2;  // 200 counts, half of that a member's
    return terms;
  }

  // The equations behind a MAC, whose key the coalition has.
  SmallSolver SolverOf(const he::HomomorphicMacKey& mac) const {
    std::vector<std::vector<uint64_t>> rows(he::kTagWords, std::vector<uint64_t>(spec_.dimension));
    std::vector<uint64_t> unit(spec_.dimension);
    for (size_t i = 0; i < unit.size(); ++i) {
      unit[i] = 1;
      const he::Tag tag = mac.OfSum(unit);
      for (size_t m = 0; m < he::kTagWords; ++m) rows[m][i] = tag.words[m];
      unit[i] = 0;
    }
    return SmallSolver(he::kTagPrime, std::move(rows));
  }

  std::shared_ptr<const Sent> Seal(const Stage& stage, uint64_t member, int sign) {
    const auto made = std::make_shared<Sent>();
    Sent& sent = *made;
    sent.counts.resize(spec_.dimension);
    const int64_t centre = static_cast<int64_t>(params().offset()) + sign * spec_.planted;
    const crypto::SecretBytes seal_key = round_.entropy().Draw(32);
    if (spec_.noise.has_value()) {
      for (uint32_t& count : sent.counts) {
        count = static_cast<uint32_t>(centre + spec_.noise->Draw(random_));
      }
    } else {
      const double planted = sign * static_cast<double>(spec_.planted);
      const double scale = mechanism_.plan().spec().params.scale;
      std::vector<float> update(spec_.dimension, static_cast<float>(planted * scale));
      mechanism_.Clip(update, update);
      crypto::Random noise = SealRandom(seal_key, "noise");
      crypto::Random quantise = SealRandom(seal_key, "quantise");
      mechanism_.NoiseAndQuantize(update, noise, quantise, sent.counts);
    }
    sent.upload =
        ValueOf(secagg::SealCounts(*stage.sealer, sent.counts, pair_keys_[member], seal_key));
    if (spec_.scheme != he::Scheme::kCompact) return made;
    for (uint32_t seat = 0; seat < SmallRound::kSeats; ++seat) {
      ExpandMask(SmallRound::PairKeyIn(pair_keys_[member], seat), stage.attempt,
                 NonceOf(sent.upload), sent.masks.emplace_back(params().sharing().mask_words()));
    }
    return made;
  }

  // All seats vote, answer and check shares, and what every member does with the answers succeeds:
  // the same comes out as in `view`.
  void ExpectOfSeats(const Aggregator::Closed& closed, const View& view) {
    const Attempt& attempt = stage_->attempt;
    const AttemptKeys keys = round_.KeysOf(attempt);
    std::vector<MemoryJournal> journals(SmallRound::kSeats);
    std::vector<CommitteeMember> seats;
    std::vector<base::Bytes> votes, shares;
    for (uint32_t seat = 0; seat < SmallRound::kSeats; ++seat) {
      OwnUpload own;
      if (view.sent.contains(seat)) own = {.nonce = view.NonceOfUpload(seat), .acknowledged = true};
      seats.push_back(CommitteeMember({.terms = round_.terms(),
                                       .committee = round_.committee(),
                                       .signing_key = round_.signing_key(seat),
                                       .result_key = keys.result_key,
                                       .pair_key_of = pair_key_of_[seat],
                                       .journal = journals[seat],
                                       .entropy = round_.entropy()},
                                      attempt, seat, SmallRound::kMembers, own));
      votes.push_back(ValueOf(seats.back().Vote(closed.closed_round, closed.roster)));
    }
    for (CommitteeMember& seat : seats) shares.push_back(ValueOf(seat.Unmask(votes)));
    const auto decrypted = DecryptRound(
        round_.terms(), round_.committee(), attempt, keys,
        {.closed_round = closed.closed_round, .votes = votes, .unmask_shares = shares});
    ASSERT_TRUE(decrypted.ok()) << decrypted.status();
    const Roster roster = ValueOf(ReadRoster(closed.roster, attempt, kPlayers));
    for (uint32_t seat = 0; seat < SmallRound::kSeats; ++seat) {
      const UnmaskShare share = ValueOf(ReadUnmaskShare(shares[seat], attempt, params().sharing(),
                                                        round_.committee(), keys.result_key));
      EXPECT_TRUE(std::ranges::equal(share.mask_sums.Expose(), view.answers[seat])) << seat;
      const CheckRow row = ValueOf(
          ReadCheckRow(ValueOf(seats[seat].CheckShares()), attempt, round_.committee(), kPlayers));
      for (size_t i = 0; i < kPlayers; ++i) {
        EXPECT_EQ(row.combinations[i], view.RowOf(seat, roster.members[i])) << seat;
      }
    }
    crypto::SecretVector<int32_t> key_sum(view.key_sum.size());
    std::ranges::copy(view.key_sum, key_sum.Expose().begin());
    const auto decryptor =
        ValueOf(he::NewCompactDecryptor(params(), PublicSeed(attempt), std::move(key_sum)));
    const auto sum = ValueOf(decryptor->Decrypt(view.aggregated_ciphertext, kPlayers));
    EXPECT_EQ(sum.sums, view.honest_sum.sums);
    EXPECT_EQ(sum.tag.words, view.honest_sum.tag.words);
  }

  void TakeOwnOut(View& view) const {
    for (const auto& [member, sent] : stage_->sent) {
      for (size_t i = 0; i < sent->counts.size(); ++i) view.honest_sum.sums[i] -= sent->counts[i];
      view.honest_sum.tag =
          Minus(view.honest_sum.tag, stage_->mac->Compute(sent->counts, NonceOf(sent->upload)));
    }
  }

  GameSpec spec_;
  SmallRound round_;
  dp::Mechanism mechanism_;
  crypto::InsecureSeededEntropy noise_entropy_;
  crypto::Random random_;
  std::vector<crypto::SecretBytes> pair_keys_;  // by member
  std::vector<PairKeyOf> pair_key_of_;          // by seat
  std::shared_ptr<const Stage> stage_;
  bool is_first_ = false;
  uint32_t attempts_ = 0;
};

}  // namespace tacet::secagg::testing

#endif  // TACET_SECAGG_COALITION_VIEW_FOR_TEST_H_
