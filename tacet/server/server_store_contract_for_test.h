// Contract tests of every ServerStore, one test for each sentence of its comments. A `Backend` has
// `store()`, of a new, empty store, and `Reopen()`, after which `store()` holds what a new process
// would find.
#ifndef TACET_SERVER_SERVER_STORE_CONTRACT_FOR_TEST_H_
#define TACET_SERVER_SERVER_STORE_CONTRACT_FOR_TEST_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/secagg/attempt.h"
#include "tacet/server/server_store.h"
#include "tacet/server/server_store_rules.h"

namespace tacet::server {

inline crypto::Digest DigestOf(std::string_view text) {
  return crypto::Sha256(base::AsBytes(text));
}
inline base::Bytes BytesOf(std::string_view text) { return {text.begin(), text.end()}; }

inline AttemptRecord RecordOf(uint32_t epoch, uint32_t round, uint32_t attempt) {
  return {.attempt = {.manifest_hash = DigestOf("manifest"),
                      .number = {.epoch = epoch, .round = round, .attempt = attempt},
                      .model_digest = DigestOf("model")},
          .phase = protocol::AttemptPhase::kCollecting,
          .begun = 1'700'000'000,
          .deadline = 1'700'000'600,
          .noted = 1'700'000'030,
          .participants = 0,
          .failure = ""};
}
inline AttemptRecord UnmaskingOf(AttemptRecord record) {
  record.phase = protocol::AttemptPhase::kUnmasking;
  record.deadline += 300;
  record.participants = 7;
  return record;
}
inline AttemptRecord Published(AttemptRecord record) {
  record.phase = protocol::AttemptPhase::kPublished;
  record.participants = 7;
  return record;
}
inline AttemptRecord Failed(AttemptRecord record, std::string_view why) {
  record.phase = protocol::AttemptPhase::kFailed;
  record.failure = why;
  return record;
}

template <typename Backend>
class ServerStoreContract : public ::testing::Test {
 protected:
  ServerStore& store() { return backend_.store(); }
  void Reopen() { backend_.Reopen(); }

  std::vector<AttemptRecord> Attempts() {
    auto attempts = store().Attempts();
    EXPECT_TRUE(attempts.ok()) << attempts.status();
    return attempts.ok() ? *std::move(attempts) : std::vector<AttemptRecord>();
  }
  std::vector<uint64_t> Cohort() {
    auto cohort = store().Cohort();
    EXPECT_TRUE(cohort.ok()) << cohort.status();
    return cohort.ok() ? *std::move(cohort) : std::vector<uint64_t>();
  }
  std::vector<Item> Items(const secagg::AttemptNumber& at) {
    auto items = store().Items(at);
    EXPECT_TRUE(items.ok()) << items.status();
    return items.ok() ? *std::move(items) : std::vector<Item>();
  }
  static void ExpectError(const absl::Status& status, absl::StatusCode code,
                          std::string_view message) {
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(base::Message(status), ::testing::HasSubstr(std::string(message)));
  }

