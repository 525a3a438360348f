// Test vectors of the committee's protocol for other implementations: tests/vectors/committee.json
// and tests/vectors/closed_round.json. Each is computed again and compared with its file. With the
// environment variable TACET_WRITE_VECTORS=FOLDER both are written there instead.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/base/bytes.h"
#include "tacet/base/json.h"
#include "tacet/crypto/hash.h"
#include "tacet/secagg/check_row.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/key_packet.h"
#include "tacet/secagg/small_round_for_test.h"
#include "tacet/secagg/unmask_share.h"
#include "tacet/secagg/whole_messages_for_test.h"

namespace tacet::secagg {
namespace {

using base::JsonValue;
using testing::ValueOf;

void CompareOrWrite(const std::string& name, const JsonValue& vectors) {
  const std::string text = vectors.Dump(1) + "\n";
  if (const char* const folder = std::getenv("TACET_WRITE_VECTORS"); folder != nullptr) {
    std::ofstream(std::string(folder) + "/" + name) << text;
    return;
  }
  std::ifstream file(TACET_SOURCE_DIR "/tests/vectors/" + name);
  const std::string expected((std::istreambuf_iterator<char>(file)), {});
  EXPECT_TRUE(text == expected) << name << " does not hold what is computed; to compare, run with "
                                << "TACET_WRITE_VECTORS=FOLDER";
}

JsonValue AttemptJson(const Attempt& attempt) {
  return JsonValue::MakeObject()
      .Set("manifest_hash", base::ToHex(attempt.manifest_hash))
      .Set("epoch", attempt.number.epoch)
      .Set("round", attempt.number.round)
      .Set("attempt", attempt.number.attempt)
      .Set("model_digest", base::ToHex(attempt.model_digest));
}

// A long list: its ends, and the digest of its bytes (little-endian).
template <typename Word>
JsonValue ListJson(std::span<const Word> words) {
  base::Bytes bytes;
  for (const Word word : words) {
    for (size_t i = 0; i < sizeof(Word); ++i) {
      bytes.push_back(static_cast<uint8_t>(static_cast<uint64_t>(word) >> (8 * i)));
    }
  }
  JsonValue first = JsonValue::MakeArray();
  JsonValue last = JsonValue::MakeArray();
  for (const Word word : words.first(4)) first.Append(static_cast<int64_t>(word));
  for (const Word word : words.last(4)) last.Append(static_cast<int64_t>(word));
  return JsonValue::MakeObject()
      .Set("length", words.size())
      .Set("first", std::move(first))
      .Set("last", std::move(last))
      .Set("sha256", base::ToHex(crypto::Sha256(bytes)));
}

JsonValue WordsOf(std::span<const uint8_t> shares) {
  std::vector<uint16_t> words;
  for (size_t i = 0; i < shares.size(); i += 2) {
    words.push_back(static_cast<uint16_t>(shares[i] | shares[i + 1] << 8));
  }
  return ListJson(std::span<const uint16_t>(words));
}

JsonValue CombinationJson(const he::ShareCombination& combination) {
  JsonValue words = JsonValue::MakeArray();
  for (const uint16_t word : combination) words.Append(word);
  return words;
}

JsonValue ExchangeJson(uint64_t member, const crypto::ExchangeKey& key) {
  return JsonValue::MakeObject()
      .Set("member", member)
      .Set("exchange_secret", base::ToHex(key.secret().Expose()))
      .Set("exchange_public", base::ToHex(key.public_key()));
}

Attempt VectorAttempt() {
  Attempt attempt{.number = {.epoch = 3, .round = 12, .attempt = 1}};
  for (uint8_t i = 0; i < 32; ++i) {
    attempt.manifest_hash[i] = i;
    attempt.model_digest[i] = static_cast<uint8_t>(200 + i);
  }
  return attempt;
}

// Two clients, one of them on the committee of five seats.
TEST(CommitteeVectorsTest, KeysMasksSharesAndRecovery) {
  crypto::InsecureSeededEntropy entropy(1, "committee vectors");
  const he::KeySharing sharing = ValueOf(he::KeySharing::Create({.seats = 5, .corrupt = 2}));
  const Attempt attempt = VectorAttempt();
  const crypto::SecretBytes epoch_key = entropy.Draw(32);
  constexpr uint64_t kSeatMembers[] = {4, 0, 9, 2, 7};
  constexpr uint64_t kClients[] = {2, 5};
  std::vector<crypto::ExchangeKey> exchange_keys;  // by member
  for (int member = 0; member < 10; ++member) {
    exchange_keys.push_back(crypto::ExchangeKey::Generate(entropy));
  }
  crypto::InsecureSeededEntropy kem_entropy(1, "committee vectors, KEM keys");
  std::vector<crypto::KemKey> kem_keys;  // by seat
  std::vector<crypto::KemPublicKey> seat_keys;
  for (int seat = 0; seat < 5; ++seat) {
    kem_keys.push_back(crypto::KemKey::Generate(kem_entropy));
    seat_keys.push_back(kem_keys.back().public_key());
  }
  he::ShareSums share_sums(sharing);
  std::vector<MaskAccumulator> mask_sums;
  for (int seat = 0; seat < 5; ++seat) mask_sums.emplace_back(attempt, sharing.mask_words());
  crypto::Digest round_hash;
  round_hash.fill(0x2a);
  const he::ShareCheck check = ShareCheckOf(sharing, round_hash);
  std::vector<int32_t> expected(4096);
  JsonValue clients = JsonValue::MakeArray();
  for (size_t k = 0; k < 2; ++k) {
    SealNonce nonce;
    for (size_t i = 0; i < nonce.size(); ++i) nonce[i] = static_cast<uint8_t>(16 * k + i);
    std::vector<int8_t> key(4096);
    for (size_t i = 0; i < key.size(); ++i) {
      key[i] = static_cast<int8_t>(static_cast<int>((i * i + kClients[k]) % 43) - 21);
      expected[i] += key[i];
    }
    std::vector<uint16_t> checks(sharing.check_secrets());
    for (size_t i = 0; i < checks.size(); ++i) {
      checks[i] = static_cast<uint16_t>((4096 * i + kClients[k]) % he::kSharePrime);
    }
    const crypto::SecretBytes coins = kem_entropy.Draw(crypto::KemKey::kSeedBytes);
    const crypto::SigningKey signing_key = crypto::SigningKey::Generate(kem_entropy);
    MadePacket made = ValueOf(MakeKeyPacket({.manifest_hash = attempt.manifest_hash,
                                             .epoch = attempt.number.epoch,
                                             .client = kClients[k]},
                                            seat_keys, coins));
    SignKeyPacket(signing_key, made.packet);
    std::vector<uint16_t> masks(5 * sharing.mask_words());
    JsonValue pairs = JsonValue::MakeArray();
    for (uint32_t seat = 0; seat < 5; ++seat) {
      const crypto::SecretBytes agreed =
          ValueOf(exchange_keys[kClients[k]].Agree(exchange_keys[kSeatMembers[seat]].public_key()));
      const crypto::SecretBytes shared = kem_keys[seat].Decapsulate(made.packet.ciphertexts[seat]);
      const crypto::SecretBytes pair_key =
          DerivePairKey({.agreed = agreed, .shared = shared, .epoch_key = epoch_key},
                        {.manifest_hash = attempt.manifest_hash,
                         .epoch = attempt.number.epoch,
                         .client = kClients[k],
                         .seat = seat,
                         .list = ListDigest(made.packet)});
      const auto mask = std::span(masks).subspan(seat * sharing.mask_words(), sharing.mask_words());
      ExpandMask(pair_key.Expose(), attempt, nonce, mask);
      mask_sums[seat].Add(pair_key.Expose(), nonce);
      pairs.Append(JsonValue::MakeObject()
                       .Set("seat", seat)
                       .Set("agreed", base::ToHex(agreed.Expose()))
                       .Set("shared", base::ToHex(shared.Expose()))
                       .Set("pair_key", base::ToHex(pair_key.Expose()))
                       .Set("mask", ListJson(std::span<const uint16_t>(mask)))
                       .Set("combination", CombinationJson(check.Combine(mask))));
    }
    base::Bytes shares(sharing.share_bytes());
    sharing.Share(key, checks, masks, shares);
    share_sums.Add(shares);
    clients.Append(ExchangeJson(kClients[k], exchange_keys[kClients[k]])
                       .Set("coins", base::ToHex(coins.Expose()))
                       .Set("signing_public", base::ToHex(signing_key.public_key()))
                       .Set("packet", base::ToHex(WriteKeyPacket(made.packet)))
                       .Set("list", base::ToHex(ListDigest(made.packet)))
                       .Set("nonce", base::ToHex(nonce))
                       .Set("key", ListJson(std::span<const int8_t>(key)))
                       .Set("pairs", std::move(pairs))
                       .Set("shares", WordsOf(shares)));
  }
  base::Bytes sums(sharing.share_bytes());
  share_sums.Write(sums);
  std::vector<crypto::SecretVector<uint16_t>> answers;
  JsonValue seats = JsonValue::MakeArray();
  for (uint32_t seat = 0; seat < 5; ++seat) {
    answers.push_back(mask_sums[seat].Finish());
    seats.Append(
        ExchangeJson(kSeatMembers[seat], exchange_keys[kSeatMembers[seat]])
            .Set("kem_seed", base::ToHex(kem_keys[seat].seed().Expose()))
            .Set("mask_sum", ListJson(std::span<const uint16_t>(answers.back().Expose()))));
  }
  std::vector<he::KeySharing::Answer> four;
  for (const uint32_t seat : {4u, 0u, 3u, 2u}) four.push_back({seat, answers[seat].Expose()});
  const he::KeySharing::Recovery recovery = ValueOf(sharing.Recover(sums, four));
  ASSERT_TRUE(std::ranges::equal(recovery.key_sum.Expose(), expected));
  CompareOrWrite(
      "committee.json",
      JsonValue::MakeObject()
          .Set("about",
               "Shares of one-time keys among a committee: docs/formats/committee.md. Client m has "
               "the key k[i] = ((i i + m) mod 43) - 21. Long lists are given by their ends and the "
               "SHA-256 of their bytes: u16 words, keys as int8, sums of keys as int32, "
               "little-endian. The random secrets of client m are (4096 i + m) mod 65521. "
               "Combinations of masks are those of a check row for round_hash. Seats have KEM keys "
               "from "
               "their seeds; a client's packet follows from its coins.")
          .Set("committee", JsonValue::MakeObject()
                                .Set("seats", sharing.shape().seats)
                                .Set("corrupt", sharing.shape().corrupt)
                                .Set("packing", sharing.shape().packing)
                                .Set("votes", sharing.votes())
                                .Set("threshold", sharing.threshold())
                                .Set("mask_words", sharing.mask_words()))
          .Set("round_hash", base::ToHex(round_hash))
          .Set("epoch_key", base::ToHex(epoch_key.Expose()))
          .Set("attempt", AttemptJson(attempt))
          .Set("seats", std::move(seats))
          .Set("clients", std::move(clients))
          .Set("share_sums", WordsOf(sums))
          .Set("key_sum", ListJson(std::span<const int32_t>(recovery.key_sum.Expose()))));
}

// Eight members, seven of them on the committee; three take part. Seat 3 answers wrongly.
class VectorRound {
 public:
  VectorRound() : entropy_(1, "closed round vectors"), terms_(ValueOf(Terms::Create(Spec()))) {
    for (uint64_t member = 0; member < kMembers; ++member) {
      signing_keys_.push_back(crypto::SigningKey::Generate(entropy_));
      exchange_keys_.push_back(crypto::ExchangeKey::Generate(entropy_));
    }
    for (uint32_t seat = 0; seat < kSeats; ++seat) {
      const uint64_t member = kSeatMembers[seat];
      committee_.push_back({.member = member,
                            .signing_key = signing_keys_[member].public_key(),
                            .exchange_key = exchange_keys_[member].public_key()});
      pair_key_of_.push_back([this, seat](uint64_t client) -> absl::StatusOr<ListedPairKey> {
        return ListedPairKey{ListOf(client), PairKey(client, seat)};
      });
    }
  }
  VectorRound(const VectorRound&) = delete;
  VectorRound& operator=(const VectorRound&) = delete;

