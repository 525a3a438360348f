// Game about recorded invitations, once X25519 is broken. The coordinator sends one of two epoch
// keys that the attacker has chosen, and the attacker guesses which one. It has every byte that
// server and network carry: requests with all public keys, the manifest, and the letters of this
// epoch and of an ended one, whose epoch key it knows by now. It computes whatever two ends agree
// with X25519, so X25519 might as well return a constant.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/agreement/hospitals_for_test.h"
#include "tacet/agreement/member_keys.h"
#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/status_for_test.h"
#include "tacet/base/test_size_for_test.h"
#include "tacet/crypto/half_broken_box_for_test.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/random.h"

namespace tacet::agreement {
namespace {

using base::ValueOf;

constexpr uint64_t kReaders = 2;  // members whose letters are in the game

// One epoch of the federation, with the secrets of its members.
struct PlayedEpoch {
  PlayedEpoch(uint32_t epoch, const std::vector<MemberKeys>& sites, crypto::Entropy& entropy) {
    SignedManifestSpec spec = HospitalFederation(kReaders);
    spec.epoch = epoch;
    spec.predecessor = {3};
    for (size_t i = 0; i < sites.size(); ++i) {
      keys.push_back(ExchangeKeys::Generate(entropy));
      spec.members.push_back(SignMember("site-" + std::to_string(i), sites[i].signing,
                                        sites[i].sealing.public_key(), keys[i].public_keys()));
    }
    manifest.emplace(ValueOf(SignedManifest::Sign(std::move(spec), coordinator)));
  }

  crypto::HalfBrokenBox BoxOf(uint64_t member, std::span<const uint8_t> letter) const {
    base::ByteWriter context;
    context.Raw("tacet/1/encrypted epoch key");
    context.Raw(manifest->manifest().hash());
    context.U32(manifest->epoch());
    context.U64(member);
    return {.box = letter.subspan(50, 1168),
            .sealing_key = manifest->members()[member].sealing_key,
            .kem_key = keys[member].kem.public_key(),
            .context = context.Take()};
  }
  base::Bytes LetterTo(uint64_t member, const crypto::SecretBytes& epoch_key,
                       crypto::Entropy& entropy) const {
    return ValueOf(EncryptEpochKey(*manifest, member, keys[member].kem.public_key(), epoch_key,
                                   coordinator, entropy));
  }

  crypto::InsecureSeededEntropy coordinators{1, "coordinator"};
  crypto::SigningKey coordinator = crypto::SigningKey::Generate(coordinators);
  std::vector<ExchangeKeys> keys;  // by member
  std::optional<SignedManifest> manifest;
};

int Distance(std::span<const uint8_t> a, std::span<const uint8_t> b) {
  int bits = 0;
  for (size_t i = 0; i < a.size(); ++i) bits += std::popcount(static_cast<uint8_t>(a[i] ^ b[i]));
  return bits;
}

// Right guesses and letters read, by strategy.
struct Score {
  int right = 0;
  int read = 0;
};

class InvitationGameTest : public ::testing::Test {
 protected:
  InvitationGameTest() {
    for (uint64_t i = 0; i < kReaders; ++i) sites_.push_back(MemberKeys::Generate(entropy_));
    ended_.emplace(3, sites_, entropy_);
    present_.emplace(4, sites_, entropy_);
  }

