#include "tacet/secagg/key_packet.h"

#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/base/status_for_test.h"
#include "tacet/crypto/random.h"

namespace tacet::secagg {
namespace {

using base::ValueOf;
using ::testing::HasSubstr;

constexpr size_t kSeats = 3;

class KeyPacketTest : public ::testing::Test {
 protected:
  KeyPacketTest() {
    for (size_t seat = 0; seat < kSeats; ++seat) {
      kem_keys_.push_back(crypto::KemKey::Generate(entropy_));
      seat_keys_.push_back(kem_keys_.back().public_key());
    }
  }

  MadePacket Make(const PacketOwner& owner, const crypto::SecretBytes& coins) const {
    MadePacket made = ValueOf(MakeKeyPacket(owner, seat_keys_, coins));
    SignKeyPacket(signing_key_, made.packet);
    return made;
  }
  MadePacket Make() const { return Make(owner_, coins_); }

  crypto::InsecureSeededEntropy entropy_{1, "key packets"};
  std::vector<crypto::KemKey> kem_keys_;
  std::vector<crypto::KemPublicKey> seat_keys_;
  const crypto::SigningKey signing_key_ = crypto::SigningKey::Generate(entropy_);
  const crypto::SecretBytes coins_ = entropy_.Draw(64);
  const PacketOwner owner_{.manifest_hash = {7}, .epoch = 3, .client = 5};
};

TEST_F(KeyPacketTest, EachSeatFindsTheSecretThatTheClientHas) {
  const MadePacket made = Make();
  const base::Bytes whole = WriteKeyPacket(made.packet);
  EXPECT_EQ(whole.size(), KeyPacketBytes(kSeats, kSeats));
  for (uint32_t seat = 0; seat < kSeats; ++seat) {
    const base::Bytes copy = CopyForSeat(whole, kSeats, seat);
    EXPECT_EQ(copy.size(), KeyPacketBytes(kSeats, 1));
    const KeyPacket read = ValueOf(ReadKeyPacket(copy, kSeats, seat));
    EXPECT_EQ(read.owner, owner_);
    EXPECT_TRUE(IsSignedBy(read, signing_key_.public_key()));
    EXPECT_EQ(ListDigest(read), ListDigest(made.packet));
    for (uint32_t other = 0; other < kSeats; ++other) {
      const crypto::SecretBytes shared = kem_keys_[other].Decapsulate(read.ciphertexts.front());
      EXPECT_EQ(crypto::ConstantTimeEqual(shared.Expose(), made.shared[seat].Expose()),
                other == seat);
    }
  }
}

// A client that was restarted sends what it sent before.
TEST_F(KeyPacketTest, CoinsDetermineThePacket) {
  EXPECT_EQ(WriteKeyPacket(Make().packet), WriteKeyPacket(Make().packet));
  std::set<crypto::Digest> lists = {ListDigest(Make().packet)};
  for (const PacketOwner& other : {PacketOwner{{8}, 3, 5}, {{7}, 4, 5}, {{7}, 3, 6}}) {
    const MadePacket made = Make(other, coins_);
    lists.insert(ListDigest(made.packet));
    // Coins of two epochs have nothing in common.
    EXPECT_NE(made.packet.ciphertexts[0], Make().packet.ciphertexts[0]);
    EXPECT_FALSE(crypto::ConstantTimeEqual(made.shared[0].Expose(), Make().shared[0].Expose()));
  }
  lists.insert(ListDigest(Make(owner_, entropy_.Draw(64)).packet));
  EXPECT_EQ(lists.size(), 5u);
}

TEST_F(KeyPacketTest, ChangedPacketsAreNoticed) {
  const base::Bytes whole = WriteKeyPacket(Make().packet);
  for (size_t at = 0; at < whole.size(); at += at < 230 ? 1 : 97) {
    base::Bytes changed = whole;
    changed[at] ^= 1;
    const absl::StatusOr<KeyPacket> read = ReadKeyPacket(changed, kSeats);
    EXPECT_FALSE(read.ok() && IsSignedBy(*read, signing_key_.public_key())) << at;
  }
  const base::Bytes copy = CopyForSeat(whole, kSeats, 1);
  EXPECT_THAT(base::Message(ReadKeyPacket(copy, kSeats, 2).status()),
              HasSubstr("the ciphertext for seat 2 does not have its hash"));
  EXPECT_THAT(base::Message(ReadKeyPacket(copy, kSeats).status()), HasSubstr("bytes, expected"));
  EXPECT_FALSE(ReadKeyPacket(whole, kSeats + 1).ok());
  EXPECT_FALSE(ReadKeyPacket({}, kSeats).ok());
  EXPECT_FALSE(IsSignedBy(Make().packet, crypto::SigningKey::Generate(entropy_).public_key()));
}

TEST_F(KeyPacketTest, NothingIsEncapsulatedToAKeyThatIsNone) {
  seat_keys_[1].fill(0xff);
  EXPECT_THAT(base::Message(MakeKeyPacket(owner_, seat_keys_, coins_).status()),
              HasSubstr("not an ML-KEM-768 key"));
}

}  // namespace
}  // namespace tacet::secagg