  JsonValue Json() {
    const he::AggregationParams& params = terms_.aggregation();
    const auto sealer = ValueOf(Sealer::Create(terms_, attempt_, keys_));
    Aggregator aggregator(params, attempt_, terms_.min_participants());
    std::vector<uint64_t> sums(terms_.dimension());
    std::map<uint64_t, SealNonce> nonces;
    std::vector<base::Bytes> uploads;
    for (const uint64_t client : kClients) {
      std::vector<uint32_t> counts(terms_.dimension());
      for (size_t i = 0; i < counts.size(); ++i) {
        counts[i] = static_cast<uint32_t>(params.offset() + 7 * client * i % 97 - 40);
        sums[i] += counts[i];
      }
      crypto::SecretBytes pair_keys(kPairKeyBytes * kSeats);
      for (uint32_t seat = 0; seat < kSeats; ++seat) {
        std::ranges::copy(PairKey(client, seat).Expose(),
                          testing::SmallRound::PairKeyIn(pair_keys, seat).begin());
      }
      uploads.push_back(ValueOf(SealCounts(*sealer, counts, pair_keys, entropy_.Draw(32))));
      nonces[client] = testing::NonceOf(uploads.back());
      EXPECT_TRUE(aggregator.Submit(client, uploads.back()).ok());
    }
    const Aggregator::Closed closed = ValueOf(aggregator.Close(entropy_, ListOf));
    const auto [votes, shares, rows] = Answers(closed, nonces);
    const DecryptedRound decrypted = ValueOf(DecryptRound(
        terms_, committee_, attempt_, keys_,
        {.closed_round = closed.closed_round, .votes = votes, .unmask_shares = shares}));
    EXPECT_EQ(decrypted.aggregate.sums, sums);
    EXPECT_EQ(decrypted.wrong_seats, std::vector<uint32_t>{3});
    JsonValue committee = JsonValue::MakeArray();
    for (const CommitteeSeat& seat : committee_) {
      committee.Append(JsonValue::MakeObject()
                           .Set("member", seat.member)
                           .Set("signing_key", base::ToHex(seat.signing_key)));
    }
    JsonValue lists = JsonValue::MakeArray();
    for (const uint64_t client : kClients) {
      lists.Append(
          JsonValue::MakeObject().Set("member", client).Set("list", base::ToHex(ListOf(client))));
    }
    JsonValue decrypted_sums = JsonValue::MakeArray();
    JsonValue values = JsonValue::MakeArray();
    for (const uint64_t sum : decrypted.aggregate.sums) {
      decrypted_sums.Append(sum);
      values.Append(terms_.mechanism().spec().params.scale *
                    (static_cast<double>(sum) - 3 * static_cast<double>(params.offset())));
    }
    return JsonValue::MakeObject()
        .Set(
            "about",
            "Uploads, their closed round with its votes and unmask shares, and what a member makes "
            "of them: docs/formats/messages.md. The unmask share of seat 3 is wrong. Check rows "
            "are those "
            "that seats would give if the sum were wrong.")
        .Set("terms", TermsJson())
        .Set("attempt", AttemptJson(attempt_))
        .Set("epoch_key", base::ToHex(epoch_key_.Expose()))
        .Set("committee", std::move(committee))
        .Set("uploads", HexList(uploads))
        .Set("closed_round", base::ToHex(closed.closed_round))
        .Set("roster", base::ToHex(closed.roster))
        .Set("lists", std::move(lists))
        .Set("votes", HexList(votes))
        .Set("unmask_shares", HexList(shares))
        .Set("check_rows", HexList(rows))
        .Set("sums", std::move(decrypted_sums))
        .Set("values", std::move(values))
        .Set("wrong_seats", JsonValue::MakeArray().Append(3));
  }

