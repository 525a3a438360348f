#include "tacet/protocol/epoch_opening.h"

#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/protocol/attestation.h"
#include "tacet/protocol/small_federation_for_test.h"

namespace tacet::protocol {
namespace {

using ::testing::HasSubstr;
using testing::SmallFederation;
using testing::ValueOf;

OpeningState State(uint32_t round, uint8_t model) {
  OpeningState state{.round = round, .model_digest = {}, .state_digest = {}};
  state.model_digest.fill(model);
  state.state_digest.fill(static_cast<uint8_t>(model + 100));
  return state;
}

// Four of six members are on the committee, where one may be corrupt: three votes open an epoch,
// and three seats must have the state.
class EpochOpeningTest : public ::testing::Test {
 protected:
  base::Bytes Written(uint64_t member, OpeningWord word, const OpeningState& state,
                      const SmallFederation& all) const {
    return WriteOpeningStatement({.word = word, .member = member, .state = state}, all.manifest(),
                                 all.site(member).signing);
  }
  base::Bytes Vote(uint64_t member, const OpeningState& state) const {
    return Written(member, OpeningWord::kVote, state, members_);
  }
  base::Bytes Has(uint64_t member, const OpeningState& state,
                  std::optional<OpeningState> earlier = std::nullopt) const {
    return WriteOpeningStatement(
        {.word = OpeningWord::kHas, .member = member, .state = state, .earlier = earlier},
        members_.manifest(), members_.site(member).signing);
  }
  OpeningTally Tally(const std::vector<base::Bytes>& statements) const {
    return TallyOf(statements, members_.manifest());
  }

  SmallFederation members_{testing::AgreementWith(1, {5, 1, 2, 3}), 6};
};

TEST_F(EpochOpeningTest, StatementsAreReadAsTheyWereWritten) {
  const OpeningStatement statements[] = {
      {.word = OpeningWord::kVote, .member = 5, .state = State(7, 1)},
      {.word = OpeningWord::kHas, .member = 5, .state = State(7, 1)},
      {.word = OpeningWord::kHas, .member = 5, .state = State(7, 1), .earlier = State(6, 2)}};
  for (const OpeningStatement& statement : statements) {
    const base::Bytes bytes =
        WriteOpeningStatement(statement, members_.manifest(), members_.site(5).signing);
    EXPECT_EQ(ValueOf(ReadOpeningStatement(bytes, members_.manifest())), statement);
    for (size_t cut = 0; cut < bytes.size(); ++cut) {
      EXPECT_FALSE(ReadOpeningStatement(std::span(bytes).first(cut), members_.manifest()).ok());
    }
    for (size_t i = 0; i < bytes.size(); ++i) {
      base::Bytes altered = bytes;
      altered[i] ^= 2;
      EXPECT_FALSE(ReadOpeningStatement(altered, members_.manifest()).ok()) << i;
    }
  }
  OpeningStatement impossible = statements[0];
  impossible.earlier = State(6, 2);
  const base::Bytes bytes =
      WriteOpeningStatement(impossible, members_.manifest(), members_.site(5).signing);
  EXPECT_EQ(ReadOpeningStatement(bytes, members_.manifest()).status().code(),
            absl::StatusCode::kDataLoss);
}

TEST_F(EpochOpeningTest, StatementsOfOthersAreRefused) {
  const auto why = [&](const base::Bytes& bytes) {
    return ReadOpeningStatement(bytes, members_.manifest()).status();
  };
  EXPECT_THAT(base::Message(why(Vote(0, State(7, 1)))), HasSubstr("member 0 has no seat"));
  const SmallFederation later(testing::AgreementWith(1, {5, 1, 2, 3}), 6, 1);
  EXPECT_EQ(why(Written(5, OpeningWord::kVote, State(7, 1), later)).code(),
            absl::StatusCode::kFailedPrecondition);
  const base::Bytes forged =
      WriteOpeningStatement({.word = OpeningWord::kVote, .member = 5, .state = State(7, 1)},
                            members_.manifest(), members_.site(1).signing);
  EXPECT_EQ(why(forged).code(), absl::StatusCode::kPermissionDenied);
}

// A server that keeps what a seat said in the opening cannot give it to others as the state of the
// epoch, and the other way round.
TEST_F(EpochOpeningTest, NoStatementIsAnAttestation) {
  EXPECT_FALSE(ReadAttestation(Has(5, State(7, 1)), members_.manifest()).ok());
  EXPECT_FALSE(ReadAttestation(Vote(5, State(7, 1)), members_.manifest()).ok());
  const base::Bytes attestation = members_.Attestation(5, 7, State(7, 1).model_digest);
  EXPECT_FALSE(ReadOpeningStatement(attestation, members_.manifest()).ok());
}

TEST_F(EpochOpeningTest, AQuorumOfVotesOpens) {
  EXPECT_EQ(OpeningQuorum(members_.manifest().manifest()), 3u);
  std::vector<base::Bytes> said = {Vote(5, State(7, 1)), Vote(5, State(7, 1)), Vote(1, State(7, 1)),
                                   Vote(2, State(7, 2)), Vote(2, State(7, 1)), Has(2, State(7, 1)),
                                   Has(3, State(7, 1)),  Vote(0, State(7, 1))};
  EXPECT_EQ(Tally(said).Opened(), std::nullopt);
  EXPECT_EQ(*Tally(said).VoteOf(2), State(7, 2));
  EXPECT_EQ(Tally(said).VoteOf(3), nullptr);
  EXPECT_EQ(Tally(said).heard(), 4u);
  said.push_back(Vote(3, State(7, 1)));
  EXPECT_EQ(Tally(said).Opened(), State(7, 1));
}

TEST_F(EpochOpeningTest, TheLastStateOfAMajorityIsHeld) {
  EXPECT_EQ(Tally({}).Held(), std::nullopt);
  std::vector<base::Bytes> said = {Has(5, State(7, 1), State(6, 1)),
                                   Has(1, State(7, 1), State(6, 1)), Has(1, State(7, 1)),
                                   Has(2, State(6, 1)), Vote(2, State(6, 2))};
  EXPECT_EQ(Tally(said).Held(), State(6, 1));
  EXPECT_EQ(Tally(said).HeldAt(6), State(6, 1));
  EXPECT_EQ(Tally(said).HeldAt(7), std::nullopt);
  EXPECT_TRUE(Tally(said).IsHeld(State(6, 1)));
  EXPECT_FALSE(Tally(said).IsHeld(State(7, 1)));
  EXPECT_TRUE(Tally(said).HasHeard(2));
  EXPECT_FALSE(Tally(said).HasHeard(3));
  // A seat that votes for a state has seen that others have it.
  said.push_back(Vote(3, State(7, 1)));
  EXPECT_EQ(Tally(said).Held(), State(7, 1));
}

// Three of four seats open: two votes for others leave a state behind.
TEST_F(EpochOpeningTest, NoQuorumMayComeForAStateThatEnoughVotedAgainst) {
  std::vector<base::Bytes> said = {Has(5, State(7, 1), State(6, 1)),
                                   Has(1, State(7, 1), State(6, 1)),
                                   Has(2, State(7, 1), State(6, 1)), Vote(3, State(6, 1))};
  EXPECT_EQ(Tally(said).Held(), State(7, 1));
  said.push_back(Vote(2, State(6, 1)));
  EXPECT_FALSE(Tally(said).CanBeOpened(State(7, 1)));
  EXPECT_EQ(Tally(said).Held(), State(6, 1));
  EXPECT_EQ(Tally(said).HeldAt(7), std::nullopt);
}

}  // namespace
}  // namespace tacet::protocol
