// Sites that follow their epochs over lines that break, with processes that end at any call, and
// with servers that lie.
#include "tacet/site/epoch_follower.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "fmt/core.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/policy/policy_signature.h"
#include "tacet/protocol/letter_reply.h"
#include "tacet/site/invitation_acceptance.h"
#include "tests/live/mailbox_life_for_test.h"

namespace tacet::live {
namespace {

using absl::StatusCode;
using base::ValueOf;
using protocol::MailKind;
using site::EpochFollower;
using storage::file::KeyFile;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class EpochFollowerTest : public MailboxLifeTest {
 protected:
  // North has an officer, and a person there accepts the members of epoch 0.
  void SetUp() override {
    storage::file::SiteFolder& north = sites_.at("north");
    ASSERT_EQ(north.PinOfficer(officer_.public_key(), KeyFile(2), entropy_), absl::OkStatus());
    SignPolicy(R"(accept = "within-policy", kinds = ["renewal"])");
    const auto joined = ValueOf(north.Joined());
    ASSERT_TRUE(site::JoinAccepted(north, {.home = Home("north"),
                                           .joined = joined.manifest.manifest().hash(),
                                           .invitation = File("north", 0),
                                           .next = joined,
                                           .coordinator = coordinator_,
                                           .unlocker = KeyFile(2),
                                           .policy = std::nullopt,
                                           .accepted = {}})
                    .ok());
  }

  void SignPolicy(const std::string& acceptance) {
    const std::string text =
        fmt::format(R"(
policy = {{ sites = ["north"], serial = {} }}
privacy = {{ epsilon_per_year = 1000, delta = 1e-5, units = ["client"], colluders = 0, neighbouring = ["replace-one"], noise_laws = ["gaussian"] }}
federation = {{ min_participants = 2, committee_seats = 2, committee_corrupt = 0, dummy_uploads = false }}
data = {{ records = 1, columns = ["*"] }}
training = {{ kinds = ["training"] }}
acceptance = {{ {} }}
ledger = {{ folder = "{}" }}
)",
                    ++serial_, acceptance, (folder_.path() / "ledger").string());
    PutPolicy(base::Bytes(text.begin(), text.end()));
  }
  void PutPolicy(const base::Bytes& text) {
    ASSERT_EQ(storage::file::ReplaceFile(Home("north") / "policy.toml", text), absl::OkStatus());
    ASSERT_EQ(storage::file::ReplaceFile(Home("north") / "policy.toml.sig",
                                         policy::SignPolicy(text, officer_)),
              absl::OkStatus());
  }

  // A look at the mail, at the start of a process or later.
  absl::StatusOr<EpochFollower::Looked> Look(bool is_new_process = true) {
    if (is_new_process || follower_ == nullptr) {
      north_keys_.emplace(ValueOf(sites_.at("north").UnlockKeys(KeyFile(2))));
      follower_ = std::make_unique<EpochFollower>(
          site::EpochFollowerSpec{.home = Home("north"),
                                  .policy = std::nullopt,
                                  .keys = *north_keys_,
                                  .unlocker = unlocker_,
                                  .on_note = [this](const std::string& text) { note_ = text; }});
    }
    Line line(*this, "north");
    return follower_->Look(protocol::MailClient(Federation(), north_keys_->signing, line, 1));
  }
  protocol::LetterReply Reply() {
    return ValueOf(protocol::ReadLetterReply(Kept(MailKind::kReply, "north"), KeyOf("north")));
  }
  void OthersJoin() {
    for (const std::string name : {"south", "west"}) ASSERT_EQ(Join(name), absl::OkStatus());
  }

