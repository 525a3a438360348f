#include "tacet/site/invitation_acceptance.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fmt/core.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/agreement/hospitals_for_test.h"
#include "tacet/base/bytes.h"
#include "tacet/base/status_for_test.h"
#include "tacet/base/temporary_folder_for_test.h"
#include "tacet/crypto/random.h"
#include "tacet/ledger/privacy_ledger.h"
#include "tacet/policy/policy_signature.h"
#include "tacet/storage/file/ledger_folder.h"
#include "tacet/storage/file/posix_file.h"

namespace tacet::site {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kLogistic = "[model]\nname = \"logistic\"\ninput_shape = [10]\n";

class InvitationAcceptanceTest : public ::testing::Test {
 protected:
  InvitationAcceptanceTest() {
    crypto::InsecureSeededEntropy entropy(1, "officer");
    const crypto::SigningKey officer = crypto::SigningKey::Generate(entropy);
    keys_.officer = officer.public_key();
    const std::string text = fmt::format(R"([policy]
sites = ["site-0"]
serial = 2
[privacy]
epsilon_per_year = 1000.0
delta = 1e-5
units = ["client"]
neighbouring = ["replace-one"]
noise_laws = ["gaussian"]
colluders = 0
[federation]
min_participants = 3
committee_seats = 3
committee_corrupt = 0
dummy_uploads = false
[data]
records = 1
columns = ["*"]
[training]
kinds = ["training", "query"]
[query]
kinds = ["count"]
floor = 0
site_groups = true
[acceptance]
accept = "within-policy"
kinds = ["training", "query", "renewal"]
[ledger]
folder = "{}"
)",
                                         Ledgers().string());
    Write("policy.toml", base::AsBytes(text));
    Write("policy.toml.sig", policy::SignPolicy(base::AsBytes(text), officer));
  }
  void Write(const std::string& name, std::span<const uint8_t> bytes) {
    EXPECT_TRUE(storage::file::ReplaceFile(folder_.path() / name, bytes).ok());
  }
  std::filesystem::path Ledgers() const { return folder_.path() / "ledgers"; }

  storage::file::Membership Epoch(uint32_t epoch, const std::string& model,
                                  std::string_view annex) const {
    agreement::SignedManifestSpec spec = agreement::HospitalFederation(4);
    spec.epoch = epoch;
    spec.agreement.training = epoch;
    spec.agreement.model = model;
    spec.annex = annex;
    if (epoch > 0) spec.predecessor = {1};
    for (uint8_t site = 0; site < 4; ++site) {
      crypto::InsecureSeededEntropy entropy(site, "site");
      spec.members.push_back(agreement::SignMember(
          fmt::format("site-{}", site), crypto::SigningKey::Generate(entropy), {201, site},
          {.exchange = {static_cast<uint8_t>(epoch + 2), site}, .kem = {}}));
    }
    crypto::InsecureSeededEntropy entropy(1, "coordinator");
    storage::file::Membership membership{
        .manifest = base::ValueOf(agreement::SignedManifest::Sign(
            std::move(spec), crypto::SigningKey::Generate(entropy))),
        .member = 0,
        .certificate = {},
        .sealed_epoch_key = {}};
    return membership;
  }
  // The objections to a second training after a first one.
  std::vector<policy::Violation> Objections(const std::string& model, std::string_view annex) {
    const storage::file::Membership joined = Epoch(0, "logistic", kLogistic);
    storage::file::Membership next = Epoch(1, model, annex);
    next.chain = {joined.manifest.link(), next.manifest.link()};
    return DecideInvitation({.home = folder_.path(),
                             .policy = std::nullopt,
                             .keys = keys_,
                             .joined = joined,
                             .next = next})
        .acceptance.objections;
  }
  static auto Names(const std::string& key, const std::string& text) {
    return Contains(AllOf(Field(&policy::Violation::key, key),
                          Field(&policy::Violation::text, HasSubstr(text))));
  }

  const base::TemporaryFolder folder_{base::TemporaryFolder::kInMemory};
  crypto::SystemEntropy entropy_;
  agreement::MemberKeys keys_ = agreement::MemberKeys::Generate(entropy_);
};

// The kind follows from the terms, and what is read from the annex.
TEST_F(InvitationAcceptanceTest, TermsAndAnnexNameTheSameModel) {
  EXPECT_THAT(Objections("logistic", kLogistic),
              Not(Contains(Field(&policy::Violation::key, "annex"))));
  EXPECT_THAT(Objections(std::string(agreement::kQueryModel), kLogistic),
              Names("annex", "model.name is \"logistic\", the agreement's model is \"query\""));
  EXPECT_THAT(Objections("mlp", kLogistic), Names("annex", "the agreement's model is \"mlp\""));
}

// No join has seen the later policy, but the ledger was charged under it.
TEST_F(InvitationAcceptanceTest, APolicyOlderThanThatOfTheLedgersAcceptsNothing) {
  const auto older = Names("policy.serial", "is 2, and number 3 was in force");
  EXPECT_THAT(Objections("logistic", kLogistic), Not(older));
  EXPECT_FALSE(std::filesystem::exists(Ledgers()));
  ASSERT_OK_AND_ASSIGN(const auto folder, storage::file::LedgerFolder::Open(Ledgers()));
  ASSERT_OK_AND_ASSIGN(auto opened, folder.OpenOrCreate("main", {}, {}, 1'800'000'000));
  ASSERT_OK_AND_ASSIGN(const auto ledger, ledger::PrivacyLedger::Create(std::move(opened)));
  ASSERT_TRUE(ledger->AdoptPolicy({3}, 3).ok());
  EXPECT_THAT(Objections("logistic", kLogistic), older);
}

TEST_F(InvitationAcceptanceTest, NothingOfAnAnnexCommandsATerminal) {
  const std::string text =
      ObjectionsText({.kinds = {}, .objections = {{"data.columns", "\x1b[2J is not allowed"}}});
  EXPECT_EQ(text, "data.columns: ?[2J is not allowed\n");
}

}  // namespace
}  // namespace tacet::site
