// Members that are removed, added and replaced in mid-run: rounds, model and ledgers continue, and
// nobody continues who was removed.
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status.h"
#include "tests/live/changing_federation_for_test.h"

namespace tacet {
namespace {

using live::testing::ChangingFederation;
using protocol::testing::ValueOf;
using ::testing::HasSubstr;

TEST(MembershipChangeTest, RoundsModelAndLedgersGoOn) {
  ChangingFederation all(8);
  const auto& first = all.BeginEpoch({0, 1, 2, 3, 4});
  all.RunUntil(2);
  const auto& removed = all.BeginEpoch({0, 1, 3, 4}, &first);
  all.RunUntil(4);
  const auto& added = all.BeginEpoch({0, 1, 3, 4, 5}, &removed);
  all.RunUntil(6);
  all.BeginEpoch({1, 3, 5, 6}, &added);
  all.FinishWithoutFault();
  // A member that came later is charged for nothing before, and one that left for nothing after.
  EXPECT_EQ(all.SiteOf(2).ledger->entries().size(), 2u);
  for (const auto& [id, begins] : std::vector<std::pair<int, uint32_t>>{{5, 2}, {6, 3}}) {
    for (const ledger::LedgerEntry& entry : all.SiteOf(id).ledger->entries()) {
      EXPECT_GE(entry.label.number.epoch, begins) << id;
    }
  }
  EXPECT_EQ(all.SiteOf(1).ledger->entries().size(), all.server->Attempts().size());
}

TEST(MembershipChangeTest, ARemovedMemberCannotGoOn) {
  ChangingFederation all;
  const auto& first = all.BeginEpoch({0, 1, 2, 3, 4});
  all.RunUntil(2);
  const auto& second = all.BeginEpoch({0, 1, 3, 4}, &first);
  ChangingFederation::Site& gone = all.SiteOf(2);
  const size_t charged = gone.ledger->entries().size();
  const uint32_t applied = gone.session->next_round();
  all.Finish();
  all.ExpectModels();
  EXPECT_FALSE(gone.last.ok());
  EXPECT_EQ(gone.ledger->entries().size(), charged);
  EXPECT_LE(gone.session->next_round(), applied + 1);
  for (const auto& [number, digests] : gone.sealed) EXPECT_EQ(number.epoch, 0u);

  // It knows its successor's manifest, and signs as a member of it.
  EXPECT_EQ(second.exchange_keys.count(2), 0u);
  EXPECT_THAT(base::Message(all.JoinAs(2, second, first.exchange_keys.at(2))),
              HasSubstr("this site's keys are not those of"));
}

// The server and the removed member want the others back in the epoch that they could read.
TEST(MembershipChangeTest, AnEndedEpochIsRefused) {
  ChangingFederation all;
  const auto& first = all.BeginEpoch({0, 1, 2, 3, 4});
  all.RunUntil(2);
  all.BeginEpoch({0, 1, 3, 4}, &first);
  all.RunUntil(3);
  EXPECT_THAT(base::Message(all.Join(0, first)),
              HasSubstr("has taken part in epoch 1 of hospitals, and the manifest is of epoch 0"));
  EXPECT_THAT(base::Message(all.Serve(first)), HasSubstr("store has gone on to epoch 1"));

  // Also when the site's state was lost, and the server begins with another store: the ledger
  // knows.
  ChangingFederation::Site& site = all.SiteOf(1);
  site.state = {};
  all.LoseServerFolder();
  ASSERT_TRUE(all.Serve(first).ok());
  for (const int id : {0, 1, 3, 4}) {
    all.SiteOf(id).state = {};
    ASSERT_TRUE(all.Join(id, first).ok());
  }
  const size_t charged = site.ledger->entries().size();
  const size_t sealed = site.sealed.size();
  for (int turn = 0; turn < 30; ++turn) all.Turn();
  // The first attempt is one that the ledger has charged already. It stays open, without an upload.
  EXPECT_GT(site.log.Count(member::NodeEventKind::kRefused, "upload"), 0u);
  EXPECT_EQ(all.server->Status().accepted, 0u);
  EXPECT_EQ(site.ledger->entries().size(), charged);
  EXPECT_EQ(site.sealed.size(), sealed);
}

TEST(MembershipChangeTest, KeyPacketsOfAnEndedEpochAreDeleted) {
  ChangingFederation all;
  const auto& first = all.BeginEpoch({0, 1, 2, 3, 4});
  all.RunUntil(2);
  EXPECT_EQ(all.PacketsOf(0), 5u);
  all.BeginEpoch({0, 1, 3, 4}, &first);
  all.RunUntil(3);
  EXPECT_EQ(all.PacketsOf(0), 0u);
  EXPECT_EQ(all.PacketsOf(1), 4u);
}

TEST(MembershipChangeTest, AForkOfAnEpochIsRefused) {
  ChangingFederation all;
  const auto& first = all.BeginEpoch({0, 1, 2, 3, 4});
  all.RunUntil(1);
  const auto& left = all.Sign({0, 1, 3, 4}, &first);
  const auto& right = all.Sign({0, 2, 3, 4}, &first);
  const auto& after_right = all.Sign({0, 2, 3, 4}, &right);
  all.Begin(left);
  all.RunUntil(2);
  for (const ChangingFederation::Epoch* fork : {&right, &after_right}) {
    EXPECT_THAT(base::Message(all.Join(0, *fork)), HasSubstr("two manifests were signed"));
    EXPECT_THAT(base::Message(all.Serve(*fork)), HasSubstr("two manifests were signed"));
  }
  // The ledger of a site without its state refuses the fork of an epoch it was charged in.
  all.LoseServerFolder();
  ASSERT_TRUE(all.Serve(right).ok());
  for (const int id : right.sites) {
    all.SiteOf(id).state = {};
    ASSERT_TRUE(all.Join(id, right).ok());
  }
  const size_t charged = all.SiteOf(0).ledger->entries().size();
  for (int turn = 0; turn < 30; ++turn) all.Turn();
  EXPECT_THAT(base::Message(all.SiteOf(0).last), HasSubstr("two manifests were signed"));
  EXPECT_EQ(all.SiteOf(0).ledger->entries().size(), charged);
}

// It agrees on the very same terms, members and keys.
TEST(MembershipChangeTest, AnotherFederationIsNotThisOne) {
  ChangingFederation all;
  const auto& first = all.Sign({0, 1, 2, 3, 4});
  const auto& other = all.Sign({0, 1, 2, 3, 4}, nullptr, [](agreement::SignedManifestSpec& spec) {
    spec.agreement.federation = {8};
  });
  EXPECT_NE(first.hash(), other.hash());
  all.Begin(first);
  all.RunUntil(2);
  EXPECT_THAT(base::Message(all.Serve(other)), HasSubstr("every federation needs a store"));
  EXPECT_THAT(base::Message(all.Join(0, other)), HasSubstr("another federation"));
  // Over the same data both are charged, each as itself.
  ASSERT_TRUE(all.Serve(first).ok());
  ASSERT_TRUE(all.Join(0, first).ok());
  EXPECT_EQ(all.SiteOf(0).ledger->ChargesOf({8}), 0u);
}

// The server and its sites take the new manifest in any order and at any moment of an attempt, and
// all of them die whenever they like.
TEST(MembershipChangeTest, EveryMomentOfAChangeIsSafe) {
  for (int moment = 0; moment < 7; ++moment) {
    for (const bool server_first : {true, false}) {
      SCOPED_TRACE(fmt::format("{} {}", moment, server_first));
      ChangingFederation all(4);
      const auto& first = all.BeginEpoch({0, 1, 2, 3, 4});
      for (int turn = 0; turn < moment || !all.HaveAllApplied(); ++turn) all.Turn();
      const auto& second = all.Sign({0, 1, 3, 5}, &first);
      if (server_first) {
        ASSERT_TRUE(all.Serve(second).ok());
      } else {
        all.StopServer();
      }
      for (const int id : second.sites) {
        ASSERT_TRUE(all.Join(id, second).ok());
        all.Turn();
        ASSERT_TRUE(all.Join(id, second).ok());  // it was killed
      }
      ASSERT_TRUE(all.Serve(second).ok());
      for (int turn = 0; turn < 3; ++turn) {
        all.Turn();
        ASSERT_TRUE(all.Serve(second).ok());
        for (const int id : second.sites) ASSERT_TRUE(all.Join(id, second).ok());
      }
      all.FinishWithoutFault();
    }
  }
}

}  // namespace
}  // namespace tacet