  Backend backend_;
};

TYPED_TEST_SUITE_P(ServerStoreContract);

TYPED_TEST_P(ServerStoreContract, IsEmptyAtFirst) {
  EXPECT_TRUE(this->Attempts().empty());
  EXPECT_TRUE(this->Cohort().empty());
  EXPECT_TRUE(this->Items({0, 0, 0}).empty());
  EXPECT_TRUE(this->store().ForgetBefore(9, 9).ok());
}

TYPED_TEST_P(ServerStoreContract, BelongsToTheFederationThatClaimedItFirst) {
  ASSERT_TRUE(this->store().Claim(DigestOf("ours")).ok());
  EXPECT_TRUE(this->store().Claim(DigestOf("ours")).ok());
  for (int i = 0; i < 2; ++i) {
    this->ExpectError(this->store().Claim(DigestOf("theirs")),
                      absl::StatusCode::kFailedPrecondition, "every federation needs a store");
    EXPECT_TRUE(this->store().Claim(DigestOf("ours")).ok());
    this->Reopen();
  }
}

TYPED_TEST_P(ServerStoreContract, KeepsAttemptsInTheOrderInWhichTheyBegan) {
  AttemptRecord extreme =
      RecordOf(std::numeric_limits<uint32_t>::max(), std::numeric_limits<uint32_t>::max(),
               std::numeric_limits<uint32_t>::max());
  extreme.begun = std::numeric_limits<uint64_t>::max();
  extreme.deadline = std::numeric_limits<uint64_t>::max();
  extreme.noted = std::numeric_limits<uint64_t>::max();
  extreme.participants = std::numeric_limits<uint32_t>::max();
  const std::vector<AttemptRecord> records = {
      Failed(RecordOf(2, 5, 0), "few"), Failed(extreme, "not-decrypted"),
      Published(RecordOf(2, 5, 1)), Failed(RecordOf(1, 0, 0), "refused"),
      Published(RecordOf(3, 6, 0))};
  for (const AttemptRecord& record : records) {
    AttemptRecord begun = record;
    begun.phase = protocol::AttemptPhase::kCollecting;
    begun.failure = "";
    ASSERT_TRUE(this->store().Begin(begun, {}).ok());
    EXPECT_EQ(this->Attempts().back(), begun);
    ASSERT_TRUE(this->store().Finish(record, {}).ok());
    EXPECT_EQ(this->Attempts().back(), record);
  }
  EXPECT_EQ(this->Attempts(), records);
  this->Reopen();
  EXPECT_EQ(this->Attempts(), records);
}

TYPED_TEST_P(ServerStoreContract, KeepsTheCohortUntilTheAttemptEnds) {
  const std::vector<uint64_t> cohort = {
      0, 1, 255, 256, uint64_t{1} << 40, std::numeric_limits<uint64_t>::max()};
  const AttemptRecord record = RecordOf(0, 0, 0);
  ASSERT_TRUE(this->store().Begin(record, cohort).ok());
  EXPECT_EQ(this->Cohort(), cohort);
  this->Reopen();
  EXPECT_EQ(this->Cohort(), cohort);
  ASSERT_TRUE(this->store().Update(UnmaskingOf(record)).ok());
  EXPECT_EQ(this->Cohort(), cohort);
  ASSERT_TRUE(this->store().Finish(Published(record), {}).ok());
  EXPECT_TRUE(this->Cohort().empty());
  this->Reopen();
  EXPECT_TRUE(this->Cohort().empty());

  ASSERT_TRUE(this->store().Begin(RecordOf(0, 1, 0), {}).ok());  // members decide
  EXPECT_TRUE(this->Cohort().empty());
}

TYPED_TEST_P(ServerStoreContract, KeepsALargeCohort) {
  std::vector<uint64_t> cohort(100'000);
  for (size_t i = 0; i < cohort.size(); ++i) cohort[i] = 3 * i;
  ASSERT_TRUE(this->store().Begin(RecordOf(0, 0, 0), cohort).ok());
  this->Reopen();
  EXPECT_EQ(this->Cohort(), cohort);
}

TYPED_TEST_P(ServerStoreContract, BeginsNothingWhileAnAttemptIsOpen) {
  const AttemptRecord first = RecordOf(0, 0, 0);
  const std::vector<uint64_t> cohort = {4, 9};
  ASSERT_TRUE(this->store().Begin(first, cohort).ok());
  for (const AttemptRecord& open : {first, UnmaskingOf(first)}) {
    ASSERT_TRUE(this->store().Update(open).ok());
    this->ExpectError(this->store().Begin(RecordOf(0, 0, 1), std::vector<uint64_t>{1}),
                      absl::StatusCode::kFailedPrecondition, "has not ended");
    EXPECT_EQ(this->Attempts(), std::vector{open});
    EXPECT_EQ(this->Cohort(), cohort);
  }
  ASSERT_TRUE(this->store().Finish(Failed(first, "few"), {}).ok());
  EXPECT_TRUE(this->store().Begin(RecordOf(0, 0, 1), {}).ok());
}

TYPED_TEST_P(ServerStoreContract, BeginsNoNumberTwice) {
  const AttemptRecord first = RecordOf(0, 0, 0);
  const std::vector<uint64_t> cohort = {4, 9};
  ASSERT_TRUE(this->store().Begin(first, cohort).ok());
  AttemptRecord again = first;
  again.attempt.model_digest = DigestOf("another model");
  again.attempt.manifest_hash = DigestOf("another manifest");
  const auto expect_refused = [&](const AttemptRecord& record) {
    this->ExpectError(this->store().Begin(record, std::vector<uint64_t>{1}),
                      absl::StatusCode::kAlreadyExists, "was begun before");
  };
  expect_refused(first);  // known before it ended
  EXPECT_EQ(this->Cohort(), cohort);
  ASSERT_TRUE(this->store().Finish(Failed(first, "few"), {}).ok());
  expect_refused(first);
  expect_refused(again);
  ASSERT_TRUE(this->store().Begin(RecordOf(0, 0, 1), {}).ok());
  ASSERT_TRUE(this->store().Finish(Failed(RecordOf(0, 0, 1), "few"), {}).ok());
  expect_refused(again);
  EXPECT_EQ(this->Attempts().size(), 2u);
  EXPECT_TRUE(this->Cohort().empty());
}

TYPED_TEST_P(ServerStoreContract, RefusesPhasesThatDoNotFitTheCall) {
  const AttemptRecord record = RecordOf(0, 0, 0);
  for (const AttemptRecord& ended : {Published(record), Failed(record, "few")}) {
    this->ExpectError(this->store().Begin(ended, {}), absl::StatusCode::kInvalidArgument,
                      "by Finish only");
  }
  ASSERT_TRUE(this->store().Begin(record, {}).ok());
  for (const AttemptRecord& ended : {Published(record), Failed(record, "few")}) {
    this->ExpectError(this->store().Update(ended), absl::StatusCode::kInvalidArgument,
                      "by Finish only");
  }
  for (const AttemptRecord& open : {record, UnmaskingOf(record)}) {
    this->ExpectError(this->store().Finish(open, {}), absl::StatusCode::kInvalidArgument,
                      "has not ended");
  }
  EXPECT_EQ(this->Attempts(), std::vector{record});
}

TYPED_TEST_P(ServerStoreContract, UpdatesTheAttemptTogetherWithItsItems) {
  const AttemptRecord record = RecordOf(0, 3, 1);
  ASSERT_TRUE(this->store().Begin(record, std::vector<uint64_t>{1, 2}).ok());
  const std::vector<Item> items = {{ItemKind::kClosedRound, 0, BytesOf("closed")},
                                   {ItemKind::kRefusal, 2, {}}};
  ASSERT_TRUE(this->store().Update(UnmaskingOf(record), items).ok());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(this->Attempts(), std::vector{UnmaskingOf(record)});
    EXPECT_EQ(this->Items({0, 3, 1}), items);
    this->Reopen();
  }
  EXPECT_TRUE(this->store().Update(UnmaskingOf(record), items).ok());  // the very same again
  EXPECT_EQ(this->Items({0, 3, 1}), items);
}

TYPED_TEST_P(ServerStoreContract, UpdatesWhollyOrNot) {
  const AttemptRecord record = RecordOf(0, 3, 1);
  const secagg::AttemptNumber at{0, 3, 1};
  ASSERT_TRUE(this->store().Begin(record, {}).ok());
  const Item vote{ItemKind::kVote, 5, BytesOf("vote")};
  ASSERT_TRUE(this->store().PutItem(at, vote).ok());
  const std::vector<Item> items = {{ItemKind::kClosedRound, 0, BytesOf("closed")},
                                   {ItemKind::kVote, 5, BytesOf("another vote")},
                                   {ItemKind::kVote, 6, BytesOf("a third")}};
  this->ExpectError(this->store().Update(UnmaskingOf(record), items),
                    absl::StatusCode::kAlreadyExists, "was put here before");
  const std::vector<Item> twice = {{ItemKind::kRefusal, 1, BytesOf("a")},
                                   {ItemKind::kRefusal, 1, BytesOf("b")}};
  this->ExpectError(this->store().Update(UnmaskingOf(record), twice),
                    absl::StatusCode::kAlreadyExists, "was put here before");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(this->Attempts(), std::vector{record});
    EXPECT_EQ(this->Items(at), std::vector{vote});
    this->Reopen();
  }
}

