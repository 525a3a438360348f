// Whole attempts through the public interface: honest ones, and the attacks that it refuses.
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/api/core/round_for_test.h"
#include "tacet/tacet.h"

namespace tacet::api {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string TextOf(const absl::Status& status) { return std::string(status.message()); }

TEST(RoundTest, ClientsDecryptTheSumOfTheirUpdates) {
  AgreementOptions options = RoundForTest::OptionsForTest();
  options.federation.noise_multiplier = 1;
  options.federation.rounds = 1;
  options.spare_attempts = 0;
  RoundForTest round(20, options);
  round.SealAll(0.1F);  // of norm 1
  EXPECT_EQ(round.server.count(), 20u);
  const ClosedAttempt closed = ValueOf(round.server.Close());
  const Aggregate aggregate =
      ValueOf(round.clients[3].Decrypt(round.attempt, round.Unmask(closed)));
  EXPECT_EQ(aggregate.participants, 20u);
  EXPECT_THAT(aggregate.wrong_seats, IsEmpty());
  // The sum's length along the updates' common direction is 20. Its deviation is that of one value:
  // 15 honest members of the 16 that are here at least give all noise, so sqrt(20/15). Seven
  // deviations are passed with probability 3e-12. Half or twice the sum would be further away.
  const double length = 0.1 * std::accumulate(aggregate.sum.begin(), aggregate.sum.end(), 0.0);
  const double deviation = round.agreement.sum_stddev(20);
  EXPECT_NEAR(deviation, std::sqrt(20. / 15), 0.01);
  EXPECT_NEAR(length, 20, 7 * deviation);
  for (size_t i = 0; i < aggregate.sum.size(); ++i) {
    EXPECT_DOUBLE_EQ(aggregate.average[i] * 20, aggregate.sum[i]);
  }
}

TEST(RoundTest, TheDivisorWithDummyUploadsIsTheExpectedShare) {
  AgreementOptions options = RoundForTest::OptionsForTest();
  options.federation.cohort = 2;
  options.federation.sampling = Sampling::kPoisson;
  options.federation.dummy_uploads = true;
  RoundForTest round(4, options);
  round.SealAll(0);
  const ClosedAttempt closed = ValueOf(round.server.Close());
  const Aggregate aggregate =
      ValueOf(round.clients[0].Decrypt(round.attempt, round.Unmask(closed)));
  EXPECT_EQ(aggregate.participants, 4u);
  EXPECT_NEAR(aggregate.average[0] * 2, aggregate.sum[0], 1e-12 * std::abs(aggregate.sum[0]));
}

TEST(RoundTest, NothingHasToOutliveAnything) {
  std::vector<Client> clients;
  std::optional<Aggregator> server;
  std::optional<CommitteeSeat> seat;
  const AttemptId attempt;
  SealedUpdate own;
  {
    RoundForTest round(2);
    clients = round.clients;
    server = std::move(round.server);
    own = ValueOf(clients[0].Seal(attempt, std::vector<float>(RoundForTest::kDimension)));
    seat = ValueOf(
        Client(clients[0])
            .Seat(AttemptId(attempt), round.Packets(), {.nonce = own.nonce}, MemoryJournal()));
  }
  EXPECT_TRUE(server->Submit(0, own.upload).ok());
  EXPECT_TRUE(server
                  ->Submit(1, ValueOf(clients[1].Seal(attempt,
                                                      std::vector<float>(RoundForTest::kDimension)))
                                  .upload)
                  .ok());
  clients.clear();
  CommitteeSeat moved = *std::move(seat);
  seat.reset();
  const ClosedAttempt closed = ValueOf(Aggregator(*std::move(server)).Close());
  EXPECT_TRUE(moved.Vote(closed.closed_round, closed.roster).ok());
}

TEST(RoundTest, LongUpdatesAreClippedAndUnusableOnesAreZeros) {
  const RoundForTest round(2);
  const SealedUpdate clipped =
      ValueOf(round.clients[0].Seal(round.attempt, std::vector<float>(100, 3.0F)));
  EXPECT_NEAR(clipped.clip.norm, 30, 1e-6);
  EXPECT_TRUE(clipped.clip.clipped);
  const SealedUpdate zeros =
      ValueOf(round.clients[0].Seal(round.attempt, std::vector<float>(100, NAN)));
  EXPECT_FALSE(zeros.clip.finite);
  EXPECT_EQ(zeros.upload.size(), clipped.upload.size());
  EXPECT_EQ(zeros.upload.size(), round.agreement.upload_bytes());
}

TEST(RoundTest, TwoSealsOfOneUpdateShareNothing) {
  const RoundForTest round(2);
  const std::vector<float> update(100, 0.01F);
  const SealedUpdate first = ValueOf(round.clients[0].Seal(round.attempt, update));
  const SealedUpdate second = ValueOf(round.clients[0].Seal(round.attempt, update));
  EXPECT_NE(first.nonce, second.nonce);
  EXPECT_NE(first.upload, second.upload);
}

TEST(RoundTest, AMissingSeatIsTolerated) {
  RoundForTest round(5);
  round.SealAll(0);
  const ClosedAttempt closed = ValueOf(round.server.Close());
  DecryptionMessages messages = round.Unmask(closed);
  ASSERT_EQ(messages.votes.size(), 5u);
  const uint32_t needed = round.agreement.votes_needed();
  ASSERT_LT(needed, 5u);
  messages.votes.resize(needed);
  messages.unmask_shares.resize(needed);
  EXPECT_TRUE(round.clients[1].Decrypt(round.attempt, messages).ok());
  messages.votes.resize(needed - 1);
  EXPECT_EQ(round.clients[1].Decrypt(round.attempt, messages).status().code(),
            absl::StatusCode::kUnavailable);
}

TEST(RoundTest, ClosingNeedsEnoughUploads) {
  AgreementOptions options = RoundForTest::OptionsForTest();
  options.federation.min_participants = 3;
  RoundForTest round(4, options);
  for (uint64_t member = 0; member < 2; ++member) {
    const SealedUpdate sealed =
        ValueOf(round.clients[member].Seal(round.attempt, std::vector<float>(100)));
    ASSERT_TRUE(round.server.Submit(member, sealed.upload).ok());
  }
  EXPECT_EQ(round.server.Close().status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(RoundTest, AnAttemptIsClosedOnce) {
  RoundForTest round(2);
  round.SealAll(0);
  EXPECT_TRUE(round.server.Close().ok());
  const absl::Status again = round.server.Close().status();
  EXPECT_EQ(again.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(TextOf(again), HasSubstr("closed already"));
}

TEST(RoundTest, SubmissionsTogetherHaveTheirOwnResults) {
  RoundForTest round(3);
  std::vector<SealedUpdate> sealed;
  for (const Client& client : round.clients) {
    sealed.push_back(ValueOf(client.Seal(round.attempt, std::vector<float>(100))));
  }
  Bytes damaged = sealed[1].upload;
  damaged[200] ^= 1;
  const std::vector<Submission> submissions = {{.member = 0, .upload = sealed[0].upload},
                                               {.member = 7, .upload = sealed[1].upload},
                                               {.member = 1, .upload = damaged},
                                               {.member = 2, .upload = sealed[2].upload},
                                               {.member = 1, .upload = sealed[1].upload}};
  const std::vector<absl::Status> results = round.server.SubmitEach(submissions);
  ASSERT_EQ(results.size(), 5u);
  EXPECT_TRUE(results[0].ok());
  EXPECT_EQ(TextOf(results[1]), "member is 7, the agreement has members 0 to 2");
  EXPECT_EQ(results[2].code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(results[3].ok());
  EXPECT_TRUE(results[4].ok());
  EXPECT_EQ(round.server.count(), 3u);
}

TEST(RoundTest, AnUploadOfAnotherAgreementIsRefused) {
  RoundForTest round(2);
  AgreementOptions options = round.agreement.options();
  options.context = "another training";
  const Agreement other = ValueOf(Agreement::Create(options));
  const Client client = ValueOf(Client::Create(other, 0, round.keys[0], round.epoch_key));
  const SealedUpdate sealed = ValueOf(client.Seal(round.attempt, std::vector<float>(100)));
  EXPECT_EQ(round.server.Submit(0, sealed.upload).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(RoundTest, AttemptsBeyondTheAgreementAreRefused) {
  const RoundForTest round(2);
  const std::vector<float> update(100);
  const absl::Status late = round.clients[0].Seal({.round = 3}, update).status();
  EXPECT_EQ(late.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(TextOf(late), "round 3 was not agreed: the agreement has rounds 0 to 2");
  const absl::Status often =
      Aggregator::Create(round.agreement, {.attempt = 11}, round.Packets()).status();
  EXPECT_EQ(TextOf(often),
            "attempt 11 of round 0 was not agreed: the agreement has attempts 0 to 10 a round");
}

TEST(RoundTest, AClientNeedsTheKeyThatWasAgreed) {
  const RoundForTest round(2);
  const absl::Status swapped =
      Client::Create(round.agreement, 1, round.keys[0], round.epoch_key).status();
  EXPECT_EQ(swapped.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(TextOf(swapped), HasSubstr("not the one that the agreement names for member 1"));
  EXPECT_EQ(TextOf(Client::Create(round.agreement, 2, round.keys[0], round.epoch_key).status()),
            "member is 2, the agreement has members 0 to 1");
}

TEST(RoundTest, AMemberOutsideTheCommitteeHasNoSeat) {
  const RoundForTest round(9);
  ASSERT_EQ(round.agreement.options().committee.size(), 7u);
  EXPECT_EQ(TextOf(round.clients[8].Seat(round.attempt, {}, {}, MemoryJournal()).status()),
            "member 8 is not on the committee");
}

// Attack: the server keeps a packet back, damages it or gives one of another agreement.
TEST(RoundTest, ASeatNeedsTheKeyPacketsOfAllParticipants) {
  RoundForTest round(3);
  round.SealAll(0);
  const ClosedAttempt closed = ValueOf(round.server.Close());
  const auto seat_with = [&](const std::vector<Bytes>& packets) {
    return round.clients[0].Seat(round.attempt, packets,
                                 {.nonce = round.uploads[0].nonce, .acknowledged = true},
                                 MemoryJournal());
  };
  std::vector<Bytes> packets = round.Packets();
  EXPECT_TRUE(ValueOf(seat_with(packets)).Vote(closed.closed_round, closed.roster).ok());
  const absl::Status missing = ValueOf(seat_with({packets[0], packets[1]}))
                                   .Vote(closed.closed_round, closed.roster)
                                   .status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(TextOf(missing),
            "Seat was given no usable key packet of member 2: it is missing, damaged or of another "
            "agreement");
  // Unusable ones are as if they were missing, and in nobody's way.
  Bytes damaged = packets[2];
  damaged.back() ^= 1;
  const Bytes shorter(damaged.begin(), damaged.end() - 1);
  const Bytes foreign = RoundForTest(3).clients[2].key_packet();
  const std::vector<Bytes> unusable = {damaged, shorter, foreign, {}};
  for (const Bytes& bad : unusable) {
    EXPECT_EQ(ValueOf(seat_with({packets[0], packets[1], bad}))
                  .Vote(closed.closed_round, closed.roster)
                  .status(),
              missing);
  }
  packets.insert(packets.begin(), unusable.begin(), unusable.end());
  EXPECT_TRUE(ValueOf(seat_with(packets)).Vote(closed.closed_round, closed.roster).ok());
}

// No seat would vote for a sum with such an upload.
TEST(RoundTest, TheServerTakesNoUploadBeforeItsKeyPacket) {
  RoundForTest round(3);
  round.SealAll(0);
  std::vector<Bytes> packets = round.Packets();
  packets[2].back() ^= 1;
  Aggregator server = ValueOf(Aggregator::Create(round.agreement, round.attempt, packets));
  EXPECT_TRUE(server.Submit(1, round.uploads[1].upload).ok());
  const absl::Status refused = server.Submit(2, round.uploads[2].upload);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(TextOf(refused),
            "Aggregator was given no usable key packet of member 2: no seat could unmask its "
            "upload");
  EXPECT_EQ(server.SubmitEach({{{.member = 2, .upload = round.uploads[2].upload}}}).front(),
            refused);
  EXPECT_EQ(server.count(), 1u);
}

// By this the server, which has no key, finds whom it must not let upload.
TEST(RoundTest, TheServerChecksKeyPackets) {
  RoundForTest round(3);
  const std::vector<Bytes> packets = round.Packets();
  const auto code = [&](uint64_t member, const Bytes& packet) {
    return round.agreement.CheckKeyPacket(member, packet).code();
  };
  for (uint64_t member = 0; member < 3; ++member) {
    EXPECT_EQ(code(member, packets[member]), absl::StatusCode::kOk);
  }
  EXPECT_EQ(code(1, packets[2]), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(code(2, RoundForTest(3).clients[2].key_packet()), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(code(3, packets[2]), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(2, {}), absl::StatusCode::kDataLoss);
  Bytes damaged = packets[2];
  damaged.back() ^= 1;
  EXPECT_EQ(code(2, damaged), absl::StatusCode::kDataLoss);
  damaged.pop_back();
  EXPECT_EQ(code(2, damaged), absl::StatusCode::kDataLoss);
}

// Attack: the server leaves out an upload that it acknowledged.
TEST(RoundTest, ADroppedUploadGetsNoVote) {
  AgreementOptions options = RoundForTest::OptionsForTest();
  options.federation.min_participants = 3;
  RoundForTest round(4, options);
  Aggregator fewer = ValueOf(Aggregator::Create(round.agreement, round.attempt, round.Packets()));
  round.SealAll(0);
  for (uint64_t member = 1; member < 4; ++member) {
    ASSERT_TRUE(fewer.Submit(member, round.uploads[member].upload).ok());
  }
  const ClosedAttempt closed = ValueOf(fewer.Close());
  CommitteeSeat seat = round.SeatOf(0, MemoryJournal());
  const absl::Status refused = seat.Vote(closed.closed_round, closed.roster).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(TextOf(refused), HasSubstr("acknowledged, but is not in the roster"));
}

// Attack: the server asks for two sums of one attempt; their difference is a single update.
TEST(RoundTest, ASeatVotesOnceAlsoAfterARestart) {
  AgreementOptions options = RoundForTest::OptionsForTest();
  options.federation.min_participants = 3;
  RoundForTest round(4, options);
  Aggregator fewer = ValueOf(Aggregator::Create(round.agreement, round.attempt, round.Packets()));
  round.SealAll(0);
  for (uint64_t member = 0; member < 3; ++member) {
    ASSERT_TRUE(fewer.Submit(member, round.uploads[member].upload).ok());
  }
  const ClosedAttempt all = ValueOf(round.server.Close());
  const ClosedAttempt without_last = ValueOf(fewer.Close());
  const AnswerJournal journal = MemoryJournal();
  Bytes vote;
  {
    CommitteeSeat seat = round.SeatOf(0, journal);
    vote = ValueOf(seat.Vote(all.closed_round, all.roster));
    EXPECT_EQ(ValueOf(seat.Vote(all.closed_round, all.roster)), vote);
    EXPECT_EQ(seat.Vote(without_last.closed_round, without_last.roster).status().code(),
              absl::StatusCode::kFailedPrecondition);
  }
  CommitteeSeat restarted = round.SeatOf(0, journal);
  EXPECT_EQ(restarted.Vote(without_last.closed_round, without_last.roster).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ValueOf(restarted.Vote(all.closed_round, all.roster)), vote);
}

TEST(RoundTest, WithoutTheJournalNoAnswerLeaves) {
  RoundForTest round(2);
  round.SealAll(0);
  const ClosedAttempt closed = ValueOf(round.server.Close());
  const AnswerJournal full{.record =
                               [](std::string_view, std::span<const uint8_t>) {
                                 return absl::ResourceExhaustedError("the disk is full");
                               },
                           .find = MemoryJournal().find};
  CommitteeSeat seat = round.SeatOf(0, full);
  EXPECT_EQ(TextOf(seat.Vote(closed.closed_round, closed.roster).status()), "the disk is full");
  EXPECT_EQ(TextOf(round.clients[0].Seat(round.attempt, {}, {}, {}).status()),
            "the journal lacks a function: give both `record` and `find`");
}

TEST(RoundTest, AShareNeedsTheVotesOfAQuorum) {
  RoundForTest round(5);
  round.SealAll(0);
  const ClosedAttempt closed = ValueOf(round.server.Close());
  CommitteeSeat seat = round.SeatOf(0, MemoryJournal());
  EXPECT_EQ(seat.Unmask({}).status().code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(seat.Vote(closed.closed_round, closed.roster).ok());
  EXPECT_EQ(seat.Unmask({}).status().code(), absl::StatusCode::kUnavailable);
}

// Attack: a party without the epoch key has every message.
TEST(RoundTest, MessagesAloneDecryptNothing) {
  RoundForTest round(3);
  round.SealAll(0);
  const ClosedAttempt closed = ValueOf(round.server.Close());
  const DecryptionMessages messages = round.Unmask(closed);
  const Client stranger =
      ValueOf(Client::Create(round.agreement, 0, round.keys[0], EpochKey::Generate()));
  EXPECT_FALSE(stranger.Decrypt(round.attempt, messages).ok());
  EXPECT_TRUE(round.clients[0].Decrypt(round.attempt, messages).ok());
}

TEST(RoundTest, CohortsHaveTheAgreedSize) {
  AgreementOptions options = RoundForTest::OptionsForTest();
  options.federation.cohort = 4;
  options.federation.sampling = Sampling::kFixedSize;
  const RoundForTest round(9, options);
  std::map<uint64_t, int> drawn;
  for (int i = 0; i < 200; ++i) {
    const std::vector<uint64_t> cohort = DrawCohort(round.agreement);
    ASSERT_EQ(cohort.size(), 4u);
    for (const uint64_t member : cohort) ++drawn[member];
  }
  // A member is missed by 200 draws with probability (5/9)^200 = 1e-51.
  EXPECT_EQ(drawn.size(), 9u);
  EXPECT_TRUE(TossOwnCoin(round.agreement));
}

TEST(RoundTest, OwnCoinsFallBothWays) {
  AgreementOptions options = RoundForTest::OptionsForTest();
  options.federation.cohort = 4;
  options.federation.sampling = Sampling::kPoisson;
  options.federation.min_participants = 2;
  const RoundForTest round(8, options);
  int heads = 0;
  for (int i = 0; i < 200; ++i) heads += TossOwnCoin(round.agreement) ? 1 : 0;
  // Each side is missed with probability 2^-200; a bias is not looked for.
  EXPECT_GT(heads, 0);
  EXPECT_LT(heads, 200);
}

}  // namespace
}  // namespace tacet::api
