// Requests whose ends are in doubt, and contents that are not what was signed. A client cannot hide
// a request in another one, nor get bytes into the blob store that its signature does not cover.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/crypto/hash.h"
#include "tacet/transport/https/attacks_for_test.h"

namespace tacet::transport::https {
namespace {

using http::WaitUntil;
using protocol::BulkKind;
using protocol::testing::ValueOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class FramingTest : public AttacksTest {
 protected:
  FramingTest() {
    serving_.spec.limits.long_poll = std::chrono::hours(1);
    serving_.Begin();
  }

  // Everything that is answered to these bytes, until the server closes.
  std::string AnswersTo(std::string_view bytes) const {
    const auto connection = Connect("site-1");
    connection->Write(bytes);
    return connection->ReadUntil("never");
  }
  static int CountOf(std::string_view part, std::string_view text) {
    int count = 0;
    for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
      ++count;
    }
    return count;
  }
};

// Each is read by some servers as a whole request, by others as the beginning of one that has the
// genuine call as its body. Neither happens here: it is refused, and with it all that follows.
TEST_F(FramingTest, ARequestWithADoubtfulEndTakesNothingWithIt) {
  const std::string call = Call(1, protocol::AwaitRequest{});
  const std::string line = "POST /tacet/1 HTTP/1.1\r\nHost: a\r\n";
  const std::string length = fmt::format("Content-Length: {}\r\n", call.size());
  for (const std::string& head : std::vector<std::string>{
           line + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
           line + "Transfer-Encoding: chunked\r\n" + length + "\r\n0\r\n\r\n",
           line + length + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
           line + "Transfer-Encoding: xchunked\r\n" + length + "\r\n",
           line + "Transfer-Encoding: identity\r\n" + length + "\r\n",
           line + "Transfer-Encoding : chunked\r\n" + length + "\r\n",
           line + length + "Content-Length: 0\r\n\r\n",
           line + "Content-Length: 0\r\n" + length + "\r\n",
           line + "Content-Length: 0, " + std::to_string(call.size()) + "\r\n\r\n",
           line + "Content-Length : 0\r\n\r\n",
           line + "Content-Length: 0\r\n " + std::to_string(call.size()) + "\r\n\r\n",
           line + "Content-Length: +0\r\n\r\n",
           line + "Content-Length: 0x0\r\n\r\n",
           line + "Content-Length: -1\r\n\r\n",
           line + "Content-Length:\r\n\r\n",
           line + std::string("Content-Length: 0\0\r\n\r\n", 22),
           line + std::string("X: \0\r\n\r\n", 8),
           line + "X: a\rContent-Length: 0\r\n\r\n",
           line + "X: a\nContent-Length: 0\r\n\r\n",
           "POST /tacet/1 HTTP/1.1\n\n",
           "POST /tacet/1\r\n\r\n",
           "POST /tacet/1 HTTP/1.1 \r\n\r\n",
           "POST /tacet/1 HTTP/2.0\r\n\r\n",
           "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
       }) {
    const std::string answers = AnswersTo(head + call);
    EXPECT_THAT(answers, AnyOf(StartsWith("HTTP/1.1 400"), StartsWith("HTTP/1.1 411"))) << head;
    EXPECT_THAT(answers, HasSubstr("Connection: close")) << head;
    EXPECT_EQ(CountOf("HTTP/1.1 ", answers), 1) << head << answers;
  }
  EXPECT_EQ(serving_.observer.answered, 0u);
  ExpectHonestMemberIsAnswered();
}

// The length decides, whatever the bytes look like.
TEST_F(FramingTest, ACallInTheBodyOfAnotherIsItsBody) {
  const std::string call = Call(1, protocol::AwaitRequest{});
  const std::string answers = AnswersTo(Post(base::AsBytes(call)) + "\r\n\r\n");
  EXPECT_THAT(answers, StartsWith("HTTP/1.1 400"));
  EXPECT_EQ(serving_.observer.answered, 0u);
}

TEST_F(FramingTest, CallsOneBehindTheOtherAreAnsweredInOrder) {
  constexpr int kCalls = 50;
  std::string calls;
  for (int i = 0; i < kCalls; ++i) {
    calls += i % 2 == 0 ? Call(1, protocol::AwaitRequest{}) : Post(base::Bytes(300, 7));
  }
  const auto connection = Connect("site-1");
  ASSERT_TRUE(connection->Write(calls));
  for (int i = 0; i < kCalls; ++i) {
    const std::string status = i % 2 == 0 ? "HTTP/1.1 200" : "HTTP/1.1 4";
    EXPECT_THAT(connection->ReadResponse(), StartsWith(status)) << i;
  }
  EXPECT_EQ(serving_.observer.answered, kCalls / 2);
}

// The server reads no further than a head behind a call that waits.
TEST_F(FramingTest, BytesBehindAParkedCallStayWithTheirSender) {
  const auto known = ValueOf(MemberForTest(serving_, 1).remote.Await({}));
  const auto connection = Connect("site-1");
  std::string behind;
  while (behind.size() < size_t{48} << 20) behind += "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  ASSERT_TRUE(connection->Write(Call(1, protocol::AwaitRequest{.known_revision = known.revision})));
  WaitUntil([&] { return serving_.server->Load().parked == 1; });
  const std::string encrypted = connection->Encrypted(behind);
  std::atomic<bool> sent = false;
  std::thread sender([&] {
    connection->SendRaw(encrypted);
    sent = true;
  });
  ExpectHonestMemberIsAnswered();
  EXPECT_FALSE(sent);
  EXPECT_EQ(serving_.server->Load().parked, 1u);
  ASSERT_TRUE(serving_.rounds->Tick().ok());
  EXPECT_THAT(connection->ReadResponse(), StartsWith("HTTP/1.1 200"));
  connection->CloseRaw();
  sender.join();
}

TEST_F(FramingTest, AContentIsTheSignedOneOrNothingArrives) {
  ASSERT_TRUE(serving_.rounds->Tick().ok());
  uint64_t invited = 0;
  while (ValueOf(serving_.rounds->AnnouncementFor(invited, 0, false)).current->invited !=
         protocol::Invited::kYes) {
    ++invited;
  }
  const secagg::Attempt attempt =
      ValueOf(serving_.rounds->AnnouncementFor(invited, 0, false)).current->attempt;
  const base::Bytes upload = serving_.members.Upload(invited, attempt);
  protocol::PutPartRequest put{.name = {BulkKind::kUpload, attempt},
                               .total = upload.size(),
                               .digest = crypto::Sha256(upload)};
  const MemberForTest honest(serving_, invited);
  const auto connection = Connect(MemberName(invited));
  const auto answer_to = [&](const base::Bytes& request) {
    connection->Write(Post(request));
    return connection->ReadResponse();
  };
  const auto arrived = [&] {
    const std::string answer = answer_to(Signed(invited, put));
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
    return answer.substr(answer.find("\r\n\r\n") + 4);
  };
  const std::string nothing = arrived();

  protocol::PutPartRequest whole = put;
  whole.part = upload;
  const base::Bytes genuine = Signed(invited, whole);
  base::Bytes altered = genuine, longer = genuine, shorter = genuine;
  altered.back() ^= 1;
  longer.push_back(0);
  shorter.pop_back();
  for (const base::Bytes& request : {altered, longer, shorter}) {
    EXPECT_THAT(answer_to(request), StartsWith("HTTP/1.1 400"));
    EXPECT_EQ(arrived(), nothing);
  }
  // One that breaks off in the middle, too.
  {
    const auto broken = Connect(MemberName(invited));
    const std::string call = Post(genuine);
    broken->Write(call.substr(0, call.size() / 2));
    WaitUntil([&] { return serving_.server->Load().working == 1; });
  }
  WaitUntil([&] { return serving_.server->Load().working == 0; });
  EXPECT_EQ(arrived(), nothing);
  EXPECT_EQ(serving_.rounds->Status().accepted, 0u);

  EXPECT_THAT(answer_to(genuine), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(serving_.rounds->Status().accepted, 1u);
}

}  // namespace
}  // namespace tacet::transport::https
