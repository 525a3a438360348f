#include "tacet/transport/relay/relay_wire.h"

#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/protocol/small_federation_for_test.h"
#include "tacet/protocol/whole_requests_for_test.h"
#include "tacet/transport/relay/bundle.h"

namespace tacet::transport::relay {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kLong = 600;

class RelayWireTest : public ::testing::Test {
 protected:
  static base::Bytes Text(std::string_view text) { return {text.begin(), text.end()}; }

  using Answer = absl::StatusOr<base::Bytes>;

  std::future<Answer> Call(std::string_view request, uint32_t most_seconds = kLong) {
    return std::async(std::launch::async, [this, bytes = Text(request), most_seconds] {
      return wire_.Call(bytes, most_seconds);
    });
  }
  // The requests of the next bundle, as soon as there is one.
  std::vector<std::string> Taken() {
    while (true) {
      const std::optional<base::Bytes> bundle = wire_.Take();
      if (!bundle.has_value()) {
        std::this_thread::yield();
        continue;
      }
      std::vector<std::string> texts;
      const auto requests = ReadRequests(*bundle);
      for (const auto& request : *requests) texts.emplace_back(request.begin(), request.end());
      return texts;
    }
  }
  void Give(std::string_view request, Answer answer) {
    wire_.Deliver(WriteAnswers(
        std::vector<RelayedAnswer>{{crypto::Sha256(Text(request)), std::move(answer)}}));
  }

  RelayWire wire_;
};

TEST_F(RelayWireTest, ACallIsAnsweredByWhatIsDelivered) {
  std::future<Answer> call = Call("question");
  EXPECT_THAT(Taken(), testing::ElementsAre("question"));
  EXPECT_EQ(wire_.Take(), std::nullopt) << "it was taken";
  Give("question", Text("answer"));
  EXPECT_EQ(*call.get(), Text("answer"));

  call = Call("question");
  Taken();
  Give("question", absl::NotFoundError("no"));
  EXPECT_EQ(call.get().status(), absl::NotFoundError("no"));
}

// Each has an answer of its own, in whatever order and bundles they come.
TEST_F(RelayWireTest, CallsTogetherTravelInOneBundle) {
  const base::Bytes content = Text(" with content");
  auto calls = std::async(std::launch::async, [&] {
    const std::vector<protocol::Wire::Request> requests = {
        {.head = Text("first")}, {.head = Text("second"), .content = content}};
    return wire_.CallTogether(requests, kLong);
  });
  EXPECT_THAT(Taken(), testing::ElementsAre("first", "second with content"));
  Give("second with content", absl::NotFoundError("no"));
  Give("first", Text("yes"));
  const auto answers = calls.get();
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(*answers[0], Text("yes"));
  EXPECT_EQ(answers[1].status(), absl::NotFoundError("no"));
}

// A messenger that lies is no more than a server that lies: answers to other requests, or to none,
// are nobody's.
TEST_F(RelayWireTest, OnlyTheFirstAnswerToTheSameBytesCounts) {
  Give("question", Text("before it was asked"));
  std::future<Answer> call = Call("question");
  Taken();
  Give("another question", Text("wrong"));
  EXPECT_EQ(call.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  wire_.Deliver(Text("no bundle"));
  const RelayedAnswer first{crypto::Sha256(Text("question")), Text("first")};
  const RelayedAnswer second{crypto::Sha256(Text("question")), Text("second")};
  wire_.Deliver(WriteAnswers(std::vector{first, second}));
  EXPECT_EQ(*call.get(), Text("first"));
}

// A member's next question needs no message of its own; each pushed answer serves once.
TEST_F(RelayWireTest, APushedAnswerServesOneCall) {
  const protocol::testing::SmallFederation members;
  const auto signed_at = [&](uint64_t time, const protocol::RequestBody& body) {
    return protocol::WriteMemberRequest({.member = 1, .time = time, .body = body},
                                        members.manifest(), members.site(1).signing);
  };
  const protocol::RequestBody votes = protocol::FetchVotesRequest{};
  const protocol::RequestBody await = protocol::AwaitRequest{.known_revision = 3};
  const protocol::RequestBody part = protocol::PutPartRequest{};
  const std::vector<PushedAnswer> pushed = {{protocol::QuestionOf(votes), Text("votes")},
                                            {protocol::QuestionOf(await), Text("news")},
                                            {protocol::QuestionOf(part), Text("nobody's")}};
  wire_.Deliver(WriteAnswers({}, pushed));
  EXPECT_EQ(*wire_.Call(signed_at(7, votes), kLong), Text("votes"));
  EXPECT_EQ(wire_.Call(signed_at(8, votes), 0).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  const protocol::RequestBody another = protocol::AwaitRequest{.known_revision = 4};
  EXPECT_FALSE(wire_.Call(signed_at(9, another), 0).ok());
  EXPECT_FALSE(wire_.Call(signed_at(9, part), 0).ok()) << "content is never swallowed";
  EXPECT_EQ(*wire_.Call(signed_at(9, await), kLong), Text("news"));

  // Only until the next bundle, so that nothing old is believed for long.
  wire_.Deliver(WriteAnswers({}, pushed));
  wire_.Deliver(WriteAnswers({}));
  EXPECT_FALSE(wire_.Call(signed_at(9, await), 0).ok());
}

TEST_F(RelayWireTest, WhatWasLostIsTakenAgain) {
  std::future<Answer> call = Call("question");
  Taken();
  for (const base::Bytes& lost : {Text(""), Text("no bundle"), WriteAnswers({})}) {
    EXPECT_EQ(wire_.Take(), std::nullopt);
    wire_.Deliver(lost);
    EXPECT_THAT(Taken(), testing::ElementsAre("question"));
  }
  Give("question", Text("answer"));
  EXPECT_EQ(*call.get(), Text("answer"));
}

TEST_F(RelayWireTest, ACallEndsWithItsTimeAndWithTheMember) {
  const Answer late = wire_.Call(Text("question"), 0);
  EXPECT_EQ(late.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(late.status().message()),
              HasSubstr("no answer came through the framework in time"));
  EXPECT_EQ(wire_.Take(), std::nullopt) << "nobody waits for it";

  std::future<Answer> call = Call("question");
  Taken();
  wire_.Stop();
  EXPECT_EQ(call.get().status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(wire_.Call(Text("question"), kLong).status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace tacet::transport::relay