TYPED_TEST_P(ServerStoreContract, UpdatesAndFinishesTheLastAttemptOnly) {
  const AttemptRecord first = RecordOf(0, 0, 0);
  const std::vector<Item> items = {{ItemKind::kVote, 1, BytesOf("vote")}};
  const auto expect_refused = [&](const AttemptRecord& record) {
    this->ExpectError(this->store().Update(UnmaskingOf(record), items),
                      absl::StatusCode::kFailedPrecondition, "is not the last that was begun");
    this->ExpectError(this->store().Finish(Published(record), std::vector{ItemKind::kVote}),
                      absl::StatusCode::kFailedPrecondition, "is not the last that was begun");
    EXPECT_TRUE(this->Items(record.attempt.number).empty());
  };
  expect_refused(first);
  ASSERT_TRUE(this->store().Begin(first, std::vector<uint64_t>{8}).ok());
  AttemptRecord other = first;
  other.attempt.model_digest = DigestOf("another model");
  expect_refused(other);
  other = first;
  other.attempt.manifest_hash = DigestOf("another manifest");
  expect_refused(other);
  for (const AttemptRecord& number : {RecordOf(1, 0, 0), RecordOf(0, 1, 0), RecordOf(0, 0, 1)}) {
    expect_refused(number);
  }
  EXPECT_EQ(this->Attempts(), std::vector{first});
  EXPECT_EQ(this->Cohort(), std::vector<uint64_t>{8});

  ASSERT_TRUE(this->store().Finish(Failed(first, "few"), {}).ok());
  ASSERT_TRUE(this->store().Begin(RecordOf(0, 0, 1), std::vector<uint64_t>{9}).ok());
  expect_refused(first);
  EXPECT_EQ(this->Attempts(), (std::vector{Failed(first, "few"), RecordOf(0, 0, 1)}));
  EXPECT_EQ(this->Cohort(), std::vector<uint64_t>{9});
}

