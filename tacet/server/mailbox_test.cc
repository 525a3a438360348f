#include "tacet/server/mailbox.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/agreement/member_keys.h"
#include "tacet/base/status_for_test.h"
#include "tacet/crypto/random.h"
#include "tacet/protocol/letter.h"
#include "tacet/protocol/letter_reply.h"
#include "tacet/protocol/mail_client.h"
#include "tacet/protocol/member_request.h"
#include "tacet/protocol/small_federation_for_test.h"
#include "tacet/server/mailbox_wire_for_test.h"
#include "tacet/server/memory_server_store_for_test.h"

namespace tacet::server {
namespace {

using absl::StatusCode;
using protocol::MailClient;
using protocol::MailKind;
using protocol::MailName;
using protocol::testing::SmallAgreement;
using protocol::testing::SmallFederation;
using protocol::testing::ValueOf;
using ::testing::HasSubstr;

constexpr uint64_t kNow = 1'755'000'000;
constexpr uint64_t kDay = 86'400;
constexpr MailName kEnclosure{.kind = MailKind::kEnclosure};

// A party of the federation with its way to the mailbox.
struct Party {
  Party(Mailbox& mailbox, const std::string& name, const crypto::SigningKey& key,
        const crypto::Digest& federation, const uint64_t& now)
      : wire(mailbox, name), mail(federation, key, wire, 1, [&now] { return now; }) {}

  testing::MailboxWire wire;
  MailClient mail;
};

class MailboxTest : public ::testing::Test, private RequestObserver {
 protected:
  MailboxTest() { Open(members_); }

  // The server of this epoch, from what the one before left.
  void Open(const SmallFederation& members) {
    const auto clock = [this] {
      if (clock_heals_) blobs_.failure().Heal();
      return now_;
    };
    mailbox_ = ValueOf(Mailbox::Open(members.manifest(), blobs_, limits_, *this, clock, [] {
      return protocol::ServedEpoch{.finished = 7, .stopped = true};
    }));
  }
  Party Coordinator() {
    return {*mailbox_, std::string(protocol::kCoordinatorName), members_.coordinator(),
            Federation(), now_};
  }
  Party Site(uint64_t number) {
    return {*mailbox_, "site-" + std::to_string(number), members_.site(number).signing,
            Federation(), now_};
  }
  const crypto::Digest& Federation() const { return members_.manifest().manifest().federation(); }
  MailName Named(MailKind kind, uint64_t site) const {
    return {.kind = kind, .site = members_.site(site).signing.public_key()};
  }

  base::Bytes Letter(uint64_t site, uint32_t epoch = 1, uint64_t expires = kNow + 90 * kDay) const {
    return protocol::WriteLetter({.federation = Federation(),
                                  .site = members_.site(site).signing.public_key(),
                                  .epoch = epoch,
                                  .manifest_hash = {9},
                                  .expires = expires,
                                  .certificate = base::Bytes(500, static_cast<uint8_t>(site)),
                                  .epoch_key = base::Bytes(1280, 4),
                                  .enclosure_bytes = enclosure_.size(),
                                  .enclosure = crypto::Sha256(enclosure_)},
                                 members_.coordinator());
  }
  base::Bytes Prekey(uint64_t site, const agreement::ExchangePublicKeys& keys) const {
    return agreement::WriteEnrolmentRequest("site-" + std::to_string(site), {}, members_.site(site),
                                            keys);
  }
  agreement::ExchangePublicKeys NewKeys() {
    return agreement::ExchangeKeys::Generate(entropy_).public_keys();
  }
  void Put(uint64_t site, const base::Bytes& letter) {
    ASSERT_EQ(Coordinator().mail.Put(kEnclosure, enclosure_), absl::OkStatus());
    ASSERT_EQ(Coordinator().mail.Put(Named(MailKind::kLetter, site), letter), absl::OkStatus());
  }
  StatusCode FetchedBy(uint64_t reader, const MailName& name) {
    return Site(reader).mail.Fetch(name).status().code();
  }

  void OnRequest(std::string_view kind, const absl::Status& status, size_t, size_t) override {
    now_ += seconds_a_request_;
    seen_ = std::string(kind) + " " + absl::StatusCodeToString(status.code());
  }