  crypto::SigningKey officer_ = crypto::SigningKey::Generate(entropy_);
  const crypto::Unlocker unlocker_ = KeyFile(2);
  int serial_ = 0;
  std::optional<agreement::MemberKeys> north_keys_;
  std::unique_ptr<EpochFollower> follower_;
  std::string note_;
};

// Whichever call is the last one of a process, another process joins once, leaves a fresh prekey,
// says that it has joined, and leaves no letter.
TEST_F(EpochFollowerTest, AProcessThatEndsAtAnyCallIsReplacedByAnother) {
  ASSERT_TRUE(Look().ok());
  // A letter, an enclosure, a reply, a prekey, a letter, a reply and a drop.
  for (uint64_t call = 0; call < 7; ++call) {
    SCOPED_TRACE(call);
    const uint32_t epoch = static_cast<uint32_t>(call) + 1;
    ASSERT_TRUE(Rotate().ok());
    ASSERT_THAT(told_.taken, ElementsAre("north", "south", "west"));
    breaks_before_ = call % 2 == 0;
    calls_until_break_ = call;
    (void)Look();
    calls_until_break_.reset();
    ASSERT_TRUE(Look().ok());
    ASSERT_TRUE(Look().ok());
    EXPECT_EQ(EpochOf("north"), epoch);
    EXPECT_TRUE(Reply().joined);
    EXPECT_EQ(Reply().epoch, epoch);
    EXPECT_EQ(Kept(MailKind::kPrekey, "north"),
              sites_.at("north").request().empty()
                  ? base::Bytes()
                  : ValueOf(storage::file::ReadFile(Home("north") / "north.request")));
    EXPECT_EQ(Join("north").code(), StatusCode::kNotFound);  // no letter waits
    const auto record = ValueOf(site::LoadAcceptances(Home("north"), KeyOf("north")));
    EXPECT_THAT(record.epochs, SizeIs(epoch + 1));
    EXPECT_EQ(record.epochs.back().by, policy::AcceptedBy::kPolicy);
    OthersJoin();
  }
}

// A site's refusal is one of a letter. A coordinator that has left another letter since, under a
// policy that may have changed, does not hear it again.
TEST_F(EpochFollowerTest, ARefusalCountsForItsLetterAlone) {
  SignPolicy(R"(accept = "ask")");
  ASSERT_TRUE(Rotate().ok());
  ASSERT_TRUE(Look().ok());
  ASSERT_FALSE(Reply().joined);
  const crypto::Digest letter = crypto::Sha256(Kept(MailKind::kLetter, "north"));
  EXPECT_EQ(Reply().letter, letter);
  Line line(*this, std::string(protocol::kCoordinatorName));
  const protocol::MailClient mail(Federation(), keys_->signing, line, 1);
  const auto sites = ValueOf(federation_->Enrolled());
  const auto north =
      std::ranges::find_if(sites, [](const auto& site) { return site.request.name == "north"; });
  const auto heard = [&](const std::map<std::string, crypto::Digest>& letters) {
    return ValueOf(coordinator::ReplyOf(*north, manifests_.at(1), letters, mail, *federation_));
  };
  EXPECT_TRUE(heard({{"north", letter}}).has_value());
  EXPECT_FALSE(heard({{"north", crypto::Sha256(Kept(MailKind::kLetter, "south"))}}).has_value());
  EXPECT_FALSE(heard({}).has_value());
  // That a site has joined an epoch stays true.
  ASSERT_EQ(Join("north"), absl::OkStatus());
  EXPECT_TRUE(heard({}).has_value());
}

// Two processes that decide about the same letter: the second one joins nothing again.
TEST_F(EpochFollowerTest, TwoProcessesJoinOnce) {
  ASSERT_TRUE(Rotate().ok());
  const auto before = ValueOf(sites_.at("north").Joined());
  ASSERT_TRUE(Look().ok());
  OthersJoin();
  ASSERT_TRUE(Rotate().ok());
  ASSERT_TRUE(Look().ok());
  const auto record = ValueOf(storage::file::ReadFile(site::AcceptancesPath(Home("north"))));
  const auto next =
      ValueOf(sites_.at("north").CheckInvitation(File("north", 2), coordinator_, KeyFile(2)));
  const absl::Status again =
      site::JoinAccepted(sites_.at("north"), {.home = Home("north"),
                                              .joined = before.manifest.manifest().hash(),
                                              .invitation = File("north", 2),
                                              .next = before,
                                              .coordinator = coordinator_,
                                              .unlocker = KeyFile(2),
                                              .policy = std::nullopt,
                                              .accepted = {}})
          .status();
  EXPECT_EQ(next.manifest.epoch(), 2u);
  EXPECT_THAT(base::Message(again), HasSubstr("another process has joined epoch 2 meanwhile"));
  EXPECT_EQ(ValueOf(storage::file::ReadFile(site::AcceptancesPath(Home("north")))), record);
}

// An epoch that is not newer is never followed, whatever the server gives.
TEST_F(EpochFollowerTest, NoEarlierEpochIsFollowed) {
  ASSERT_TRUE(Rotate().ok());
  const base::Bytes old = Kept(MailKind::kLetter, "north");
  ASSERT_TRUE(Look().ok());
  OthersJoin();
  ASSERT_TRUE(Rotate().ok());
  ASSERT_TRUE(Look().ok());
  Serve(MailKind::kLetter, old);
  ASSERT_TRUE(Look().ok());
  EXPECT_EQ(EpochOf("north"), 2u);
  // Another manifest of the same epoch, which a bad coordinator signed.
  protocol::Letter other = ValueOf(protocol::ReadLetter(old, coordinator_));
  other.epoch = 2;
  Serve(MailKind::kLetter, protocol::WriteLetter(other, keys_->signing));
  EXPECT_FALSE(Look().ok());
  EXPECT_EQ(EpochOf("north"), 2u);
}

// The officer takes the word back. Before that was noted at each look, the old file accepted again.
TEST_F(EpochFollowerTest, APolicyThatIsPutBackAcceptsNothing) {
  const base::Bytes accepting = ValueOf(storage::file::ReadFile(Home("north") / "policy.toml"));
  ASSERT_TRUE(Look().ok());
  SignPolicy(R"(accept = "ask")");
  ASSERT_TRUE(Look(false).ok());
  ASSERT_TRUE(Rotate().ok());
  PutPolicy(accepting);
  for (const bool is_new_process : {false, true}) {
    ASSERT_OK_AND_ASSIGN(const auto looked, Look(is_new_process));
    EXPECT_EQ(looked.waiting, 1u);
    EXPECT_EQ(EpochOf("north"), 0u);
    EXPECT_FALSE(Reply().joined);
    EXPECT_THAT(Reply().fields, ElementsAre("policy.serial"));
    EXPECT_THAT(note_, HasSubstr("policy.serial: is 1, and number 2 was in force"));
  }
  // A newer word counts at once, for the letter that waits.
  SignPolicy(R"(accept = "within-policy", kinds = ["renewal"])");
  ASSERT_TRUE(Look(false).ok());
  EXPECT_EQ(EpochOf("north"), 1u);
  EXPECT_TRUE(Reply().joined);
}

}  // namespace
}  // namespace tacet::live