TYPED_TEST_P(ServerStoreContract, AnEndedAttemptStaysAsItIs) {
  const AttemptRecord record = RecordOf(0, 0, 0);
  ASSERT_TRUE(this->store().Begin(record, {}).ok());
  ASSERT_TRUE(this->store().Finish(Published(record), {}).ok());
  this->ExpectError(this->store().Update(UnmaskingOf(record)),
                    absl::StatusCode::kFailedPrecondition, "has ended: it is published");
  this->ExpectError(this->store().Finish(Failed(record, "late"), {}),
                    absl::StatusCode::kFailedPrecondition, "has ended otherwise");
  // The very same end again: the answer to the first call may have been lost.
  EXPECT_TRUE(this->store().Finish(Published(record), {}).ok());
  EXPECT_EQ(this->Attempts(), std::vector{Published(record)});
}

TYPED_TEST_P(ServerStoreContract, ForgetsItemsOfTheAttemptThatEndsByKind) {
  const secagg::AttemptNumber earlier{0, 0, 0};
  const secagg::AttemptNumber now{0, 0, 1};
  ASSERT_TRUE(this->store().Begin(RecordOf(0, 0, 0), {}).ok());
  ASSERT_TRUE(this->store().Finish(Failed(RecordOf(0, 0, 0), "few"), {}).ok());
  ASSERT_TRUE(this->store().Begin(RecordOf(0, 0, 1), {}).ok());
  std::vector<Item> all;
  for (const ItemKind kind :
       {ItemKind::kCheckpoint, ItemKind::kAccepted, ItemKind::kUnmaskShare, ItemKind::kVote,
        ItemKind::kClosedRound, ItemKind::kRefusal, ItemKind::kAttestation, ItemKind::kRoster,
        ItemKind::kConfirmation, ItemKind::kCheckRow, ItemKind::kShares, ItemKind::kLeftOut,
        ItemKind::kOpeningVote, ItemKind::kKeyPacket, ItemKind::kAbstention, ItemKind::kAbstained,
        ItemKind::kOperator}) {
    for (const uint64_t member : {7, 3}) all.push_back({kind, member, BytesOf("given")});
  }
  for (const secagg::AttemptNumber& at : {earlier, now}) {
    for (const Item& item : all) ASSERT_TRUE(this->store().PutItem(at, item).ok());
  }
  const std::vector<ItemKind> forgotten = {ItemKind::kAccepted, ItemKind::kVote, ItemKind::kRefusal,
                                           ItemKind::kRoster};
  ASSERT_TRUE(this->store().Finish(Published(RecordOf(0, 0, 1)), forgotten).ok());
  std::vector<Item> left;
  std::copy_if(all.begin(), all.end(), std::back_inserter(left), [&](const Item& item) {
    return std::find(forgotten.begin(), forgotten.end(), item.kind) == forgotten.end();
  });
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(this->Items(earlier), all);
    EXPECT_EQ(this->Items(now), left);
    this->Reopen();
  }
}