 private:
  static constexpr uint64_t kMembers = 8;
  static constexpr uint32_t kSeats = 7;
  static constexpr uint64_t kSeatMembers[] = {2, 0, 5, 1, 7, 4, 3};
  static constexpr uint64_t kClients[] = {1, 4, 6};

  static TermsSpec Spec() {
    TermsSpec spec = testing::SmallTerms(9, 3);
    spec.committee = {.seats = kSeats, .corrupt = 2};
    return spec;
  }

  static JsonValue HexList(const std::vector<base::Bytes>& messages) {
    JsonValue list = JsonValue::MakeArray();
    for (const base::Bytes& message : messages) list.Append(base::ToHex(message));
    return list;
  }

  JsonValue TermsJson() const {
    const dp::MechanismSpec& mechanism = terms_.mechanism().spec();
    const he::AggregationParams& params = terms_.aggregation();
    return JsonValue::MakeObject()
        .Set("dimension", terms_.dimension())
        .Set("min_participants", terms_.min_participants())
        .Set("max_participants", terms_.max_participants())
        .Set("attempts", mechanism.attempts)
        .Set("plaintext_bits", 0)  // the smallest number that holds the sums
        .Set("seats", params.committee().seats)
        .Set("corrupt", params.committee().corrupt)
        .Set("packing", params.committee().packing)
        .Set("clip_norm", mechanism.params.clip_norm)
        .Set("coordinate_bound", mechanism.params.coordinate_bound)
        .Set("noise_stddev", mechanism.params.noise_stddev)
        .Set("noise_shares", mechanism.noise_shares)
        .Set("scale", mechanism.params.scale)
        .Set("sampler", static_cast<int>(mechanism.params.sampler));
  }

