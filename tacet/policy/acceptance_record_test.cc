#include "tacet/policy/acceptance_record.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/agreement/hospitals_for_test.h"
#include "tacet/base/status_for_test.h"
#include "tacet/crypto/random.h"

namespace tacet::policy {
namespace {

using agreement::SignedManifest;
using ::testing::IsEmpty;
using ::testing::SizeIs;

crypto::SigningKey NamedKey(std::string_view who) {
  crypto::InsecureSeededEntropy entropy(1, who);
  return crypto::SigningKey::Generate(entropy);
}

using Chain = std::vector<agreement::EpochLink>;

// An epoch with the members of these names.
SignedManifest Epoch(uint32_t epoch, const std::vector<std::string>& names) {
  agreement::SignedManifestSpec spec = agreement::HospitalFederation(names.size());
  spec.epoch = epoch;
  if (epoch > 0) spec.predecessor = {1};
  for (uint8_t site = 0; site < names.size(); ++site) {
    spec.members.push_back(agreement::SignMember(names[site], NamedKey(names[site]), {201, site},
                                                 {.exchange = {2, site}, .kem = {}}));
  }
  return base::ValueOf(SignedManifest::Sign(std::move(spec), NamedKey("coordinator")));
}

crypto::Digest HashOf(const SignedManifest& manifest) { return manifest.manifest().hash(); }

Chain ChainOf(const std::vector<SignedManifest>& epochs) {
  Chain chain;
  for (const SignedManifest& epoch : epochs) chain.push_back(epoch.link());
  return chain;
}

AcceptedEpoch By(AcceptedBy by) {
  return {.unix_seconds = 1'800'000'000,
          .by = by,
          .serial = by == AcceptedBy::kPolicy ? 7U : 0U,
          .kinds = {ChangeKind::kQuery, ChangeKind::kRemoval}};
}

const std::vector<std::string> kFour = {"north", "south", "west", "east"};
const std::vector<std::string> kThree = {"north", "south", "west"};

TEST(AcceptanceRecordTest, APersonAcceptsAllKeysAndAPolicyNone) {
  const SignedManifest first = Epoch(0, kFour);
  AcceptanceRecord record = AfterAccepting({}, {}, ChainOf({first}), By(AcceptedBy::kPerson));
  EXPECT_THAT(record.KnownIn(HashOf(first)), SizeIs(4));
  const SignedManifest grown = Epoch(1, {"north", "south", "west", "east", "lab"});
  record = AfterAccepting(record, HashOf(first), ChainOf({first, grown}), By(AcceptedBy::kPolicy));
  EXPECT_THAT(record.KnownIn(HashOf(grown)), SizeIs(4));
  EXPECT_FALSE(record.KnownIn(HashOf(grown)).contains(NamedKey("lab").public_key()));
  EXPECT_EQ(record.latest_policy, 7u);
  ASSERT_THAT(record.epochs, SizeIs(2));
  EXPECT_EQ(record.epochs[1].epoch, 1u);
  record = AfterAccepting(record, HashOf(grown), ChainOf({first, grown}), By(AcceptedBy::kPerson));
  EXPECT_THAT(record.KnownIn(HashOf(grown)), SizeIs(5));
}

// A member that left may have left because a key was stolen.
TEST(AcceptanceRecordTest, AMemberThatComesBackIsUnknown) {
  const SignedManifest first = Epoch(0, kFour), without = Epoch(1, kThree), again = Epoch(2, kFour);
  AcceptanceRecord record = AfterAccepting({}, {}, ChainOf({first}), By(AcceptedBy::kPerson));
  record =
      AfterAccepting(record, HashOf(first), ChainOf({first, without}), By(AcceptedBy::kPolicy));
  record = AfterAccepting(record, HashOf(without), ChainOf({first, without, again}),
                          By(AcceptedBy::kPolicy));
  EXPECT_THAT(record.KnownIn(HashOf(again)), SizeIs(3));
  EXPECT_FALSE(record.KnownIn(HashOf(again)).contains(NamedKey("east").public_key()));
}

TEST(AcceptanceRecordTest, AMemberThatCameBackInMissedEpochsIsUnknown) {
  const SignedManifest first = Epoch(0, kFour), without = Epoch(1, kThree), again = Epoch(2, kFour);
  AcceptanceRecord record = AfterAccepting({}, {}, ChainOf({first}), By(AcceptedBy::kPerson));
  record = AfterAccepting(record, HashOf(first), ChainOf({first, without, again}),
                          By(AcceptedBy::kPolicy));
  EXPECT_THAT(record.KnownIn(HashOf(again)), SizeIs(3));
}

// As after a disk lost the manifest: the coordinator's word makes no key known.
TEST(AcceptanceRecordTest, WithoutAPersonAndAManifestNoKeyIsKnown) {
  const SignedManifest first = Epoch(0, kFour), second = Epoch(1, kFour);
  const AcceptanceRecord fresh =
      AfterAccepting({}, {}, ChainOf({first}), By(AcceptedBy::kCoordinator));
  EXPECT_THAT(fresh.KnownIn(HashOf(first)), IsEmpty());
  const AcceptanceRecord record = AfterAccepting({}, {}, ChainOf({first}), By(AcceptedBy::kPerson));
  EXPECT_THAT(AfterAccepting(record, {}, ChainOf({first, second}), By(AcceptedBy::kCoordinator))
                  .KnownIn(HashOf(second)),
              IsEmpty());
  // The same epoch again: a person has accepted its members, and that stays written.
  const AcceptanceRecord again =
      AfterAccepting(record, {}, ChainOf({first}), By(AcceptedBy::kCoordinator));
  EXPECT_EQ(again, record);
}

// The policy in force is remembered, also where a person accepts, and the record of an epoch that
// is accepted once more does not forget it.
TEST(AcceptanceRecordTest, TheLatestPolicyNeverFalls) {
  const SignedManifest first = Epoch(0, kFour);
  AcceptedEpoch by_person = By(AcceptedBy::kPerson);
  by_person.serial = 3;
  AcceptanceRecord record = AfterAccepting({}, {}, ChainOf({first}), by_person);
  EXPECT_EQ(record.latest_policy, 3u);
  by_person.serial = 2;
  record = AfterAccepting(record, HashOf(first), ChainOf({first}), by_person);
  EXPECT_EQ(record.latest_policy, 3u);
}

// A backup of the record is of an epoch that has ended, and no key in it counts.
TEST(AcceptanceRecordTest, AnOlderRecordKnowsNobody) {
  const SignedManifest first = Epoch(0, kFour), second = Epoch(1, kThree), third = Epoch(2, kFour);
  const AcceptanceRecord kept = AfterAccepting({}, {}, ChainOf({first}), By(AcceptedBy::kPerson));
  EXPECT_THAT(kept.KnownIn(HashOf(second)), IsEmpty());
  EXPECT_THAT(
      AfterAccepting(kept, HashOf(second), ChainOf({first, second, third}), By(AcceptedBy::kPolicy))
          .KnownIn(HashOf(third)),
      IsEmpty());
}

// The record is written before the invitation. A process that is killed in between is still in
// the epoch before, whose keys stay known, and the same command changes nothing more.
TEST(AcceptanceRecordTest, AKillBetweenRecordAndInvitationLosesNothing) {
  const SignedManifest first = Epoch(0, kFour), second = Epoch(1, kThree);
  const AcceptanceRecord before = AfterAccepting({}, {}, ChainOf({first}), By(AcceptedBy::kPerson));
  const AcceptanceRecord once =
      AfterAccepting(before, HashOf(first), ChainOf({first, second}), By(AcceptedBy::kPolicy));
  EXPECT_EQ(once.KnownIn(HashOf(first)), before.KnownIn(HashOf(first)));
  EXPECT_EQ(AfterAccepting(once, HashOf(first), ChainOf({first, second}), By(AcceptedBy::kPolicy)),
            once);
  // The invitation of the same epoch with another certificate: who accepted it stays written.
  const AcceptanceRecord renewed =
      AfterAccepting(once, HashOf(second), ChainOf({first, second}), By(AcceptedBy::kUnchanged));
  EXPECT_EQ(renewed.epochs, once.epochs);
  EXPECT_EQ(renewed.KnownIn(HashOf(second)), once.KnownIn(HashOf(second)));
}

TEST(AcceptanceRecordTest, TheSitesOwnSignatureIsChecked) {
  const SignedManifest first = Epoch(0, kFour), second = Epoch(1, kThree);
  AcceptanceRecord record = AfterAccepting({}, {}, ChainOf({first}), By(AcceptedBy::kPerson));
  record = AfterAccepting(record, HashOf(first), ChainOf({first, second}), By(AcceptedBy::kPolicy));
  const crypto::SigningKey north = NamedKey("north");
  const base::Bytes bytes = WriteAcceptanceRecord(record, north);
  ASSERT_OK_AND_ASSIGN(const auto read, ReadAcceptanceRecord(bytes, north.public_key()));
  EXPECT_EQ(read, record);
  EXPECT_EQ(ReadAcceptanceRecord(bytes, NamedKey("south").public_key()).status().code(),
            absl::StatusCode::kDataLoss);
  for (size_t at = 0; at < bytes.size(); at += 5) {
    base::Bytes altered = bytes;
    altered[at] ^= 1;
    EXPECT_FALSE(ReadAcceptanceRecord(altered, north.public_key()).ok()) << at;
    altered.resize(at);
    EXPECT_FALSE(ReadAcceptanceRecord(altered, north.public_key()).ok()) << at;
  }
}

TEST(AcceptanceRecordTest, ALongRecordForgetsItsOldestEpochs) {
  AcceptanceRecord record;
  record.epochs.assign(AcceptanceRecord::kMaxEpochs, By(AcceptedBy::kPerson));
  const SignedManifest first = Epoch(0, kThree);
  record = AfterAccepting(record, {}, ChainOf({first}), By(AcceptedBy::kPerson));
  EXPECT_THAT(record.epochs, SizeIs(AcceptanceRecord::kMaxEpochs));
  EXPECT_EQ(record.epochs.back().manifest, HashOf(first));
}

}  // namespace
}  // namespace tacet::policy