TYPED_TEST_P(ServerStoreContract, KeepsOneItemAMemberAndKind) {
  const secagg::AttemptNumber at{4, 5, 6};  // need not have begun
  const Item item{ItemKind::kVote, 2, BytesOf("a vote")};
  ASSERT_TRUE(this->store().PutItem(at, item).ok());
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(this->store().PutItem(at, item).ok());
    for (const std::string_view other : {"", "a vot", "a votf", "a vote "}) {
      const absl::Status refused = this->store().PutItem(at, {ItemKind::kVote, 2, BytesOf(other)});
      this->ExpectError(refused, absl::StatusCode::kAlreadyExists, "was put here before");
      EXPECT_THAT(base::Message(refused), ::testing::Not(::testing::HasSubstr("vot")));
    }
    EXPECT_EQ(this->Items(at), std::vector{item});
    this->Reopen();
  }
}

TYPED_TEST_P(ServerStoreContract, ItemsOfOtherKindsMembersAndAttemptsAreOthers) {
  const secagg::AttemptNumber at{4, 5, 6};
  const std::vector<secagg::AttemptNumber> elsewhere = {{3, 5, 6}, {4, 6, 6}, {4, 5, 0}};
  const uint64_t last = std::numeric_limits<uint64_t>::max();
  const std::vector<Item> items = {{ItemKind::kVote, 2, BytesOf("1")},
                                   {ItemKind::kRefusal, 2, BytesOf("2")},
                                   {ItemKind::kVote, 1, BytesOf("3")},
                                   {ItemKind::kVote, last, BytesOf("4")},
                                   {ItemKind::kVote, 0, {}}};
  for (const Item& item : items) ASSERT_TRUE(this->store().PutItem(at, item).ok());
  for (const secagg::AttemptNumber& other : elsewhere) {
    ASSERT_TRUE(this->store().PutItem(other, {ItemKind::kVote, 2, BytesOf("other")}).ok());
  }
  EXPECT_EQ(this->Items(at), items);
  for (const secagg::AttemptNumber& other : elsewhere) {
    EXPECT_EQ(this->Items(other), (std::vector<Item>{{ItemKind::kVote, 2, BytesOf("other")}}));
  }
}

