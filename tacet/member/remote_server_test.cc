// Large objects over a wire that breaks.
#include "tacet/member/remote_server.h"

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include "fmt/core.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/protocol/small_federation_for_test.h"
#include "tacet/protocol/whole_requests_for_test.h"

namespace tacet::member {
namespace {

using protocol::testing::SmallFederation;
using protocol::testing::ValueOf;
using ::testing::HasSubstr;

constexpr size_t kPart = protocol::kMaxPartBytes;
constexpr size_t kTries = 1 + RemoteServer::kMostUnreadable;

// Keeps what is put and gives what it has; every `breaks_at`th call is lost, or its answer.
class BreakingWire final : public protocol::Wire {
 public:
  explicit BreakingWire(const agreement::SignedManifest& manifest) : manifest_(manifest) {}

  absl::StatusOr<base::Bytes> Call(std::span<const uint8_t> request, uint32_t) override {
    const bool breaks = breaks_at > 0 && ++calls % breaks_at == 0;
    if (breaks && !loses_answers) return why;
    const protocol::RequestBody body =
        ValueOf(protocol::ReadMemberRequest(request, manifest_, kNow)).body;
    base::Bytes answer;
    if (const auto* put = std::get_if<protocol::PutPartRequest>(&body)) {
      carried += put->part.size();
      if (acknowledges > 0 && !put->part.empty()) {
        return protocol::WriteArrived(put->offset + acknowledges);
      }
      if (put->offset == object.size()) {
        object.insert(object.end(), put->part.begin(), put->part.end());
      }
      answer = protocol::WriteArrived(object.size());
    } else if (const auto* fetch = std::get_if<protocol::FetchPartRequest>(&body)) {
      const auto part = std::span<const uint8_t>(object).subspan(
          fetch->offset, std::min(gives, object.size() - fetch->offset));
      carried += part.size();
      answer = protocol::WriteFetchedPart(object.size() + grows * ++fetches, part);
    }
    if (std::holds_alternative<protocol::AwaitRequest>(body)) {
      answer = protocol::WriteAnnouncement({});
    } else if (std::holds_alternative<protocol::FetchVotesRequest>(body) ||
               std::holds_alternative<protocol::FetchAttestationsRequest>(body) ||
               std::holds_alternative<protocol::FetchOpeningRequest>(body)) {
      answer = protocol::WriteBlobs({});
    }
    if (breaks) return why;
    if (garbled > 0) {
      --garbled;
      return garbage;
    }
    return answer;
  }
  void Stop() override {}

  static constexpr uint64_t kNow = 1'755'000'000;
  base::Bytes object;
  int breaks_at = 0;
  bool loses_answers = false;
  absl::Status why = absl::UnavailableError("the wire broke");
  int calls = 0;
  size_t carried = 0;
  // For a server that lies: bytes of each part that it says it has, bytes of each part that it
  // gives, bytes by which an object grows from one part to the next.
  size_t acknowledges = 0;
  size_t gives = kPart;
  size_t grows = 0;
  size_t fetches = 0;
  // So many answers are lost, and these bytes come in their places.
  int garbled = 0;
  base::Bytes garbage;

 private:
  const agreement::SignedManifest& manifest_;
};

class RemoteServerTest : public ::testing::Test {
 protected:
  RemoteServer Remote(int most_failures) {
    return RemoteServer(
        members_.manifest(), 1, members_.site(1).signing, wire_, [] { return BreakingWire::kNow; },
        [this, most_failures](const absl::Status&, int failures) {
          ++tries_;
          return failures <= most_failures;
        });
  }
  RemoteServer Impatient() {
    return RemoteServer(members_.manifest(), 1, members_.site(1).signing, wire_,
                        [] { return BreakingWire::kNow; });
  }
  static base::Bytes Object() {
    base::Bytes object(5 * kPart + 77);
    for (size_t i = 0; i < object.size(); ++i) object[i] = static_cast<uint8_t>(i * 31 >> 8);
    return object;
  }