  // The texts of decryption with each guess of the missing secret. `right` has the ML-KEM secret.
  std::map<std::string, base::Bytes> Texts(uint64_t member, std::span<const uint8_t> letter,
                                           std::span<const uint8_t> ended_letter) const {
    const crypto::HalfBrokenBox box = present_->BoxOf(member, letter);
    const crypto::HalfBrokenBox ended = ended_->BoxOf(member, ended_letter);
    const crypto::SealingKey& sealing = sites_[member].sealing;
    const crypto::SecretBytes agreed = ValueOf(sealing.Agree(box.sender()));
    const crypto::SecretBytes also = ValueOf(present_->keys[member].exchange.Agree(box.sender()));
    const auto with = [&](std::span<const uint8_t> shared) {
      return box.TextWith(agreed.Expose(), shared);
    };
    const base::Bytes zeros(32);
    std::map<std::string, base::Bytes> texts = {
        {"no KEM secret", with({})},
        {"zeros", with(zeros)},
        {"X25519 twice", with(agreed.Expose())},
        {"the exchange key's X25519", with(also.Expose())},
        {"a hash of the KEM ciphertext", with(crypto::Sha256(box.ciphertext()))},
        {"an own KEM key", with(own_.Decapsulate(box.ciphertext()).Expose())},
        {"the KEM key of the ended epoch",
         with(ended_->keys[member].kem.Decapsulate(box.ciphertext()).Expose())},
        {"the KEM key of another member",
         with(present_->keys[1 - member].kem.Decapsulate(box.ciphertext()).Expose())},
        {"ML-KEM broken, X25519 not",
         box.TextWith(zeros, present_->keys[member].kem.Decapsulate(box.ciphertext()).Expose())},
        {"right", with(present_->keys[member].kem.Decapsulate(box.ciphertext()).Expose())}};
    // The key stream of the ended epoch's letter, whose content is known.
    base::Bytes& stream = texts["the stream of an earlier letter"];
    for (size_t i = 0; i < 32; ++i) {
      stream.push_back(
          static_cast<uint8_t>(box.box[1120 + i] ^ ended.box[1120 + i] ^ ended_key_.Expose()[i]));
    }
    return texts;
  }

  crypto::InsecureSeededEntropy entropy_{1, "invitation game"};
  std::vector<MemberKeys> sites_;
  std::optional<PlayedEpoch> ended_, present_;
  crypto::KemKey own_ = crypto::KemKey::Generate(entropy_);
  crypto::SecretBytes ended_key_ = entropy_.Draw(32);
};

// A strategy that tells nothing apart is right in half of the games, within 6.2 standard errors:
// passed by chance with probability 6e-10. In 10^4 games a rate of 55 % is noticed with probability
// 0.9999.
TEST_F(InvitationGameTest, WithX25519BrokenNobodyTellsWhichEpochKeyWasSent) {
  const int kGames = base::TestSize("TACET_INVITATION_GAMES", 200);
  crypto::Random coins = crypto::Random::FromEntropy(entropy_);
  std::map<std::string, Score> scores;
  for (int game = 0; game < kGames; ++game) {
    const std::array<crypto::SecretBytes, 2> offered = {entropy_.Draw(32), entropy_.Draw(32)};
    const bool second = coins.Below(2) == 1;
    const uint64_t member = coins.Below(kReaders);
    const base::Bytes letter = present_->LetterTo(member, offered[second], entropy_);
    const base::Bytes ended = ended_->LetterTo(member, ended_key_, entropy_);
    for (const auto& [strategy, text] : Texts(member, letter, ended)) {
      const int nearer = Distance(text, offered[0].Expose()) - Distance(text, offered[1].Expose());
      const bool guess = nearer > 0 || (nearer == 0 && coins.Below(2) == 1);
      scores[strategy].right += guess == second ? 1 : 0;
      scores[strategy].read += std::ranges::equal(text, offered[second].Expose()) ? 1 : 0;
    }
  }
  ASSERT_EQ(scores.size(), 11u);
  for (const auto& [strategy, score] : scores) {
    RecordProperty(strategy, score.right);
    if (strategy == "right") {
      EXPECT_EQ(score.right, kGames);
      EXPECT_EQ(score.read, kGames);
      continue;
    }
    EXPECT_NEAR(score.right, 0.5 * kGames, 6.2 * 0.5 * std::sqrt(kGames)) << strategy;
    EXPECT_EQ(score.read, 0) << strategy;
  }
}

}  // namespace
}  // namespace tacet::agreement