TYPED_TEST_P(ServerStoreContract, ReturnsItemsInTheOrderInWhichTheyWerePut) {
  const secagg::AttemptNumber at{0, 1, 0};
  std::vector<Item> items;
  for (uint64_t i = 0; i < 60; ++i) {
    const ItemKind kind = i % 3 == 0 ? ItemKind::kVote : ItemKind::kAccepted;
    items.push_back({kind, (i * 37) % 61, BytesOf(std::to_string(i))});
    ASSERT_TRUE(this->store().PutItem(at, items.back()).ok());
    if (i == 30) {
      ASSERT_TRUE(this->store().PutItem(at, items.front()).ok());  // keeps its place
      this->Reopen();
    }
  }
  EXPECT_EQ(this->Items(at), items);
}

TYPED_TEST_P(ServerStoreContract, KeepsEveryByteOfAnItem) {
  base::Bytes bytes(3 << 20);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 2654435761u >> 13);
  base::Bytes all(256);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint8_t>(i);
  const std::vector<Item> items = {{ItemKind::kCheckpoint, 1, bytes}, {ItemKind::kVote, 1, all}};
  for (const Item& item : items) ASSERT_TRUE(this->store().PutItem({0, 0, 0}, item).ok());
  EXPECT_TRUE(this->store().PutItem({0, 0, 0}, items[0]).ok());
  this->Reopen();
  EXPECT_EQ(this->Items({0, 0, 0}), items);
}

TYPED_TEST_P(ServerStoreContract, ForgetsItemsOfEarlierRoundsInEveryEpoch) {
  const Item item{ItemKind::kAttestation, 3, BytesOf("the model")};
  const std::vector<secagg::AttemptNumber> before = {{0, 0, 0}, {0, 4, 2}, {1, 4, 0}};
  const uint32_t last = std::numeric_limits<uint32_t>::max();
  const std::vector<secagg::AttemptNumber> after = {
      {0, 5, 0}, {1, 5, 1}, {1, 6, 0}, {0, kOpeningRound, 0}, {last, last, last}};
  for (const auto& numbers : {before, after}) {
    for (const secagg::AttemptNumber& at : numbers)
      ASSERT_TRUE(this->store().PutItem(at, item).ok());
  }
  ASSERT_TRUE(this->store().ForgetBefore(0, 0).ok());
  for (const secagg::AttemptNumber& at : before) EXPECT_EQ(this->Items(at), std::vector{item});
  // The members that an attempt named count in later rounds.
  const Item named{ItemKind::kLeftOut, 4, {kInDispute}};
  ASSERT_TRUE(this->store().PutItem({0, 4, 1}, named).ok());
  ASSERT_TRUE(this->store().ForgetBefore(5, 0).ok());
  for (int i = 0; i < 2; ++i) {
    for (const secagg::AttemptNumber& at : before) EXPECT_TRUE(this->Items(at).empty());
    EXPECT_EQ(this->Items({0, 4, 1}), std::vector{named});
    for (const secagg::AttemptNumber& at : after) EXPECT_EQ(this->Items(at), std::vector{item});
    this->Reopen();
  }
}

TYPED_TEST_P(ServerStoreContract, ForgetsKeyPacketsOfEarlierEpochsOnly) {
  const Item packet{ItemKind::kKeyPacket, 3, BytesOf("a packet")};
  const Item vote{ItemKind::kOpeningVote, 3, BytesOf("a vote")};
  const auto opening = [](uint32_t epoch) {
    return secagg::AttemptNumber{.epoch = epoch, .round = kOpeningRound, .attempt = 0};
  };
  for (const uint32_t epoch : {0, 1, 2, 3}) {
    ASSERT_TRUE(this->store().PutItem(opening(epoch), packet).ok());
    ASSERT_TRUE(this->store().PutItem(opening(epoch), vote).ok());
  }
  ASSERT_TRUE(this->store().ForgetBefore(7, 0).ok());
  EXPECT_EQ(this->Items(opening(0)), (std::vector{packet, vote}));
  ASSERT_TRUE(this->store().ForgetBefore(0, 2).ok());
  for (int i = 0; i < 2; ++i) {
    for (const uint32_t epoch : {0, 1}) EXPECT_EQ(this->Items(opening(epoch)), std::vector{vote});
    for (const uint32_t epoch : {2, 3}) {
      EXPECT_EQ(this->Items(opening(epoch)), (std::vector{packet, vote}));
    }
    this->Reopen();
  }
}