  SmallFederation members_;
  protocol::BulkName name_{.kind = protocol::BulkKind::kClosedRound, .attempt = {}};
  BreakingWire wire_{members_.manifest()};
  int tries_ = 0;
};

TEST_F(RemoteServerTest, AFetchedObjectGoesOnWhereTheWireBroke) {
  wire_.object = Object();
  wire_.breaks_at = 2;
  EXPECT_EQ(ValueOf(Remote(1).Fetch(name_, 0, Object().size())), Object());
  EXPECT_EQ(wire_.carried, Object().size());  // each byte once
  EXPECT_EQ(tries_, 5);
}

TEST_F(RemoteServerTest, ASentObjectGoesOnWhereTheWireBroke) {
  name_.kind = protocol::BulkKind::kUpload;
  for (const bool loses_answers : {false, true}) {
    wire_.object.clear();
    wire_.carried = 0;
    wire_.calls = 0;
    wire_.breaks_at = 3;
    wire_.loses_answers = loses_answers;
    const base::Bytes object = Object();
    EXPECT_TRUE(Remote(1).Put(name_, object).ok());
    EXPECT_EQ(wire_.object, object);
    EXPECT_LE(wire_.carried, object.size() + (loses_answers ? 3 * kPart : 0));
  }
}

// Whichever of the two is lost, or its answer, is sent again by itself.
TEST_F(RemoteServerTest, AnAttestationAndACheckpointTravelTogetherUntilBothAreTaken) {
  name_.kind = protocol::BulkKind::kCheckpoint;
  const base::Bytes attestation = {1, 2, 3}, checkpoint(kPart, 7);
  const auto put = [&](const RemoteServer& remote, int calls_before) {
    wire_.object.clear();
    wire_.carried = 0;
    wire_.calls = calls_before;
    return remote.PutAttestationWith(attestation, name_, checkpoint, crypto::Sha256(checkpoint));
  };
  for (const bool loses_answers : {false, true}) {
    wire_.loses_answers = loses_answers;
    for (const int breaks_at : {0, 2, 3}) {
      wire_.breaks_at = breaks_at;
      for (const int calls_before : {0, 1}) {
        const auto [attested, given] = put(Remote(1), calls_before);
        EXPECT_TRUE(attested.ok() && given.ok()) << breaks_at << ", " << calls_before;
        EXPECT_EQ(wire_.object, checkpoint);
        EXPECT_LE(wire_.carried, 2 * kPart);
      }
    }
  }
  wire_.breaks_at = 1;
  const auto [attested, given] = put(Remote(0), 0);
  EXPECT_EQ(attested, wire_.why);
  EXPECT_EQ(given, wire_.why);
  EXPECT_EQ(wire_.calls, 2);
}

// A server that says of each part that one byte of it has arrived was sent 1 MiB for every byte of
// an upload by 0.1: 0.99 TB for one of 1,468,340 bytes.
TEST_F(RemoteServerTest, APartIsNotSentAgainByteForByte) {
  name_.kind = protocol::BulkKind::kUpload;
  for (const size_t acknowledged : {size_t{1}, kPart - 1}) {
    wire_.acknowledges = acknowledged;
    wire_.carried = 0;
    const absl::Status sent = Impatient().Put(name_, Object());
    EXPECT_EQ(sent.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(base::Message(sent), HasSubstr("have arrived"));
    EXPECT_EQ(wire_.carried, kTries * kPart);
  }
}

// Nor does a download that is given in crumbs, or grows, continue.
TEST_F(RemoteServerTest, ADownloadHasAsManyPartsAsItsSizeNeeds) {
  wire_.object = Object();
  for (const size_t given : {size_t{0}, size_t{1}, kPart - 1}) {
    wire_.gives = given;
    wire_.carried = 0;
    const auto fetched = Impatient().Fetch(name_, 0, Object().size());
    EXPECT_EQ(fetched.status().code(), absl::StatusCode::kDataLoss);
    EXPECT_LE(wire_.carried, kTries * kPart);
  }
  wire_.gives = kPart;
  wire_.grows = 1;
  wire_.fetches = 0;
  EXPECT_EQ(Impatient().Fetch(name_, 0, 2 * Object().size()).status().code(),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(wire_.fetches, 1 + kTries);
}

// Garbage, a cut answer, and an answer of another call.
std::vector<base::Bytes> Unreadable() {
  base::Bytes cut = protocol::WriteFetchedPart(100, base::Bytes(100));
  cut.resize(60);
  const base::Bytes object(10);
  return {base::Bytes(33, 0xE5), base::Bytes(1), cut, protocol::WriteArrived(~uint64_t{0}),
          protocol::WriteFetchedPart(~uint64_t{0}, object)};
}

TEST_F(RemoteServerTest, AnUnreadableAnswerCostsARepetition) {
  const secagg::Attempt attempt;
  name_.kind = protocol::BulkKind::kUpload;
  const base::Bytes object = Object();
  const std::vector<std::function<absl::Status(const RemoteServer&)>> calls = {
      [&](const RemoteServer& remote) { return remote.Put(name_, object); },
      [&](const RemoteServer& remote) { return remote.Has(name_, object).status(); },
      [&](const RemoteServer& remote) {
        const auto fetched = remote.Fetch(name_, 0, object.size());
        EXPECT_TRUE(!fetched.ok() || *fetched == object);
        return fetched.status();
      },
      [&](const RemoteServer& remote) { return remote.PutVote(attempt, base::Bytes(5)); },
      [&](const RemoteServer& remote) { return remote.PutVerdict(attempt, true); },
      [&](const RemoteServer& remote) { return remote.PutAttestation(base::Bytes(5)); },
      [&](const RemoteServer& remote) { return remote.PutOpeningStatement(base::Bytes(5)); },
      [&](const RemoteServer& remote) { return remote.FetchVotes(attempt).status(); },
      [&](const RemoteServer& remote) { return remote.FetchAttestations(0).status(); },
      [&](const RemoteServer& remote) { return remote.FetchOpeningStatements().status(); },
      [&](const RemoteServer& remote) { return remote.Await({}).status(); }};
  for (const bool pauses : {false, true}) {
    for (size_t call = 0; call < calls.size(); ++call) {
      for (const base::Bytes& garbage : Unreadable()) {
        SCOPED_TRACE(fmt::format("call {}, {} bytes", call, garbage.size()));
        const RemoteServer remote = pauses ? Remote(8) : Impatient();
        wire_.garbage = garbage;
        wire_.object = call == 2 ? object : base::Bytes();
        wire_.garbled = RemoteServer::kMostUnreadable;
        wire_.calls = 0;
        tries_ = 0;
        const absl::Status status = calls[call](remote);
        EXPECT_TRUE(status.ok()) << status;
        EXPECT_EQ(wire_.garbled, 0);
        EXPECT_EQ(tries_, pauses ? RemoteServer::kMostUnreadable : 0);
        // It ends all the same.
        wire_.garbled = 1000;
        EXPECT_EQ(calls[call](remote).code(), absl::StatusCode::kDataLoss);
        EXPECT_EQ(wire_.garbled, 1000 - static_cast<int>(kTries));
      }
    }
  }
}

TEST_F(RemoteServerTest, AnAttestationWhoseAnswerIsUnreadableIsSentAgain) {
  name_.kind = protocol::BulkKind::kCheckpoint;
  const base::Bytes checkpoint(100, 7);
  wire_.garbage = {1, 2, 3};
  for (const int garbled : {1, 2}) {
    wire_.object.clear();
    wire_.garbled = garbled;
    const auto [attested, given] = Impatient().PutAttestationWith(base::Bytes(5), name_, checkpoint,
                                                                  crypto::Sha256(checkpoint));
    EXPECT_TRUE(attested.ok() && given.ok()) << attested << given;
    EXPECT_EQ(wire_.object, checkpoint);
  }
}

// Bytes that came whole and are something else, as their reader finds.
TEST_F(RemoteServerTest, AnObjectThatIsNoneIsFetchedAgain) {
  wire_.object = Object();
  int unreadable = 1, read = 0;
  const auto reader = [&](std::span<const uint8_t> bytes) {
    EXPECT_TRUE(std::ranges::equal(bytes, Object()));
    ++read;
    return unreadable-- > 0 ? base::DataLoss("garbage") : absl::OkStatus();
  };
  EXPECT_EQ(ValueOf(Impatient().Fetch(name_, 0, Object().size(), reader)), Object());
  EXPECT_EQ(read, 2);
  unreadable = 1000;
  read = 0;
  EXPECT_EQ(ValueOf(Impatient().Fetch(name_, 0, Object().size(), reader)), Object());
  EXPECT_EQ(read, static_cast<int>(kTries));
}

TEST_F(RemoteServerTest, RetriesEnd) {
  wire_.object = Object();
  wire_.breaks_at = 1;
  const auto fetched = Remote(4).Fetch(name_, 0, Object().size());
  EXPECT_EQ(fetched.status(), wire_.why);
  EXPECT_EQ(wire_.calls, 5);
}

TEST_F(RemoteServerTest, ARefusalIsTheLastWordAndNewsAreAwaitedOnce) {
  wire_.breaks_at = 1;
  EXPECT_EQ(Remote(4).Await({}).status(), wire_.why);
  EXPECT_EQ(wire_.calls, 1);
  wire_.why = absl::FailedPreconditionError("closed");
  EXPECT_EQ(Remote(4).Fetch(name_, 0, 10).status(), wire_.why);
  EXPECT_EQ(wire_.calls, 2);
  EXPECT_EQ(tries_, 0);
}

}  // namespace
}  // namespace tacet::member
