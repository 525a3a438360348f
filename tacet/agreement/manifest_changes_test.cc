#include "tacet/agreement/manifest_changes.h"

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/agreement/hospitals_for_test.h"
#include "tacet/base/status_for_test.h"
#include "tacet/crypto/random.h"

namespace tacet::agreement {
namespace {

using agreement::SignedManifest;
using agreement::SignedManifestSpec;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Six sites, four in a cohort; exchange keys are of the epoch.
SignedManifest Sign(uint32_t epoch, const std::function<void(SignedManifestSpec&)>& change = {}) {
  crypto::InsecureSeededEntropy entropy(1, "coordinator");
  SignedManifestSpec spec = HospitalFederation(4);
  spec.epoch = epoch;
  if (epoch > 0) spec.predecessor = {1};
  spec.agreement.sampling.min_participants = 3;
  spec.agreement.privacy.colluders = 1;
  spec.agreement.mechanism.coordinate_bound = 0.1;
  spec.annex = "[train]\nbatch = 20\n";
  for (uint8_t site = 0; site < 6; ++site) {
    crypto::InsecureSeededEntropy keys(site, "site");
    spec.members.push_back(agreement::SignMember(
        std::string("site-") + static_cast<char>('a' + site), crypto::SigningKey::Generate(keys),
        {201, site}, {.exchange = {static_cast<uint8_t>(epoch + 2), site}, .kem = {}}));
  }
  spec.server = {.name = "hub", .hosts = {"hub.example"}, .tls_key = {1, 2, 3}};
  if (change) change(spec);
  return base::ValueOf(
      SignedManifest::Sign(std::move(spec), crypto::SigningKey::Generate(entropy)));
}

std::vector<ManifestChange> ChangesBy(const std::function<void(SignedManifestSpec&)>& change) {
  const auto changes = ManifestChanges(Sign(0), Sign(1, change));
  EXPECT_TRUE(changes.ok()) << changes.status();
  return *changes;
}

TEST(ManifestChangesTest, FreshKeysAreNoChange) { EXPECT_THAT(ChangesBy({}), IsEmpty()); }

TEST(ManifestChangesTest, MembersAndServerAreNamed) {
  const auto changes = ChangesBy([](SignedManifestSpec& spec) {
    crypto::InsecureSeededEntropy keys(50, "site");
    spec.members[5] = agreement::SignMember("site-x", crypto::SigningKey::Generate(keys), {201, 50},
                                            {.exchange = {2, 50}, .kem = {}});
    spec.server.hosts = {"elsewhere.example"};
  });
  const std::string text = ManifestChangesText(changes);
  EXPECT_THAT(text, ::testing::ContainsRegex("changed +member +site-f -> \\(none\\)"));
  EXPECT_THAT(text, ::testing::ContainsRegex("changed +member +\\(none\\) -> site-x"));
  EXPECT_THAT(text, ::testing::ContainsRegex("changed +server +hub at hub.example, key [0-9a-f]+ "
                                             "-> hub at elsewhere.example"));
  EXPECT_FALSE(IsAnyWeaker(changes));
  EXPECT_TRUE(IsAnyWeaker(changes) == (text.find("WEAKER") != std::string::npos));
}

// Each term that protects, made a little weaker, and as much stronger.
TEST(ManifestChangesTest, WeakerTermsAreMarked) {
  using agreement::ManifestSpec;
  const struct {
    const char* what;
    void (*weaker)(ManifestSpec&);
    void (*stronger)(ManifestSpec&);
  } cases[] = {
      {"privacy.noise_stddev", [](ManifestSpec& spec) { spec.mechanism.noise_stddev = 2.9; },
       [](ManifestSpec& spec) { spec.mechanism.noise_stddev = 3.1; }},
      {"privacy.delta", [](ManifestSpec& spec) { spec.privacy.delta = 2e-5; },
       [](ManifestSpec& spec) { spec.privacy.delta = 5e-6; }},
      {"privacy.clip_norm", [](ManifestSpec& spec) { spec.mechanism.clip_norm *= 1.1; },
       [](ManifestSpec& spec) { spec.mechanism.clip_norm *= 0.9; }},
      {"privacy.coordinate_bound",
       [](ManifestSpec& spec) { spec.mechanism.coordinate_bound = 0.2; },
       [](ManifestSpec& spec) { spec.mechanism.coordinate_bound = 0.09; }},
      {"sampling rate", [](ManifestSpec& spec) { spec.sampling.cohort = 5; },
       [](ManifestSpec& spec) { spec.sampling.cohort = 3; }},
      {"federation.min_participants",
       [](ManifestSpec& spec) {
         spec.privacy.colluders = 0;
         spec.sampling.min_participants = 2;
       },
       [](ManifestSpec& spec) { spec.sampling.min_participants = 4; }},
      {"privacy.colluders", [](ManifestSpec& spec) { spec.privacy.colluders = 0; },
       [](ManifestSpec& spec) {
         spec.sampling.min_participants = 4;
         spec.privacy.colluders = 2;
       }},
      {"privacy.neighbouring",
       [](ManifestSpec& spec) { spec.privacy.neighbouring = accounting::Neighbouring::kZeroOut; },
       nullptr},
      {"federation.rounds", [](ManifestSpec& spec) { spec.rounds = 6; },
       [](ManifestSpec& spec) { spec.rounds = 4; }},
      {"federation.spare_attempts", [](ManifestSpec& spec) { spec.spare_attempts = 11; },
       [](ManifestSpec& spec) { spec.spare_attempts = 9; }},
      {"federation.committee_corrupt",
       [](ManifestSpec& spec) { spec.committee = {.seats = 6, .corrupt = 1}; }, nullptr},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.what);
    for (void (*const change)(ManifestSpec&) : {one.weaker, one.stronger}) {
      if (change == nullptr) continue;
      const bool weaker = change == one.weaker;
      // Both committees are named, so that what is compared does not follow from other terms.
      const auto with = [&](SignedManifestSpec& spec) { change(spec.agreement); };
      const bool committee = std::string(one.what) == "federation.committee_corrupt";
      const auto before = Sign(0, [&](SignedManifestSpec& spec) {
        if (committee) spec.agreement.committee = {.seats = 6, .corrupt = 2};
      });
      ASSERT_OK_AND_ASSIGN(const auto changes, ManifestChanges(before, Sign(1, with)));
      const auto found = std::ranges::find(changes, one.what, &ManifestChange::what);
      ASSERT_NE(found, changes.end());
      EXPECT_EQ(found->is_weaker, weaker) << ManifestChangesText(changes);
      EXPECT_EQ(IsAnyWeaker(changes) || !weaker, true);
    }
  }
}

TEST(ManifestChangesTest, NumbersHaveAsManyDigitsAsTellThemApart) {
  const struct {
    double noise;
    const char* text;
  } cases[] = {{2.9, "3 -> 2.9\n"},
               {10.0 / 3, "3 -> 3.33\n"},
               {3.000001, "3 -> 3.000001\n"},
               {std::nextafter(3.0, 4.0), "3 -> 3.0000000000000004\n"}};
  for (const auto& one : cases) {
    const auto changes = ChangesBy(
        [&](SignedManifestSpec& spec) { spec.agreement.mechanism.noise_stddev = one.noise; });
    EXPECT_THAT(ManifestChangesText(changes), ::testing::HasSubstr(one.text));
  }
}

TEST(ManifestChangesTest, WeakerOnesComeFirst) {
  const auto changes = ChangesBy([](SignedManifestSpec& spec) {
    spec.agreement.model = "mlp";
    spec.agreement.rounds = 9;
    spec.server.hosts = {"elsewhere.example"};
    spec.annex = "[train]\nbatch = 40\n";
  });
  EXPECT_TRUE(changes.front().is_weaker);
  EXPECT_FALSE(changes.back().is_weaker);
  EXPECT_TRUE(std::ranges::is_sorted(changes, std::greater(), &ManifestChange::is_weaker));
}

// A term that is left out of the comparison could be changed without a word to the members.
TEST(ManifestChangesTest, EveryTermIsNamed) {
  const struct {
    const char* what;
    void (*change)(agreement::ManifestSpec&);
  } cases[] = {
      {"model", [](auto& spec) { spec.model = "mlp"; }},
      {"dimension", [](auto& spec) { spec.dimension = 61; }},
      {"federated_part",
       [](auto& spec) {
         spec.federated_part = "dense2";
         spec.whole_dimension = 100;
       }},
      {"privacy.sampler", [](auto& spec) { spec.mechanism.sampler = dp::GaussianSampler::kPolar; }},
      {"aggregation.plaintext_bits", [](auto& spec) { spec.plaintext_bits = 30; }},
      {"privacy.scale", [](auto& spec) { spec.mechanism.scale = 2e-2; }},
      {"federation.max_participations", [](auto& spec) { spec.sampling.max_participations = 2; }},
      {"privacy.budget_epsilon", [](auto& spec) { spec.privacy.budget_epsilon = 40; }},
      {"server.momentum", [](auto& spec) { spec.optimizer.momentum = 0.5; }},
  };
  for (const auto& one : cases) {
    const auto changes = ChangesBy([&](SignedManifestSpec& spec) { one.change(spec.agreement); });
    EXPECT_NE(std::ranges::find(changes, one.what, &ManifestChange::what), changes.end())
        << one.what;
  }
}

TEST(ManifestChangesTest, TheAnnexIsComparedByLines) {
  const std::string text = ManifestChangesText(ChangesBy(
      [](SignedManifestSpec& spec) { spec.annex = "[train]\nbatch = 40\nlabel = \"x\"\n"; }));
  EXPECT_THAT(text, HasSubstr("[train] batch = 20 -> (none)"));
  EXPECT_THAT(text, HasSubstr("(none) -> [train] batch = 40"));
}

}  // namespace
}  // namespace tacet::agreement