TYPED_TEST_P(ServerStoreContract, ReadsAFewItemsOfOneKindByMember) {
  const secagg::AttemptNumber at{.epoch = 1, .round = kOpeningRound, .attempt = 0};
  const auto packet = [](uint64_t member) {
    return Item{ItemKind::kKeyPacket, member, base::Bytes(member, 7)};
  };
  for (const uint64_t member : {5, 300, 2, 70, 11}) {
    ASSERT_TRUE(this->store().PutItem(at, packet(member)).ok());
    ASSERT_TRUE(this->store().PutItem(at, {ItemKind::kOpeningVote, member, BytesOf("vote")}).ok());
    secagg::AttemptNumber other = at;
    other.epoch = 2;
    ASSERT_TRUE(this->store().PutItem(other, packet(member + 1)).ok());
  }
  const auto read = [&](uint64_t from, size_t most) {
    return this->store().ItemsOf(at, ItemKind::kKeyPacket, from, most).value();
  };
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(read(0, 2), (std::vector{packet(2), packet(5)}));
    EXPECT_EQ(read(6, 9), (std::vector{packet(11), packet(70), packet(300)}));
    EXPECT_EQ(read(70, 1), std::vector{packet(70)});
    EXPECT_TRUE(read(301, 9).empty());
    EXPECT_TRUE(read(0, 0).empty());
    this->Reopen();
  }
}

TYPED_TEST_P(ServerStoreContract, ForgetsWhatOperatorsDidByNumberAlone) {
  const Item first{ItemKind::kOperator, 0, BytesOf("an action")};
  ASSERT_TRUE(this->store().PutItem(kOperatorsPlace, first).ok());
  EXPECT_EQ(
      this->store().PutItem(kOperatorsPlace, {ItemKind::kOperator, 0, BytesOf("another")}).code(),
      absl::StatusCode::kAlreadyExists);
  ASSERT_TRUE(this->store().ForgetBefore(kOpeningRound, 7).ok());
  this->Reopen();
  EXPECT_EQ(this->Items(kOperatorsPlace), std::vector{first});
  // One of them can be, by its number.
  const Item second{ItemKind::kOperator, 1, BytesOf("a later action")};
  ASSERT_TRUE(this->store().PutItem(kOperatorsPlace, second).ok());
  ASSERT_TRUE(this->store().ForgetItem(kOperatorsPlace, ItemKind::kOperator, 0).ok());
  ASSERT_TRUE(this->store().ForgetItem(kOperatorsPlace, ItemKind::kOperator, 7).ok());
  ASSERT_TRUE(this->store().ForgetItem(kOperatorsPlace, ItemKind::kVote, 1).ok());
  EXPECT_EQ(this->Items(kOperatorsPlace), std::vector{second});
}

