#include "tacet/protocol/member_request.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status_for_test.h"
#include "tacet/protocol/attestation.h"
#include "tacet/protocol/encrypted_checkpoint.h"
#include "tacet/protocol/small_federation_for_test.h"
#include "tacet/protocol/whole_requests_for_test.h"
#include "tacet/secagg/key_packet.h"
#include "tacet/secagg/unmask_share.h"
#include "tacet/server/initial_attestations_for_test.h"
#include "tacet/server/memory_server_store_for_test.h"
#include "tacet/server/request_handler.h"

namespace tacet::live {
namespace {

using protocol::testing::SmallAgreement;
using protocol::testing::SmallFederation;
using protocol::testing::ValueOf;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

constexpr uint64_t kNow = 1'755'000'000;

SmallFederation& Members() {
  static auto& members = *new SmallFederation;
  return members;
}

secagg::Attempt SomeAttempt() {
  secagg::Attempt attempt{.number = {.epoch = 1, .round = 2, .attempt = 3}};
  attempt.manifest_hash.fill(4);
  attempt.model_digest.fill(5);
  return attempt;
}

std::vector<protocol::RequestBody> AllBodies() {
  protocol::PutPartRequest part{.name = {protocol::BulkKind::kCheckpoint, SomeAttempt()},
                                .total = 100,
                                .offset = 40,
                                .part = base::Bytes(60, 6)};
  part.digest.fill(7);
  return {protocol::AwaitRequest{.known_revision = 8, .listed_from = 9, .unmasking = true},
          part,
          protocol::FetchPartRequest{
              .name = {protocol::BulkKind::kUnmaskShare, SomeAttempt()}, .index = 10, .offset = 11},
          protocol::PutVoteRequest{.attempt = SomeAttempt(), .vote = base::Bytes(12, 13)},
          protocol::FetchVotesRequest{.attempt = SomeAttempt()},
          protocol::PutVerdictRequest{.attempt = SomeAttempt(), .confirmed = true},
          protocol::PutAttestationRequest{.attestation = base::Bytes(14, 15)},
          protocol::FetchAttestationsRequest{.round = 16},
          protocol::PutOpeningRequest{.statement = base::Bytes(17, 18)},
          protocol::FetchOpeningRequest{},
          protocol::PutAbstentionRequest{.abstention = base::Bytes(19, 20)},
          protocol::PutObjectionRequest{.objection = base::Bytes(21, 22)},
          protocol::FetchPacketsRequest{.attempt = SomeAttempt(), .from = 23}};
}

base::Bytes Written(protocol::RequestBody body, uint64_t member = 2, uint64_t time = kNow) {
  return protocol::WriteMemberRequest({.member = member, .time = time, .body = std::move(body)},
                                      Members().manifest(), Members().site(member).signing);
}

TEST(MemberRequestTest, EveryKindIsReadAsItWasWritten) {
  size_t kind = 0;
  for (const protocol::RequestBody& body : AllBodies()) {
    const base::Bytes bytes = Written(body);
    ASSERT_OK_AND_ASSIGN(const auto read,
                         protocol::ReadMemberRequest(bytes, Members().manifest(), kNow));
    EXPECT_EQ(read.member, 2u);
    EXPECT_EQ(read.time, kNow);
    EXPECT_EQ(protocol::RequestKindIn(bytes), protocol::RequestKindName(kind));
    const std::optional<crypto::Digest> question = protocol::QuestionIn(bytes);
    ASSERT_EQ(question.has_value(), protocol::RequestKindName(kind) != "put-part");
    EXPECT_EQ(question.value_or(protocol::QuestionOf(body)), protocol::QuestionOf(body));
    EXPECT_EQ(read.body.index(), kind++);
    EXPECT_EQ(protocol::WriteMemberRequest(read, Members().manifest(), Members().site(2).signing),
              bytes);
  }
  EXPECT_EQ(kind, protocol::kRequestKinds);
}

TEST(MemberRequestTest, ARefusalIsNotReadAsAConfirmation) {
  for (const bool confirmed : {false, true}) {
    ASSERT_OK_AND_ASSIGN(
        const auto read,
        protocol::ReadMemberRequest(
            Written(protocol::PutVerdictRequest{.attempt = SomeAttempt(), .confirmed = confirmed}),
            Members().manifest(), kNow));
    EXPECT_EQ(std::get<protocol::PutVerdictRequest>(read.body).confirmed, confirmed);
  }
}

TEST(MemberRequestTest, BytesThatNameNoKindAreUnreadable) {
  const base::Bytes bytes = Written(protocol::AwaitRequest{});
  constexpr size_t kPreamble = 6;
  for (size_t cut = 0; cut <= kPreamble; ++cut) {
    EXPECT_EQ(protocol::RequestKindIn(std::span(bytes).first(cut)), "unreadable") << cut;
  }
  EXPECT_EQ(protocol::RequestKindIn(std::span(bytes).first(kPreamble + 1)), "await");
  for (const size_t kind : {size_t{0}, protocol::kRequestKinds + 1, size_t{255}}) {
    base::Bytes other = bytes;
    other[kPreamble] = static_cast<uint8_t>(kind);
    EXPECT_EQ(protocol::RequestKindIn(other), "unreadable") << kind;
  }
  base::Bytes other = bytes;
  other[0] ^= 1;
  EXPECT_EQ(protocol::RequestKindIn(other), "unreadable");
}

TEST(MemberRequestTest, EveryCutAndEveryFlippedByteIsRefused) {
  for (const protocol::RequestBody& body : AllBodies()) {
    const base::Bytes bytes = Written(body);
    for (size_t i = 0; i < bytes.size(); ++i) {
      EXPECT_FALSE(
          protocol::ReadMemberRequest(std::span(bytes).first(i), Members().manifest(), kNow).ok());
      base::Bytes flipped = bytes;
      flipped[i] ^= 0x10;
      EXPECT_FALSE(protocol::ReadMemberRequest(flipped, Members().manifest(), kNow).ok()) << i;
    }
  }
}

TEST(MemberRequestTest, OnlyTheMemberItselfSpeaksInItsName) {
  const protocol::MemberRequest request{
      .member = 2, .time = kNow, .body = protocol::AwaitRequest{}};
  const auto forged = protocol::ReadMemberRequest(
      protocol::WriteMemberRequest(request, Members().manifest(), Members().site(1).signing),
      Members().manifest(), kNow);
  EXPECT_EQ(forged.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(base::Message(forged.status()), HasSubstr("member 2 did not sign it"));
  const protocol::MemberRequest nobody{.member = 5, .time = kNow, .body = protocol::AwaitRequest{}};
  const auto unknown = protocol::ReadMemberRequest(
      protocol::WriteMemberRequest(nobody, Members().manifest(), Members().site(1).signing),
      Members().manifest(), kNow);
  EXPECT_EQ(unknown.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(base::Message(unknown.status()), HasSubstr("there is no member 5"));
}

TEST(MemberRequestTest, OtherEpochsAndFederationsAreRefused) {
  agreement::ManifestSpec other = SmallAgreement();
  other.rounds = 4;
  for (const auto& members : {std::make_unique<SmallFederation>(SmallAgreement(), 5, 1),
                              std::make_unique<SmallFederation>(other)}) {
    const auto read =
        protocol::ReadMemberRequest(Written(protocol::AwaitRequest{}), members->manifest(), kNow);
    EXPECT_EQ(read.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(base::Message(read.status()), HasSubstr("this federation is in epoch"));
  }
}

TEST(MemberRequestTest, ClocksMayDifferByTenMinutes) {
  const base::Bytes bytes = Written(protocol::AwaitRequest{});
  for (const uint64_t now : {kNow - 600, kNow + 600}) {
    EXPECT_TRUE(protocol::ReadMemberRequest(bytes, Members().manifest(), now).ok());
  }
  for (const uint64_t now : {kNow - 601, kNow + 601, uint64_t{0}, ~uint64_t{0}}) {
    const auto read = protocol::ReadMemberRequest(bytes, Members().manifest(), now);
    EXPECT_EQ(read.status().code(), absl::StatusCode::kAborted);  // it may be right later
    EXPECT_THAT(base::Message(read.status()), HasSubstr(fmt::format("it is {} here", now)));
  }
}

TEST(MemberRequestTest, AnswersAreReadAsTheyWereWritten) {
  const base::Bytes part(5, 3);
  const base::Bytes written = protocol::WriteFetchedPart(900, part);
  ASSERT_OK_AND_ASSIGN(const auto fetched, protocol::ReadFetchedPart(written));
  EXPECT_EQ(fetched.total, 900u);
  EXPECT_THAT(fetched.part, ElementsAreArray(part));
  EXPECT_EQ(*protocol::ReadArrived(protocol::WriteArrived(77)), 77u);
  const std::vector<base::Bytes> blobs = {part, {}, base::Bytes(2, 1)};
  EXPECT_EQ(*protocol::ReadBlobs(protocol::WriteBlobs(blobs)), blobs);
  base::Bytes many(4, 0xFF);
  EXPECT_EQ(protocol::ReadBlobs(many).status().code(), absl::StatusCode::kDataLoss);
}

TEST(AttestationTest, IsReadAsItWasSigned) {
  crypto::Digest digest;
  digest.fill(3);
  const base::Bytes bytes = Members().Attestation(4, 7, digest);
  ASSERT_OK_AND_ASSIGN(const auto read, protocol::ReadAttestation(bytes, Members().manifest()));
  EXPECT_EQ(read, (protocol::Attestation{
                      .member = 4, .round = 7, .model_digest = digest, .state_digest = {}}));
  for (size_t i = 0; i < bytes.size(); ++i) {
    base::Bytes flipped = bytes;
    flipped[i] ^= 1;
    EXPECT_FALSE(protocol::ReadAttestation(flipped, Members().manifest()).ok()) << i;
    EXPECT_FALSE(protocol::ReadAttestation(std::span(bytes).first(i), Members().manifest()).ok())
        << i;
  }
  const SmallFederation later(SmallAgreement(), 5, 1);
  EXPECT_EQ(protocol::ReadAttestation(bytes, later.manifest()).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

struct Seen {
  std::string kind;
  absl::StatusCode code;
  friend bool operator==(const Seen&, const Seen&) = default;
};

class RequestHandlerTest : public ::testing::Test, protected server::RequestObserver {
 protected:
  RequestHandlerTest() {
    server::testing::GivePackets(*server_, Members());
    server::testing::AttestInitialModel(*server_, Members());
    for (uint64_t member = 0; member < 5; ++member) server_->NotePresence(member);
  }
  void OnRequest(std::string_view kind, const absl::Status& status, size_t, size_t) override {
    seen_.push_back({std::string(kind), status.code()});
  }
  absl::StatusOr<std::variant<base::Bytes, server::Waiting>> Handle(
      protocol::RequestBody body, std::optional<std::string_view> certificate_name = "site-2") {
    TACET_ASSIGN_OR_RETURN(server::HandledRequest handled,
                           handler_.Handle(Written(std::move(body)), certificate_name));
    return std::move(handled.next);
  }

  std::vector<Seen> seen_;
  server::MemoryServerStore store_;
  server::MemoryBlobStore blobs_;
  crypto::InsecureSeededEntropy cohorts_{3, "cohorts"};
  double seconds_ = 0;
  std::unique_ptr<server::RoundServer> server_ = ValueOf(server::RoundServer::Create(
      Members().manifest(), {}, store_, blobs_, [] { return kNow; }, cohorts_));
  server::RequestLimits limits_{
      {.requests_a_second = 1, .burst = 5}, 5, [this] { return seconds_; }};
  server::RequestHandler handler_{Members().manifest(), *server_, limits_, *this,
                                  [] { return kNow; }};
};

TEST_F(RequestHandlerTest, AnAwaitWaitsUntilThereAreNews) {
  ASSERT_OK_AND_ASSIGN(const auto now, Handle(protocol::AwaitRequest{}));
  ASSERT_OK_AND_ASSIGN(const auto announcement,
                       protocol::ReadAnnouncement(std::get<base::Bytes>(now)));
  ASSERT_OK_AND_ASSIGN(const auto later,
                       Handle(protocol::AwaitRequest{.known_revision = announcement.revision}));
  const auto& waiting = std::get<server::Waiting>(later);
  EXPECT_FALSE(handler_.IsNews(waiting));
  ASSERT_TRUE(server_->Tick().ok());
  EXPECT_TRUE(handler_.IsNews(waiting));
  ASSERT_OK_AND_ASSIGN(const auto answer, protocol::ReadAnnouncement(*handler_.Answer(waiting)));
  EXPECT_EQ(answer.current->phase, protocol::AttemptPhase::kCollecting);
  EXPECT_THAT(seen_, ElementsAre(Seen{"await", absl::StatusCode::kOk},
                                 Seen{"await", absl::StatusCode::kOk}));
}

TEST_F(RequestHandlerTest, ACertificateOfAnotherNameIsRefused) {
  const auto posing = Handle(protocol::AwaitRequest{}, "site-3");
  EXPECT_EQ(posing.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(base::Message(posing.status()),
              HasSubstr("signed by site-2, sent under the certificate of site-3"));
  EXPECT_TRUE(Handle(protocol::AwaitRequest{}, std::nullopt).ok());
  EXPECT_EQ(seen_[0], (Seen{"unreadable", absl::StatusCode::kPermissionDenied}));
}

TEST_F(RequestHandlerTest, AMemberThatAsksTooMuchWaits) {
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Handle(protocol::AwaitRequest{}).ok());
  const auto refused = Handle(protocol::AwaitRequest{});
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(base::Message(refused.status()), HasSubstr("again in 1.0 s"));
  EXPECT_TRUE(
      handler_.Handle(Written(protocol::AwaitRequest{}, 3), "site-3").ok());  // others do not
  seconds_ += 1;
  EXPECT_TRUE(Handle(protocol::AwaitRequest{}).ok());
}

TEST_F(RequestHandlerTest, AVerdictIsTheSendersOwn) {
  ASSERT_TRUE(server_->Tick().ok());
  const secagg::Attempt attempt = ValueOf(server_->AnnouncementFor(2, 0, false)).current->attempt;
  for (const bool confirmed : {false, true}) {
    const auto verdict =
        Handle(protocol::PutVerdictRequest{.attempt = attempt, .confirmed = confirmed});
    EXPECT_EQ(verdict.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(base::Message(verdict.status()), HasSubstr("is still collecting"));
    EXPECT_EQ(seen_.back(), (Seen{"put-verdict", absl::StatusCode::kFailedPrecondition}));
  }
}

// Among what is pushed to a member nothing is an act in its name, or more than it may fetch itself.
TEST_F(RequestHandlerTest, WhatIsAnsweredUnaskedChangesNothing) {
  ASSERT_TRUE(server_->Tick().ok());
  const auto code = [&](uint64_t member, const protocol::RequestBody& body) {
    return handler_.AnswerUnasked(member, body).status().code();
  };
  EXPECT_EQ(code(2, protocol::AwaitRequest{}), absl::StatusCode::kOk);
  EXPECT_EQ(code(2, protocol::FetchAttestationsRequest{}), absl::StatusCode::kOk);
  for (const protocol::RequestBody& act : {protocol::RequestBody(protocol::PutPartRequest{}),
                                           {protocol::PutVoteRequest{}},
                                           {protocol::PutVerdictRequest{}},
                                           {protocol::PutAttestationRequest{}},
                                           {protocol::PutOpeningRequest{}}}) {
    EXPECT_EQ(code(2, act), absl::StatusCode::kInvalidArgument) << act.index();
  }
  const secagg::Attempt attempt = ValueOf(server_->AnnouncementFor(2, 0, false)).current->attempt;
  EXPECT_NE(code(2, protocol::FetchPartRequest{.name = {.kind = protocol::BulkKind::kRoster,
                                                        .attempt = attempt}}),
            absl::StatusCode::kOk);
  EXPECT_THAT(seen_, ::testing::IsEmpty());
}

// A request to put an upload whole, and its pieces.
class ContentTest : public RequestHandlerTest {
 protected:
  ContentTest() {
    EXPECT_TRUE(server_->Tick().ok());
    const auto announced = [this](uint64_t member) {
      return *ValueOf(server_->AnnouncementFor(member, 0, false)).current;
    };
    attempt_ = announced(0).attempt;
    for (uint64_t member = 0; member < 5; ++member) {
      (announced(member).invited == protocol::Invited::kYes ? invited_ : others_).push_back(member);
    }
    SmallFederation members;
    upload_ = members.Upload(invited_[0], attempt_);
  }

  protocol::PutPartRequest Put(const base::Bytes& part) const {
    return {.name = {protocol::BulkKind::kUpload, attempt_},
            .total = upload_.size(),
            .digest = crypto::Sha256(upload_),
            .offset = 0,
            .part = part};
  }
  // Begins with the first bytes of the request; the content follows piece by piece.
  absl::StatusOr<std::unique_ptr<server::IncomingRequest>> Begin(uint64_t member,
                                                                 size_t extra = 0) {
    const base::Bytes request = Written(Put(upload_), member);
    const size_t head = request.size() - upload_.size();
    TACET_ASSIGN_OR_RETURN(server::BegunRequest begun,
                           handler_.Begin(std::span(request).first(head), request.size() + extra,
                                          Members().manifest().members()[member].name));
    EXPECT_EQ(begun.head.head_bytes, head);
    return std::get<std::unique_ptr<server::IncomingRequest>>(std::move(begun.next));
  }
  uint64_t Arrived(uint64_t member) {
    const auto handled = ValueOf(handler_.Handle(Written(Put({}), member), std::nullopt));
    return *protocol::ReadArrived(std::get<base::Bytes>(handled.next));
  }

  secagg::Attempt attempt_;
  std::vector<uint64_t> invited_, others_;
  base::Bytes upload_;
};

TEST_F(ContentTest, ContentArrivesPieceByPiece) {
  const auto incoming = ValueOf(Begin(invited_[0]));
  EXPECT_EQ(incoming->content_bytes(), upload_.size());
  for (size_t i = 0; i < upload_.size(); i += 1000) {
    const size_t bytes = std::min<size_t>(1000, upload_.size() - i);
    ASSERT_TRUE(incoming->Write(std::span(upload_).subspan(i, bytes)).ok());
  }
  EXPECT_EQ(*protocol::ReadArrived(ValueOf(incoming->Finish()).head), upload_.size());
  EXPECT_EQ(server_->Status().accepted, 1u);
  EXPECT_THAT(seen_, ElementsAre(Seen{"put-part", absl::StatusCode::kOk}));
}

TEST_F(ContentTest, WhoMayNotSendIsRefusedBeforeAnyContent) {
  const absl::Status uninvited = Begin(others_[0]).status();
  EXPECT_EQ(uninvited.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(base::Message(uninvited), HasSubstr("not one of its participants"));
  const absl::Status longer = Begin(invited_[0], 1).status();
  EXPECT_EQ(longer.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(base::Message(longer), HasSubstr("follow its head, which says"));
}

// A proxy that ends TLS could exchange the content.
TEST_F(ContentTest, ContentThatTheSenderDidNotSignHasNotArrived) {
  const auto incoming = ValueOf(Begin(invited_[0]));
  base::Bytes altered = upload_;
  altered[100] ^= 1;
  ASSERT_TRUE(incoming->Write(altered).ok());
  const absl::Status refused = incoming->Finish().status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(base::Message(refused), HasSubstr("the digest that its sender signed"));
}

TEST_F(ContentTest, WhatDoesNotArriveWhollyLeavesNothing) {
  {
    const auto incoming = ValueOf(Begin(invited_[0]));
    ASSERT_TRUE(incoming->Write(std::span(upload_).first(1000)).ok());
    // Another member is not kept from its own, this one is.
    EXPECT_TRUE(Begin(invited_[1]).ok());
    EXPECT_EQ(Begin(invited_[0]).status().code(), absl::StatusCode::kResourceExhausted);
  }
  EXPECT_EQ(Arrived(invited_[0]), 0u);
  const auto again = ValueOf(Begin(invited_[0]));
  ASSERT_TRUE(again->Write(upload_).ok());
  EXPECT_TRUE(again->Finish().ok());
}

TEST_F(ContentTest, NoMoreIsExpectedThanMayCome) {
  const auto most = [this](uint64_t member) {
    return handler_.MaxRequestBytes(Members().manifest().members()[member].name);
  };
  const size_t share = secagg::UnmaskShareBytes(Members().terms().aggregation().sharing());
  const size_t checkpoint =
      protocol::EncryptedCheckpointBytes(Members().manifest().manifest().spec());
  EXPECT_GE(most(invited_[0]), Written(Put(upload_)).size());
  EXPECT_LT(most(invited_[0]), protocol::kMaxHeadBytes + upload_.size() + 1000);
  EXPECT_EQ(most(others_[0]),
            protocol::kMaxHeadBytes + std::max({share, checkpoint, secagg::KeyPacketBytes(5, 5)}));
  EXPECT_EQ(handler_.MaxRequestBytes("site-9"), protocol::kMaxHeadBytes);
  EXPECT_EQ(handler_.MaxRequestBytes(std::nullopt), protocol::kMaxRequestBytes);
}

TEST_F(RequestHandlerTest, ErrorsOfTheServerReachTheSender) {
  const auto vote = Handle(protocol::PutVoteRequest{.attempt = SomeAttempt(), .vote = {}});
  EXPECT_EQ(vote.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(base::Message(vote.status()), HasSubstr("no attempt is open"));
  EXPECT_EQ(seen_.back(), (Seen{"put-vote", absl::StatusCode::kFailedPrecondition}));
}

}  // namespace
}  // namespace tacet::live