  crypto::SecretBytes PairKey(uint64_t client, uint32_t seat) const {
    const crypto::SecretBytes agreed =
        ValueOf(exchange_keys_[client].Agree(committee_[seat].exchange_key));
    // The vectors of this round show no pair key: packets are in those of the committee.
    const crypto::SecretBytes shared = crypto::InsecureSeededEntropy(client, "shared").Draw(32);
    return DerivePairKey({.agreed = agreed, .shared = shared, .epoch_key = epoch_key_},
                         {.manifest_hash = attempt_.manifest_hash,
                          .epoch = attempt_.number.epoch,
                          .client = client,
                          .seat = seat,
                          .list = ListOf(client)});
  }
  static crypto::Digest ListOf(uint64_t client) {
    crypto::Digest list;
    crypto::InsecureSeededEntropy(client, "list").Fill(list);
    return list;
  }

  struct SeatAnswers {
    std::vector<base::Bytes> votes, shares, rows;
  };
  SeatAnswers Answers(const Aggregator::Closed& closed,
                      const std::map<uint64_t, SealNonce>& nonces) {
    SeatAnswers answers;
    auto& [votes, shares, rows] = answers;
    std::vector<MemoryJournal> journals(kSeats);
    std::vector<CommitteeMember> members;
    for (uint32_t seat = 0; seat < kSeats; ++seat) {
      OwnUpload own;
      if (const auto sent = nonces.find(kSeatMembers[seat]); sent != nonces.end()) {
        own = {.nonce = sent->second, .acknowledged = true};
      }
      members.emplace_back(CommitteeMemberParts{.terms = terms_,
                                                .committee = committee_,
                                                .signing_key = signing_keys_[kSeatMembers[seat]],
                                                .result_key = keys_.result_key,
                                                .pair_key_of = pair_key_of_[seat],
                                                .journal = journals[seat],
                                                .entropy = entropy_},
                           attempt_, seat, kMembers, own);
      votes.push_back(ValueOf(members.back().Vote(closed.closed_round, closed.roster)));
    }
    const crypto::Digest hash = ClosedRoundHash(
        ValueOf(ReadClosedRound(closed.closed_round, attempt_, terms_.aggregation(), 1)));
    for (uint32_t seat = 0; seat < kSeats; ++seat) {
      shares.push_back(ValueOf(members[seat].Unmask(votes)));
      rows.push_back(ValueOf(members[seat].CheckShares()));
      if (seat != 3) continue;
      const std::vector<uint16_t> wrong(terms_.aggregation().sharing().mask_words(), 7);
      shares.back() = WriteUnmaskShare(wrong, attempt_, hash, seat, keys_.result_key,
                                       signing_keys_[kSeatMembers[seat]], entropy_);
    }
    return answers;
  }

  crypto::InsecureSeededEntropy entropy_;
  Terms terms_;
  Attempt attempt_ = VectorAttempt();
  crypto::SecretBytes epoch_key_ = entropy_.Draw(32);
  AttemptKeys keys_ = DeriveAttemptKeys(epoch_key_, he::Scheme::kCompact, attempt_);
  std::vector<crypto::SigningKey> signing_keys_;
  std::vector<crypto::ExchangeKey> exchange_keys_;
  Committee committee_;
  std::vector<PairKeyOf> pair_key_of_;
};

TEST(CommitteeVectorsTest, AClosedRound) {
  CompareOrWrite("closed_round.json", VectorRound().Json());
}

}  // namespace
}  // namespace tacet::secagg
