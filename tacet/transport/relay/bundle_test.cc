#include "tacet/transport/relay/bundle.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/format_ids.h"
#include "tacet/protocol/member_request.h"

namespace tacet::transport::relay {
namespace {

using ::testing::HasSubstr;

base::Bytes Text(std::string_view text) { return {text.begin(), text.end()}; }

TEST(BundleTest, CarriesRequestsAndAnswers) {
  const std::vector<base::Bytes> requests = {Text("one"), Text("")};
  const auto read = ReadRequests(WriteRequests(requests));
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->size(), 2);
  EXPECT_THAT(ReadRequests(WriteRequests({}))->size(), 0);

  const std::vector<RelayedAnswer> answers = {
      {crypto::Sha256(requests[0]), Text("yes")},
      {crypto::Sha256(requests[1]), absl::AbortedError("clocks")},
      {crypto::Sha256(requests[1]), absl::UnauthenticatedError("a\nline")}};
  const std::vector<PushedAnswer> pushed = {{crypto::Sha256(Text("what?")), Text("that")}};
  const auto again = ReadAnswers(WriteAnswers(answers, pushed));
  ASSERT_TRUE(again.ok()) << again.status();
  ASSERT_EQ(again->answers.size(), 3);
  EXPECT_EQ(again->answers[0].request, crypto::Sha256(requests[0]));
  EXPECT_EQ(*again->answers[0].answer, Text("yes"));
  EXPECT_EQ(again->answers[1].answer.status(), absl::AbortedError("clocks"));
  // A server does not speak for a member's own wire, nor write into its terminal.
  EXPECT_EQ(again->answers[2].answer.status(), absl::PermissionDeniedError("a?line"));
  ASSERT_EQ(again->pushed.size(), 1);
  EXPECT_EQ(again->pushed[0].question, crypto::Sha256(Text("what?")));
  EXPECT_EQ(again->pushed[0].answer, Text("that"));
}

// The example of docs/formats/frameworks.md.
TEST(BundleTest, HasTheDocumentedBytes) {
  EXPECT_EQ(base::ToHex(WriteRequests(std::vector<base::Bytes>{Text("abc")})),
            "54435432"  // TCT2
            "0100"
            "01000000"
            "03000000"
            "616263");
  EXPECT_EQ(base::ToHex(WriteAnswers(std::vector<RelayedAnswer>{
                {crypto::Sha256(Text("abc")), absl::NotFoundError("no")}})),
            "54435433"  // TCT3
            "0100"
            "01000000"
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
            "05"
            "02000000"
            "6e6f"
            "00000000");
}

template <typename Read>
void ExpectEachCutIsRefused(const base::Bytes& bundle, Read read) {
  for (size_t size = 0; size < bundle.size(); ++size) {
    EXPECT_EQ(read(std::span(bundle).first(size)).status().code(), absl::StatusCode::kDataLoss);
  }
  base::Bytes longer = bundle;
  longer.push_back(0);
  EXPECT_EQ(read(longer).status().code(), absl::StatusCode::kDataLoss);
}

TEST(BundleTest, RefusesWhatNobodyWrites) {
  ExpectEachCutIsRefused(WriteRequests(std::vector<base::Bytes>{Text("one"), Text("two")}),
                         ReadRequests);
  const RelayedAnswer answer{crypto::Digest{}, Text("yes")};
  const PushedAnswer pushed{crypto::Digest{}, Text("that")};
  ExpectEachCutIsRefused(WriteAnswers(std::vector{answer, answer}, std::vector{pushed}),
                         ReadAnswers);

  const auto message = [](const auto& read) { return std::string(read.status().message()); };
  base::ByteWriter many;
  base::WritePreamble(base::format::kRelayedRequests, many);
  many.U32(65);
  EXPECT_THAT(message(ReadRequests(many.bytes())), HasSubstr("65 calls, at most 64"));

  // A length beyond the limit is refused before there is memory for it.
  base::ByteWriter large;
  base::WritePreamble(base::format::kRelayedRequests, large);
  large.U32(1);
  large.U32(protocol::kMaxRequestBytes + 1);
  EXPECT_EQ(ReadRequests(large.bytes()).status().code(), absl::StatusCode::kDataLoss);

  base::ByteWriter unknown;
  base::WritePreamble(base::format::kRelayedAnswers, unknown);
  unknown.U32(1);
  unknown.Raw(crypto::Digest{});
  unknown.U8(17);
  unknown.Blob("text");
  EXPECT_THAT(message(ReadAnswers(unknown.bytes())), HasSubstr("there is no code 17"));
}

}  // namespace
}  // namespace tacet::transport::relay
