#include "tacet/agreement/manifest_bytes.h"

#include <fstream>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/agreement/terms_table.h"
#include "tacet/base/status_for_test.h"
#include "tacet/crypto/bad_keys_for_test.h"

namespace tacet::agreement {
namespace {

using ::testing::HasSubstr;

crypto::PublicKey SigningKeyOf(std::string_view owner) {
  crypto::InsecureSeededEntropy entropy(1, owner);
  return crypto::SigningKey::Generate(entropy).public_key();
}

ManifestSpec Agreed() {
  ManifestSpec spec;
  spec.model = "logistic";
  spec.dimension = 60;
  spec.initial_model = crypto::Sha256(base::AsBytes("model"));
  spec.sampling.clients = 6;
  spec.sampling.cohort = 5;
  spec.rounds = 20;
  spec.mechanism.coordinate_bound = 0.5;
  spec.mechanism.noise_stddev = 3;
  spec.mechanism.scale = 1e-2;
  spec.privacy.budget_epsilon = 0;
  spec.optimizer.momentum = 0.5;
  for (uint8_t i = 0; i < 6; ++i) {
    spec.members.push_back(
        {.signing_key = SigningKeyOf(fmt::format("member {}", i)), .exchange_key = {i, 2}});
  }
  return Manifest::Create(spec)->spec();
}

// One-hot questions under discrete Laplace noise.
ManifestSpec AgreedQuery() {
  ManifestSpec spec = Agreed();
  spec.model = kQueryModel;
  spec.sampling = {.clients = 6, .record_rate = 1, .expected_batch = 1000};
  spec.privacy.unit = accounting::Unit::kRecord;
  spec.rounds = 1;
  spec.mechanism.noise_law = dp::NoiseLaw::kDiscreteLaplace;
  spec.mechanism.coordinate_bound = 1000;
  spec.mechanism.scale = 1;
  spec.optimizer = {.learning_rate = 1, .learning_rate_final = 1, .momentum = 0};
  spec.committee_members.clear();
  return Manifest::Create(spec)->spec();
}

// With and without each of the fields that are often left out.
std::vector<ManifestSpec> VariedSpecs() {
  std::vector<ManifestSpec> specs(8, Agreed());
  specs[1].plaintext_bits = 24;
  specs[2].privacy.neighbouring = accounting::Neighbouring::kZeroOut;
  specs[3].federated_part = "dense2";
  specs[3].whole_dimension = 100;
  specs[4].annex = crypto::Sha256(base::AsBytes("annex"));
  specs[5].sampling.max_participations = 7;
  specs[6].federation = {9};
  specs[6].training = 3;
  specs[7] = AgreedQuery();
  return specs;
}

TEST(ManifestBytesTest, WhatIsWrittenIsRead) {
  for (const ManifestSpec& spec : VariedSpecs()) {
    const base::Bytes bytes = ManifestBytes(spec);
    ASSERT_OK_AND_ASSIGN(const auto read, ReadManifestBytes(bytes));
    EXPECT_EQ(ManifestBytes(read), bytes);
    ASSERT_OK_AND_ASSIGN(const auto agreed, ReadAgreementBytes(AgreementBytes(spec)));
    EXPECT_TRUE(agreed.members.empty());
    EXPECT_EQ(AgreementBytes(agreed), AgreementBytes(spec));
    EXPECT_FALSE(ReadAgreementBytes(bytes).ok());
    ASSERT_OK_AND_ASSIGN(const auto manifest, Manifest::Create(read));
    EXPECT_EQ(manifest.hash(), crypto::Sha256(bytes));
    EXPECT_EQ(manifest.agreement(), crypto::Sha256(AgreementBytes(spec)));
  }
}

// Bytes that other programs hash, too: they change with a version number only.
TEST(ManifestBytesTest, TheBytesOfAVersionStay) {
  const auto digest = [](const ManifestSpec& spec) {
    return base::ToHex(crypto::Sha256(ManifestBytes(spec))).substr(0, 16);
  };
  EXPECT_EQ(digest(VariedSpecs()[0]), "6a2dcf9f379e6a32");
  EXPECT_EQ(digest(VariedSpecs()[5]), "772f99aca9bbc6e2");
  ManifestSpec records = Agreed();
  records.sampling.cohort = 6;
  records.privacy.unit = accounting::Unit::kRecord;
  records.sampling.record_rate = 0.25;
  records.sampling.expected_batch = 50;
  records.optimizer.learning_rate = 0.5;
  EXPECT_EQ(digest(Manifest::Create(records)->spec()), "3ce61c2187a52e7b");
}

// Rows of the first table of docs/formats/manifest.md, "BYTES KEY", after magic and version.
std::vector<std::string> DocumentedTerms() {
  std::ifstream page(TACET_SOURCE_DIR "/docs/formats/manifest.md");
  std::vector<std::string> rows;
  for (std::string line; std::getline(page, line);) {
    const size_t key = line.find("| `"), end = line.find('`', key + 3);
    if (!line.starts_with("| ") || key == line.npos || line.find("| `TCTM`") == key) continue;
    rows.push_back(line.substr(2, line.find(" |", 2) - 2) + " " +
                   line.substr(key + 3, end - key - 3));
  }
  return rows;
}

TEST(ManifestBytesTest, ThePageHasTheTermsOfTheTableInTheirOrder) {
  std::vector<std::string> terms;
  const ManifestSpec spec = Agreed();
  VisitSignedTerms(
      [&]<typename T>(const Term& term, const T& value) {
        std::string bytes = "blob";
        if constexpr (std::is_same_v<T, std::vector<uint64_t>>) {
          bytes = "8 n";
        } else if constexpr (std::is_same_v<T, uint64_t>) {
          bytes = term.most > 0xffffffff ? "8" : "4";
        } else if constexpr (std::is_trivially_copyable_v<T> &&
                             !std::is_same_v<T, std::optional<accounting::Sampling>> &&
                             !std::is_same_v<T, accounting::Unit> &&
                             !std::is_same_v<T, accounting::Neighbouring>) {
          bytes = fmt::format("{}", sizeof(value));
        }
        terms.push_back(bytes + " " + std::string(term.key));
      },
      spec);
  EXPECT_EQ(DocumentedTerms(), terms);
}

TEST(ManifestBytesTest, ColludersAreReadWithEveryUnit) {
  ManifestSpec spec = Agreed();
  spec.privacy.colluders = 2;
  ASSERT_OK_AND_ASSIGN(const auto read, ReadManifestBytes(ManifestBytes(spec)));
  EXPECT_EQ(read.privacy.colluders, 2u);
}

TEST(ManifestBytesTest, TheNoiseIsOneOfTheLaws) {
  const ManifestSpec spec = AgreedQuery();
  ASSERT_OK_AND_ASSIGN(const auto read, ReadManifestBytes(ManifestBytes(spec)));
  EXPECT_EQ(read.mechanism.noise_law, dp::NoiseLaw::kDiscreteLaplace);
  ManifestSpec lie = spec;
  lie.mechanism.noise_law = static_cast<dp::NoiseLaw>(2);
  EXPECT_THAT(base::Message(ReadManifestBytes(ManifestBytes(lie)).status()),
              HasSubstr("manifest: noise_law is 2, which no choice has"));
  // A training has no such noise, and a query none that a site of a pair would know by itself.
  lie = spec;
  lie.model = "logistic";
  EXPECT_THAT(base::Message(Manifest::Create(lie).status()),
              HasSubstr("noise_law is discrete-laplace for model logistic"));
  ManifestSpec clients = Agreed();
  clients.mechanism.noise_law = dp::NoiseLaw::kDiscreteLaplace;
  EXPECT_FALSE(Manifest::Create(clients).ok());
}

TEST(ManifestBytesTest, EveryByteCounts) {
  for (const ManifestSpec& spec : VariedSpecs()) {
    const base::Bytes bytes = ManifestBytes(spec);
    for (size_t i = 0; i < bytes.size(); ++i) {
      base::Bytes altered = bytes;
      altered[i] ^= 1;
      const auto read = ReadManifestBytes(altered);
      EXPECT_TRUE(!read.ok() || ManifestBytes(*read) == altered) << i;
      EXPECT_FALSE(ReadManifestBytes(std::span(bytes).first(i)).ok()) << i;
    }
  }
}

TEST(ManifestBytesTest, RefusesWhatIsNotCanonical) {
  base::Bytes bytes = ManifestBytes(Agreed());
  base::Bytes longer = bytes;
  longer.push_back(0);
  EXPECT_THAT(base::Message(ReadManifestBytes(longer).status()),
              HasSubstr("385 bytes of member keys for 6 clients"));
  base::Bytes newer = bytes;
  for (const uint8_t version : {uint8_t{2}, uint8_t{7}}) {
    newer[4] = version;
    EXPECT_THAT(base::Message(ReadManifestBytes(newer).status()),
                HasSubstr(fmt::format(
                    "manifest: field `version` is {}, this program reads version 3", version)));
  }
  // Flags other than 0 and 1.
  base::Bytes flagged = bytes;
  const size_t dummy_uploads_at = AgreementBytes(Agreed()).size() - 5;
  ASSERT_EQ(flagged[dummy_uploads_at], 0);
  flagged[dummy_uploads_at] = 2;
  EXPECT_THAT(base::Message(ReadManifestBytes(flagged).status()), HasSubstr("canonical form"));
}

// One holder of two identities would vote, and unmask, from two seats.
TEST(ManifestBytesTest, RefusesOneKeyOfTwoMembers) {
  const auto refusal = [](auto change) {
    ManifestSpec spec = Agreed();
    change(spec.members);
    const absl::Status refused = ReadManifestBytes(ManifestBytes(spec)).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
    return std::string(base::Message(refused));
  };
  EXPECT_THAT(refusal([](auto& members) { members[5] = members[2]; }),
              HasSubstr("manifest: members 2 and 5 have the same public key"));
  EXPECT_THAT(refusal([](auto& members) { members[4].signing_key = members[0].signing_key; }),
              HasSubstr("members 0 and 4 have the same public key"));
  EXPECT_THAT(refusal([](auto& members) { members[4].exchange_key = members[0].exchange_key; }),
              HasSubstr("members 0 and 4 have the same public key"));
  EXPECT_THAT(refusal([](auto& members) { members[1].exchange_key = members[3].signing_key; }),
              HasSubstr("members 1 and 3 have the same public key"));
  EXPECT_THAT(refusal([](auto& members) { members[1].exchange_key = members[1].signing_key; }),
              HasSubstr("member 1 has one key for signing and for exchange"));
}

// With such an exchange key at one member, no other member's keys with it can be computed.
TEST(ManifestBytesTest, RefusesKeysThatNoSecretBelongsTo) {
  const auto refusal = [](const ManifestSpec& spec) {
    return base::Message(ReadManifestBytes(ManifestBytes(spec)).status());
  };
  ManifestSpec spec = Agreed();
  for (const crypto::ExchangePublicKey& bad : crypto::BadExchangeKeys()) {
    spec.members[3].exchange_key = bad;
    EXPECT_THAT(refusal(spec), HasSubstr("member 3: " + base::ToHex(bad) + " is not an exchange"));
  }
  spec = Agreed();
  for (const crypto::PublicKey& bad : crypto::BadSigningKeys()) {
    spec.members[3].signing_key = bad;
    EXPECT_THAT(refusal(spec), HasSubstr("member 3: " + base::ToHex(bad) + " is not a signing"));
  }
}

}  // namespace
}  // namespace tacet::agreement