TYPED_TEST_P(ServerStoreContract, EveryCallIsDurable) {
  AttemptRecord record = RecordOf(1, 0, 0);
  ASSERT_TRUE(this->store().Claim(DigestOf("ours")).ok());
  this->Reopen();
  EXPECT_EQ(this->store().Claim(DigestOf("theirs")).code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(this->store().Begin(record, std::vector<uint64_t>{1, 5}).ok());
  this->Reopen();
  EXPECT_EQ(this->Attempts(), std::vector{record});
  EXPECT_EQ(this->Cohort(), (std::vector<uint64_t>{1, 5}));
  const Item accepted{ItemKind::kAccepted, 5, BytesOf("digest")};
  ASSERT_TRUE(this->store().PutItem({1, 0, 0}, accepted).ok());
  this->Reopen();
  EXPECT_EQ(this->Items({1, 0, 0}), std::vector{accepted});
  record.deadline += 60;
  ASSERT_TRUE(this->store().Update(record).ok());
  this->Reopen();
  EXPECT_EQ(this->Attempts(), std::vector{record});
  ASSERT_TRUE(this->store().Finish(Failed(record, "few"), std::vector{ItemKind::kAccepted}).ok());
  this->Reopen();
  EXPECT_EQ(this->Attempts(), std::vector{Failed(record, "few")});
  EXPECT_TRUE(this->Cohort().empty());
  EXPECT_TRUE(this->Items({1, 0, 0}).empty());
}

TYPED_TEST_P(ServerStoreContract, TakesItemsFromSeveralThreads) {
  constexpr uint64_t kThreads = 6;
  constexpr uint64_t kItems = 40;
  const secagg::AttemptNumber at{0, 0, 0};
  ASSERT_TRUE(this->store().Begin(RecordOf(0, 0, 0), {}).ok());
  std::atomic<int> refused = 0;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < kItems; ++i) {
        const auto own = BytesOf(fmt::format("{} {}", t, i));
        EXPECT_TRUE(this->store().PutItem(at, {ItemKind::kAccepted, t * kItems + i, own}).ok());
        // All threads together put one that is the same and one that differs.
        EXPECT_TRUE(this->store().PutItem(at, {ItemKind::kRefusal, i, {}}).ok());
        const absl::Status differs = this->store().PutItem(at, {ItemKind::kVote, i, own});
        if (!differs.ok()) {
          EXPECT_EQ(differs.code(), absl::StatusCode::kAlreadyExists);
          ++refused;
        }
        EXPECT_TRUE(this->store().Cohort().ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, int{kItems * (kThreads - 1)});
  std::set<uint64_t> accepted;
  size_t votes = 0;
  for (const Item& item : this->Items(at)) {
    if (item.kind == ItemKind::kAccepted) accepted.insert(item.member);
    if (item.kind == ItemKind::kVote) ++votes;
  }
  EXPECT_EQ(accepted.size(), kThreads * kItems);
  EXPECT_EQ(votes, kItems);
  EXPECT_EQ(this->Items(at).size(), kItems * (kThreads + 2));
}

TYPED_TEST_P(ServerStoreContract, BeginsOnceWhenSeveralThreadsTry) {
  std::atomic<int> begun = 0;
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      const absl::Status status = this->store().Begin(RecordOf(0, t, 0), std::vector<uint64_t>{t});
      if (status.ok()) {
        ++begun;
      } else {
        EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(begun, 1);
  ASSERT_EQ(this->Attempts().size(), 1u);
  EXPECT_EQ(this->Cohort(), std::vector<uint64_t>{this->Attempts()[0].attempt.number.round});
}

REGISTER_TYPED_TEST_SUITE_P(
    ServerStoreContract, IsEmptyAtFirst, BelongsToTheFederationThatClaimedItFirst,
    KeepsAttemptsInTheOrderInWhichTheyBegan, KeepsTheCohortUntilTheAttemptEnds, KeepsALargeCohort,
    BeginsNothingWhileAnAttemptIsOpen, BeginsNoNumberTwice, RefusesPhasesThatDoNotFitTheCall,
    UpdatesTheAttemptTogetherWithItsItems, UpdatesWhollyOrNot, UpdatesAndFinishesTheLastAttemptOnly,
    AnEndedAttemptStaysAsItIs, ForgetsItemsOfTheAttemptThatEndsByKind, KeepsOneItemAMemberAndKind,
    ItemsOfOtherKindsMembersAndAttemptsAreOthers, ReturnsItemsInTheOrderInWhichTheyWerePut,
    KeepsEveryByteOfAnItem, ForgetsItemsOfEarlierRoundsInEveryEpoch,
    ForgetsKeyPacketsOfEarlierEpochsOnly, ReadsAFewItemsOfOneKindByMember,
    ForgetsWhatOperatorsDidByNumberAlone, EveryCallIsDurable, TakesItemsFromSeveralThreads,
    BeginsOnceWhenSeveralThreadsTry);

}  // namespace tacet::server

#endif  // TACET_SERVER_SERVER_STORE_CONTRACT_FOR_TEST_H_