  SmallFederation members_;
  crypto::SystemEntropy entropy_;
  MemoryBlobStore blobs_;
  RequestLimits limits_{
      {.requests_a_second = 1, .burst = 50, .burst_bytes = 1e9}, 5, [] { return 0.0; }};
  uint64_t now_ = kNow, seconds_a_request_ = 0;
  bool clock_heals_ = false;
  std::string seen_;
  base::Bytes enclosure_ = base::Bytes(1000, 7);
  std::unique_ptr<Mailbox> mailbox_;
};

TEST_F(MailboxTest, ALetterIsForItsSiteAlone) {
  const base::Bytes letter = Letter(2);
  Put(2, letter);
  EXPECT_EQ(ValueOf(Site(2).mail.Fetch(Named(MailKind::kLetter, 2))), letter);
  EXPECT_EQ(seen_, "fetch-mail OK");
  EXPECT_EQ(ValueOf(Site(2).mail.Fetch(kEnclosure)), enclosure_);
  EXPECT_EQ(FetchedBy(3, Named(MailKind::kLetter, 2)), StatusCode::kPermissionDenied);
  EXPECT_EQ(FetchedBy(3, Named(MailKind::kLetter, 3)), StatusCode::kNotFound);
  EXPECT_EQ(Coordinator().mail.Fetch(Named(MailKind::kLetter, 2)).status().code(),
            StatusCode::kPermissionDenied);
  EXPECT_EQ(Site(3).mail.Drop(Named(MailKind::kLetter, 2), crypto::Sha256(letter)).code(),
            StatusCode::kPermissionDenied);
}

// Operators see who has mail, and since when. A restart forgets neither.
TEST_F(MailboxTest, SaysWhoHasNotFetchedAndWhoHasNoPrekey) {
  EXPECT_TRUE(mailbox_->Status().without_prekey.empty());  // nobody uses it
  const base::Bytes letter = Letter(2);
  Put(2, letter);
  ASSERT_EQ(Site(3).mail.Put(Named(MailKind::kPrekey, 3), Prekey(3, NewKeys())), absl::OkStatus());
  // For the present epoch: used.
  ASSERT_EQ(Site(4).mail.Put(Named(MailKind::kPrekey, 4),
                             Prekey(4, members_.exchange_keys(4).public_keys())),
            absl::OkStatus());
  now_ += kDay;
  for (int time = 0; time < 2; ++time) {
    const MailStatus status = mailbox_->Status();
    ASSERT_EQ(status.letters.size(), 1u);
    EXPECT_EQ(status.letters[0].member, 2u);
    EXPECT_EQ(status.letters[0].since, kNow);
    EXPECT_EQ(status.without_prekey, (std::vector<uint64_t>{0, 1, 4}));
    Open(members_);
  }
  ASSERT_EQ(Site(2).mail.Drop(Named(MailKind::kLetter, 2), crypto::Sha256(letter)),
            absl::OkStatus());
  EXPECT_TRUE(mailbox_->Status().letters.empty());
  EXPECT_EQ(mailbox_->Status().without_prekey, (std::vector<uint64_t>{0, 1, 2, 4}));
}

TEST_F(MailboxTest, OnlyTheCoordinatorPutsLetters) {
  ASSERT_EQ(Coordinator().mail.Put(kEnclosure, enclosure_), absl::OkStatus());
  EXPECT_EQ(Site(2).mail.Put(kEnclosure, enclosure_).code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(Site(2).mail.Put(Named(MailKind::kLetter, 2), Letter(2)).code(),
            StatusCode::kPermissionDenied);
  // Its own mistakes are told to it.
  const auto put = [this](const base::Bytes& letter, uint64_t site) {
    return Coordinator().mail.Put(Named(MailKind::kLetter, site), letter);
  };
  EXPECT_THAT(base::Message(put(Letter(3), 2)), HasSubstr("it is for another site"));
  EXPECT_THAT(base::Message(put(Letter(2, 1, kNow), 2)), HasSubstr("has expired"));
  base::Bytes altered = Letter(2);
  altered[100] ^= 1;
  EXPECT_THAT(base::Message(put(altered, 2)), HasSubstr("not signed by"));
  EXPECT_EQ(FetchedBy(2, Named(MailKind::kLetter, 2)), StatusCode::kNotFound);
}

// A signature of somebody, a certificate of somebody else, and keys that the epoch does not know.
TEST_F(MailboxTest, ASenderIsWhoSignedUnderItsOwnCertificate) {
  Put(2, Letter(2));
  Party posing(*mailbox_, "site-3", members_.site(2).signing, Federation(), now_);
  const absl::Status other = posing.mail.Fetch(Named(MailKind::kLetter, 2)).status();
  EXPECT_EQ(other.code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(base::Message(other),
              HasSubstr("signed by site-2, sent under the certificate of site-3"));
  EXPECT_EQ(seen_, "unreadable PERMISSION_DENIED");
  Party as_coordinator(*mailbox_, std::string(protocol::kCoordinatorName), members_.site(2).signing,
                       Federation(), now_);
  EXPECT_EQ(as_coordinator.mail.Put(kEnclosure, enclosure_).code(), StatusCode::kPermissionDenied);
  const crypto::SigningKey stranger = crypto::SigningKey::Generate(entropy_);
  Party outside(*mailbox_, "site-2", stranger, Federation(), now_);
  EXPECT_THAT(base::Message(outside.mail.Fetch(kEnclosure).status()), HasSubstr("is no member"));
  Party elsewhere(*mailbox_, "site-2", members_.site(2).signing, {1, 2, 3}, now_);
  EXPECT_EQ(elsewhere.mail.Fetch(kEnclosure).status().code(), StatusCode::kFailedPrecondition);
  const uint64_t late = kNow + 601;
  Party old(*mailbox_, "site-2", members_.site(2).signing, Federation(), late);
  EXPECT_EQ(old.mail.Fetch(kEnclosure).status().code(), StatusCode::kAborted);
}

TEST_F(MailboxTest, SizesAreRefusedBeforeContentIsTaken) {
  for (const MailKind kind : {MailKind::kLetter, MailKind::kEnclosure, MailKind::kPrekey}) {
    const MailName name{.kind = kind,
                        .site = kind == MailKind::kEnclosure
                                    ? crypto::PublicKey{}
                                    : members_.site(2).signing.public_key()};
    protocol::MailRequest request{
        .sender = {},
        .time = kNow,
        .body = protocol::PutMail{.name = name, .total = protocol::MaxMailBytes(kind) + 1}};
    const auto begin = [&](std::span<const uint8_t> content) {
      const base::Bytes head =
          protocol::WriteMailHead(request, content, Federation(), members_.coordinator());
      return mailbox_->Begin(head, head.size() + content.size(), protocol::kCoordinatorName)
          .status();
    };
    EXPECT_EQ(begin(base::Bytes(10)).code(), StatusCode::kDataLoss);
    EXPECT_THAT(base::Message(begin(base::Bytes(10))), HasSubstr("are allowed"));
    std::get<protocol::PutMail>(request.body).total = 9;
    EXPECT_THAT(base::Message(begin(base::Bytes(10))), HasSubstr("a part of 10 bytes at byte 0"));
  }
  // More content than the head announces, and other content.
  ASSERT_EQ(Coordinator().mail.Put(kEnclosure, enclosure_), absl::OkStatus());
  const base::Bytes letter = Letter(2);
  const protocol::MailRequest request{.sender = {},
                                      .time = kNow,
                                      .body = protocol::PutMail{.name = Named(MailKind::kLetter, 2),
                                                                .total = letter.size(),
                                                                .digest = crypto::Sha256(letter)}};
  base::Bytes whole =
      protocol::WriteMailHead(request, letter, Federation(), members_.coordinator());
  const size_t head = whole.size();
  whole.insert(whole.end(), letter.begin(), letter.end());
  whole.push_back(0);
  EXPECT_EQ(testing::AnswerOf(*mailbox_, whole, std::nullopt).status().code(),
            StatusCode::kDataLoss);
  auto begun = ValueOf(mailbox_->Begin(std::span(whole).first(head), whole.size() - 1, {}));
  auto& incoming = *std::get<std::unique_ptr<IncomingMail>>(begun.next);
  EXPECT_EQ(incoming.Write(std::span(whole).subspan(head)).code(), StatusCode::kDataLoss);
  whole.pop_back();
  whole.back() ^= 1;
  EXPECT_THAT(base::Message(testing::AnswerOf(*mailbox_, whole, std::nullopt).status()),
              HasSubstr("not the one that its sender signed"));
  EXPECT_EQ(FetchedBy(2, Named(MailKind::kLetter, 2)), StatusCode::kNotFound);
}

TEST_F(MailboxTest, ASiteHasOneLetterAndDropsTheOneThatItRead) {
  const base::Bytes first = Letter(2), second = Letter(2, 2);
  Put(2, first);
  Put(2, second);
  EXPECT_EQ(ValueOf(Site(2).mail.Fetch(Named(MailKind::kLetter, 2))), second);
  ASSERT_EQ(Site(2).mail.Drop(Named(MailKind::kLetter, 2), crypto::Sha256(first)),
            absl::OkStatus());
  EXPECT_EQ(ValueOf(Site(2).mail.Fetch(Named(MailKind::kLetter, 2))), second);
  Open(members_);  // a restart
  EXPECT_EQ(ValueOf(Site(2).mail.Fetch(Named(MailKind::kLetter, 2))), second);
  ASSERT_EQ(Site(2).mail.Drop(Named(MailKind::kLetter, 2), crypto::Sha256(second)),
            absl::OkStatus());
  EXPECT_EQ(FetchedBy(2, Named(MailKind::kLetter, 2)), StatusCode::kNotFound);
  // With the last letter goes what no letter names any more.
  EXPECT_EQ(FetchedBy(2, kEnclosure), StatusCode::kNotFound);
  Open(members_);
  EXPECT_EQ(FetchedBy(2, Named(MailKind::kLetter, 2)), StatusCode::kNotFound);
}

TEST_F(MailboxTest, LettersExpireWithTimeAndEpoch) {
  Put(2, Letter(2, 1, kNow + 10));
  Put(3, Letter(3, 1));
  now_ = kNow + 10;
  EXPECT_EQ(FetchedBy(2, Named(MailKind::kLetter, 2)), StatusCode::kNotFound);
  ASSERT_EQ(mailbox_->ForgetExpired(), absl::OkStatus());
  now_ = kNow;  // it is gone, and not only hidden
  Open(members_);
  EXPECT_EQ(FetchedBy(2, Named(MailKind::kLetter, 2)), StatusCode::kNotFound);
  EXPECT_EQ(FetchedBy(3, Named(MailKind::kLetter, 3)), StatusCode::kOk);
  // The server of the letter's epoch has it still, for a site that is late.
  const SmallFederation next(SmallAgreement(), 5, 1);
  Open(next);
  EXPECT_EQ(FetchedBy(3, Named(MailKind::kLetter, 3)), StatusCode::kOk);
  EXPECT_EQ(FetchedBy(3, kEnclosure), StatusCode::kOk);
  const SmallFederation later(SmallAgreement(), 5, 2);
  Open(later);
  EXPECT_EQ(FetchedBy(3, Named(MailKind::kLetter, 3)), StatusCode::kNotFound);
  EXPECT_EQ(FetchedBy(3, kEnclosure), StatusCode::kNotFound);
}

TEST_F(MailboxTest, AnEnclosureComesInPartsAndContinuesAfterARestart) {
  enclosure_ = base::Bytes(5'000'000, 3);
  const auto put = [this](uint64_t offset, size_t bytes) -> absl::StatusOr<uint64_t> {
    const auto part = std::span(enclosure_).subspan(offset, bytes);
    base::Bytes whole =
        protocol::WriteMailHead({.sender = {},
                                 .time = kNow,
                                 .body = protocol::PutMail{.name = kEnclosure,
                                                           .total = enclosure_.size(),
                                                           .digest = crypto::Sha256(enclosure_),
                                                           .offset = offset}},
                                part, Federation(), members_.coordinator());
    whole.insert(whole.end(), part.begin(), part.end());
    TACET_ASSIGN_OR_RETURN(const base::Bytes answer,
                           testing::AnswerOf(*mailbox_, whole, protocol::kCoordinatorName));
    return protocol::ReadArrived(answer);
  };
  EXPECT_EQ(ValueOf(put(0, 1'000'000)), 1'000'000u);
  EXPECT_EQ(put(0, 1'000'000).status().code(), StatusCode::kOutOfRange);
  EXPECT_EQ(put(2'000'000, 10).status().code(), StatusCode::kOutOfRange);
  EXPECT_EQ(ValueOf(put(0, 0)), 1'000'000u);
  EXPECT_EQ(FetchedBy(2, kEnclosure), StatusCode::kNotFound);
  // The client asks how much has arrived, and sends the rest.
  ASSERT_EQ(Coordinator().mail.Put(kEnclosure, enclosure_), absl::OkStatus());
  EXPECT_EQ(ValueOf(Site(2).mail.Fetch(kEnclosure)), enclosure_);
  ASSERT_EQ(Coordinator().mail.Put(kEnclosure, enclosure_), absl::OkStatus());
  // A restart forgets one whose letters never came. The coordinator's command sends it again.
  Open(members_);
  EXPECT_EQ(FetchedBy(2, kEnclosure), StatusCode::kNotFound);
  Put(2, Letter(2));
  EXPECT_EQ(ValueOf(Site(2).mail.Fetch(kEnclosure)), enclosure_);
}

// Until the letters of a new enclosure are there, nobody is told of it; a letter without its
// enclosure is not taken.
TEST_F(MailboxTest, ALetterNeedsItsEnclosure) {
  const absl::Status alone = Coordinator().mail.Put(Named(MailKind::kLetter, 2), Letter(2));
  EXPECT_EQ(alone.code(), StatusCode::kAborted);
  EXPECT_THAT(base::Message(alone), HasSubstr("put it first"));
  Put(2, Letter(2));
  Put(3, Letter(3));
  ASSERT_EQ(Site(2).mail.Drop(Named(MailKind::kLetter, 2), crypto::Sha256(Letter(2))),
            absl::OkStatus());
  EXPECT_EQ(FetchedBy(3, kEnclosure), StatusCode::kOk);
}

TEST_F(MailboxTest, APrekeyIsOfItsSiteAndForTheCoordinator) {
  const base::Bytes first = Prekey(2, NewKeys()), second = Prekey(2, NewKeys());
  const MailName name = Named(MailKind::kPrekey, 2);
  ASSERT_EQ(Site(2).mail.Put(name, first), absl::OkStatus());
  ASSERT_EQ(Site(2).mail.Put(name, first), absl::OkStatus());
  EXPECT_EQ(ValueOf(Coordinator().mail.Fetch(name)), first);
  ASSERT_EQ(Site(2).mail.Put(name, second), absl::OkStatus());
  Open(members_);
  EXPECT_EQ(ValueOf(Coordinator().mail.Fetch(name)), second);
  EXPECT_EQ(FetchedBy(3, name), StatusCode::kPermissionDenied);
  EXPECT_EQ(FetchedBy(2, name), StatusCode::kPermissionDenied);
  EXPECT_EQ(Site(3).mail.Put(name, second).code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(Coordinator().mail.Put(name, second).code(), StatusCode::kPermissionDenied);
  const absl::Status foreign = Site(3).mail.Put(Named(MailKind::kPrekey, 3), second);
  EXPECT_EQ(foreign.code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(base::Message(foreign), HasSubstr("the prekey is of another site"));
  EXPECT_EQ(Coordinator().mail.Fetch(Named(MailKind::kPrekey, 4)).status().code(),
            StatusCode::kNotFound);
}

TEST_F(MailboxTest, AReplyIsSignedByItsSiteAndForTheCoordinator) {
  const MailName name = Named(MailKind::kReply, 2);
  const auto reply = [this](uint64_t site) {
    return protocol::WriteLetterReply({.federation = Federation(), .fields = {"query.floor"}},
                                      members_.site(site).signing);
  };
  EXPECT_EQ(Coordinator().mail.Fetch(name).status().code(), StatusCode::kNotFound);
  ASSERT_EQ(Site(2).mail.Put(name, reply(2)), absl::OkStatus());
  EXPECT_EQ(ValueOf(Coordinator().mail.Fetch(name)), reply(2));
  EXPECT_EQ(Site(3).mail.Put(name, reply(2)).code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(Site(2).mail.Put(name, reply(3)).code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(Coordinator().mail.Put(name, reply(2)).code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(FetchedBy(2, name), StatusCode::kPermissionDenied);
  EXPECT_EQ(Site(2).mail.Drop(name, crypto::Sha256(reply(2))).code(),
            StatusCode::kPermissionDenied);
  Open(members_);
  EXPECT_EQ(ValueOf(Coordinator().mail.Fetch(name)), reply(2)) << "it stays over a restart";
}

// The coordinator alone puts it, and the server takes it whole. A fetch tells the server's epoch.
TEST_F(MailboxTest, TheServersInvitationIsFromTheCoordinatorAndForTheServer) {
  constexpr MailName kServer{.kind = MailKind::kServer};
  const base::Bytes invitation(protocol::kMaxPartBytes + 1000, 8);
  EXPECT_THAT(base::Message(Coordinator().mail.Put(kServer, invitation)),
              HasSubstr("takes its invitation as a file"));
  std::vector<base::Bytes> taken;
  absl::Status answer;
  mailbox_->OnInvitation([&](std::span<const uint8_t> bytes) {
    taken.emplace_back(bytes.begin(), bytes.end());
    return answer;
  });
  EXPECT_EQ(Site(2).mail.Put(kServer, invitation).code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(FetchedBy(2, kServer), StatusCode::kPermissionDenied);
  EXPECT_TRUE(taken.empty());
  ASSERT_EQ(Coordinator().mail.Put(kServer, invitation), absl::OkStatus());
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_TRUE(taken[0] == invitation);
  answer = base::PermissionDenied("it is of another coordinator");
  EXPECT_EQ(Coordinator().mail.Put(kServer, invitation), answer);
  // The fetched epoch is the server's.
  const auto served =
      ValueOf(protocol::ReadServedEpoch(ValueOf(Coordinator().mail.Fetch(kServer))));
  EXPECT_EQ(served.epoch, members_.manifest().epoch());
  EXPECT_EQ(served.finished, 7u);
  EXPECT_TRUE(served.stopped);
  EXPECT_EQ(served.manifest_hash, members_.manifest().manifest().hash());
}

TEST_F(MailboxTest, AMemberIsLimitedAndTheCoordinatorIsNot) {
  Put(2, Letter(2));
  for (int i = 0; i < 50; ++i) EXPECT_EQ(FetchedBy(2, kEnclosure), StatusCode::kOk);
  EXPECT_EQ(FetchedBy(2, kEnclosure), StatusCode::kResourceExhausted);
  EXPECT_EQ(FetchedBy(3, kEnclosure), StatusCode::kOk);
  for (int i = 0; i < 60; ++i)
    ASSERT_EQ(Coordinator().mail.Put(kEnclosure, enclosure_), absl::OkStatus());
}

// A server that is slow, on purpose or not, is not waited for without end.
TEST_F(MailboxTest, AFetchThatTakesTooLongIsGivenUp) {
  enclosure_ = base::Bytes(5'000'000, 3);  // three parts
  ASSERT_EQ(Coordinator().mail.Put(kEnclosure, enclosure_), absl::OkStatus());
  seconds_a_request_ = 1799;
  EXPECT_EQ(ValueOf(Site(2).mail.Fetch(kEnclosure)), enclosure_);
  seconds_a_request_ = 1800;
  const absl::Status given_up = Site(2).mail.Fetch(kEnclosure).status();
  EXPECT_EQ(given_up.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(base::Message(given_up), HasSubstr("4194304 of 5000000 bytes"));
}

// A disk that fails for a moment while the server starts loses no mail.
TEST_F(MailboxTest, ALetterThatCannotBeReadNowIsKept) {
  Put(2, Letter(2));
  blobs_.failure().After(0);
  clock_heals_ = true;  // it is asked between reading and sweeping
  Open(members_);
  EXPECT_EQ(FetchedBy(2, Named(MailKind::kLetter, 2)), StatusCode::kNotFound);
  ASSERT_EQ(mailbox_->ForgetExpired(), absl::OkStatus());
  EXPECT_EQ(FetchedBy(2, Named(MailKind::kLetter, 2)), StatusCode::kOk);
  EXPECT_EQ(FetchedBy(2, kEnclosure), StatusCode::kOk);
  Open(members_);
  EXPECT_EQ(FetchedBy(2, Named(MailKind::kLetter, 2)), StatusCode::kOk);
}

TEST_F(MailboxTest, AFailingDiskIsToldAsSuchWithoutItsPlaces) {
  Put(2, Letter(2));
  blobs_.failure().After(0);
  const absl::Status failed = Site(2).mail.Fetch(Named(MailKind::kLetter, 2)).status();
  EXPECT_EQ(failed.code(), StatusCode::kUnavailable);
  EXPECT_THAT(base::Message(failed), HasSubstr("send the same again after a pause"));
  blobs_.failure().Heal();
  EXPECT_EQ(FetchedBy(2, Named(MailKind::kLetter, 2)), StatusCode::kOk);
}

}  // namespace
}  // namespace tacet::server
