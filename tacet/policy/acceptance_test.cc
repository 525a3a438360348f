#include "tacet/policy/acceptance.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/agreement/manifest_changes.h"
#include "tacet/policy/acceptance_for_test.h"

namespace tacet::policy {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(AcceptanceTest, TheSameTermsAreAcceptedInEachKindOfChange) {
  for (const auto federation : {OfPersons, OfClients}) {
    const SignedManifest before = Sign(federation());
    const SitePolicy policy = Equal(before);
    const Acceptance renewed = Judge(policy, before, After(before, federation(), Next::kGoesOn));
    EXPECT_THAT(Objections(renewed), IsEmpty());
    EXPECT_THAT(renewed.kinds, ElementsAre(ChangeKind::kRenewal));
    const Acceptance again = Judge(policy, before, After(before, federation(), Next::kBegins));
    EXPECT_THAT(Objections(again), IsEmpty());
    EXPECT_THAT(again.kinds, ElementsAre(ChangeKind::kTraining));
    const Acceptance moved =
        Judge(policy, before, After(before, federation(), Next::kGoesOn, [](auto& spec) {
                spec.server.hosts = {"elsewhere.example"};
              }));
    EXPECT_THAT(Objections(moved), IsEmpty());
    EXPECT_THAT(moved.kinds, ElementsAre(ChangeKind::kServer));
  }
}

// Six of seven continue, where the policy allows six seats of which one may be corrupt.
TEST(AcceptanceTest, ARemovalIsAcceptedWithinTheLimitsOfThePolicy) {
  const SignedManifest before = Sign(OfPersons());
  const SignedManifest now = After(before, OfPersons(), Next::kGoesOn, [](auto& spec) {
    spec.members.pop_back();
    spec.agreement.sampling.cohort = 6;
    spec.agreement.committee = {.seats = 6, .corrupt = 1, .packing = 1};
  });
  SitePolicy policy = Equal(before);
  EXPECT_THAT(Objections(Judge(policy, before, now)),
              ElementsAre("federation.committee_seats", "federation.committee_corrupt"));
  policy.committee_seats = 6;
  policy.committee_corrupt = 1;
  const Acceptance accepted = Judge(policy, before, now);
  EXPECT_THAT(Objections(accepted), IsEmpty());
  EXPECT_THAT(accepted.kinds, ElementsAre(ChangeKind::kRemoval));
}

TEST(AcceptanceTest, EachKindNeedsThePolicysWord) {
  const SignedManifest before = Sign(OfPersons());
  const std::map<ChangeKind, SignedManifest> all = {
      {ChangeKind::kTraining, After(before, OfPersons(), Next::kBegins)},
      {ChangeKind::kServer,
       After(before, OfPersons(), Next::kGoesOn, [](auto& spec) { spec.server.tls_key = {9}; })},
      {ChangeKind::kRenewal, After(before, OfPersons(), Next::kGoesOn)}};
  for (const auto& [kind, now] : all) {
    SitePolicy policy = Equal(before);
    std::erase(policy.accepted_kinds, kind);
    const Acceptance acceptance = Judge(policy, before, now);
    ASSERT_THAT(Objections(acceptance), ElementsAre("acceptance.kinds"));
    EXPECT_THAT(acceptance.objections[0].text, HasSubstr(ChangeKindName(kind)));
  }
  // The default.
  SitePolicy policy = Equal(before);
  policy.accepted_kinds.clear();
  EXPECT_FALSE(Judge(policy, before, all.at(ChangeKind::kRenewal)).accepted());
}

// Two changes in one epoch are two kinds.
TEST(AcceptanceTest, ATrainingThatRemovesAMemberIsARemovalToo) {
  const SignedManifest before = Sign(OfPersons());
  const SignedManifest now = After(before, OfPersons(), Next::kBegins, [](auto& spec) {
    spec.members.pop_back();
    spec.agreement.sampling.cohort = 6;
    spec.agreement.committee = {.seats = 6, .corrupt = 1, .packing = 1};
  });
  EXPECT_THAT(Judge(Equal(before), before, now).kinds,
              ElementsAre(ChangeKind::kTraining, ChangeKind::kRemoval));
}

// The epoch after `missed`, with fresh exchange keys.
SignedManifest Later(const SignedManifest& missed, Next next, const Change& change = {}) {
  return After(missed, OfPersons(), next, [&](SignedManifestSpec& spec) {
    spec.epoch = kEpoch + 2;
    for (uint8_t site = 0; site < kSites; ++site) spec.members[site] = Member(site, kEpoch + 2);
    if (change) change(spec);
  });
}

// A site that was offline misses the epoch with which a training began.
TEST(AcceptanceTest, ATrainingThatBeganInAMissedEpochIsATraining) {
  const SignedManifest before = Sign(OfPersons());
  const SignedManifest missed = After(before, OfPersons(), Next::kBegins);
  const SignedManifest now =
      Later(missed, Next::kBegins, [](auto& spec) { spec.agreement.rounds = 21; });
  ASSERT_FALSE(now.begins_training());
  const Acceptance acceptance = Judge(Equal(before), before, now, std::nullopt, {missed});
  EXPECT_THAT(acceptance.kinds, ElementsAre(ChangeKind::kTraining));
  EXPECT_THAT(Objections(acceptance), ElementsAre("privacy.epsilon_per_year"));
}

TEST(AcceptanceTest, UnknownKeysAreCountedAndTakeNoSeat) {
  const SignedManifest before = Sign(OfPersons());
  const SignedManifest grown = After(before, OfPersons(), Next::kGoesOn, [](auto& spec) {
    AddSite(spec);
    spec.agreement.sampling.cohort = 8;
  });
  SitePolicy policy = Equal(before);
  EXPECT_THAT(Objections(Judge(policy, before, grown)), ElementsAre("acceptance.unknown_members"));
  policy.unknown_members = 1;
  EXPECT_THAT(Objections(Judge(policy, before, grown)), IsEmpty());

  // Nothing changes in the agreement, and fewer keys were accepted than a sum has members.
  const SignedManifest same = After(before, OfPersons(), Next::kGoesOn);
  policy.unknown_members = kSites;
  std::set<crypto::PublicKey> known = AllKeys(before);
  known.erase(Member(6).signing_key);
  EXPECT_THAT(Objections(Judge(policy, before, same, known)), ElementsAre("committee"));
  known.erase(Member(5).signing_key);
  const Acceptance few = Judge(policy, before, same, known);
  ASSERT_THAT(Objections(few),
              ElementsAre("committee", "committee", "members", "privacy.colluders"));
  EXPECT_THAT(few.objections[2].text, HasSubstr("the keys of 5, at least 6 are needed"));
  EXPECT_FALSE(Judge(policy, before, same, std::set<crypto::PublicKey>()).accepted());
}

// A name says nothing: the coordinator gives it to other keys.
TEST(AcceptanceTest, AMemberWithOtherKeysIsUnknown) {
  const SignedManifest before = Sign(OfPersons());
  const SignedManifest now = After(before, OfPersons(), Next::kGoesOn, [](auto& spec) {
    crypto::InsecureSeededEntropy keys(50, "site");
    spec.members[6] = agreement::SignMember("site-g", crypto::SigningKey::Generate(keys), {201, 50},
                                            {.exchange = {9, 50}, .kem = {}});
  });
  const Acceptance acceptance = Judge(Equal(before), before, now);
  EXPECT_THAT(acceptance.kinds, ElementsAre(ChangeKind::kRemoval, ChangeKind::kAddition));
  EXPECT_THAT(Objections(acceptance), ElementsAre("committee", "acceptance.unknown_members"));
}

TEST(AcceptanceTest, AnotherAuthorityIsNeverAccepted) {
  const SignedManifest before = Sign(OfPersons());
  const SignedManifest now = After(before, OfPersons(), Next::kBegins, [](auto& spec) {
    spec.authority = crypto::AuthorityOf(crypto::TlsKey::Generate());
  });
  EXPECT_THAT(Objections(Judge(Equal(before), before, now)), ElementsAre("authority"));
}

TEST(AcceptanceTest, ALimitOfOneAgreementIsBelowThatOfTheYear) {
  const SignedManifest before = Sign(OfPersons());
  const SignedManifest now = After(before, OfPersons(), Next::kBegins);
  SitePolicy policy = Equal(before);
  policy.accepted_epsilon = policy.epsilon_per_year * 0.999;
  EXPECT_THAT(Objections(Judge(policy, before, now)), ElementsAre("acceptance.epsilon"));
  policy.accepted_epsilon = policy.epsilon_per_year * 2;
  EXPECT_THAT(Objections(Judge(policy, before, now)), IsEmpty());
}

// Columns and questions are those that the manifest names; the table's size is not asked.
TEST(AcceptanceTest, WhatIsReadIsJudgedAndTheTableIsNot) {
  const SignedManifest before = Sign(OfPersons());
  const SignedManifest now = After(before, OfPersons(), Next::kBegins);
  const SitePolicy policy = Equal(before);
  const std::set<crypto::PublicKey> known = AllKeys(before);
  const std::vector<agreement::EpochLink> chain = {before.link(), now.link()};
  InvitationChange change{
      .before = before, .now = now, .chain = chain, .known = known, .use = UseAtSite()};
  change.use.records = 1;  // the policy demands 500 where it runs
  EXPECT_THAT(Objections(*JudgeInvitation(policy, change)), IsEmpty());
  change.use.columns->push_back("hiv");
  EXPECT_THAT(Objections(*JudgeInvitation(policy, change)), ElementsAre("data.columns"));
  change.use = UseAtSite();
  change.use.person_column = "row";
  EXPECT_THAT(Objections(*JudgeInvitation(policy, change)), ElementsAre("data.person_column"));
  change.use = UseAtSite();
  change.external_model = true;
  EXPECT_THAT(Objections(*JudgeInvitation(policy, change)), ElementsAre("model.name"));
}

// It left in an epoch that the site missed, perhaps because its key was stolen.
TEST(AcceptanceTest, AMemberThatLeftAndCameBackInMissedEpochsIsUnknown) {
  const SignedManifest before = Sign(OfPersons());
  const SignedManifest missed = After(before, OfPersons(), Next::kGoesOn, [](auto& spec) {
    spec.members.pop_back();
    spec.agreement.sampling.cohort = 6;
    spec.agreement.committee = {.seats = 6, .corrupt = 1, .packing = 1};
  });
  const SignedManifest now = Later(missed, Next::kGoesOn);
  const Acceptance acceptance = Judge(Loose(before), before, now, std::nullopt, {missed});
  EXPECT_THAT(acceptance.kinds, ElementsAre(ChangeKind::kRemoval, ChangeKind::kAddition));
  EXPECT_THAT(Objections(acceptance), ElementsAre("committee", "acceptance.unknown_members"));
}

// The coordinator puts keys of an ended epoch back, whose secrets a thief of a seat may have.
TEST(AcceptanceTest, ASeatWithAnExchangeKeyOfAnEarlierEpochIsNamed) {
  const SignedManifest before = Sign(OfPersons());
  const SignedManifest kept = After(before, OfPersons(), Next::kGoesOn,
                                    [](auto& spec) { spec.members[3] = Member(3, kEpoch); });
  EXPECT_THAT(Objections(Judge(Equal(before), before, kept)), ElementsAre("committee"));
  // For an epoch before the last one.
  const SignedManifest between = After(before, OfPersons(), Next::kGoesOn);
  const SignedManifest now =
      Later(between, Next::kGoesOn, [](auto& spec) { spec.members[3] = Member(3, kEpoch); });
  const Acceptance acceptance = Judge(Equal(before), before, now, std::nullopt, {between});
  ASSERT_THAT(Objections(acceptance), ElementsAre("committee"));
  EXPECT_THAT(acceptance.objections[0].text,
              HasSubstr("site-d has a seat with an exchange key of epoch 2"));
}

TEST(AcceptanceTest, AnAnnexWithItsLinesInAnotherOrderIsAnotherOne) {
  SignedManifestSpec spec = OfPersons();
  spec.annex = "[[question]]\ncolumn = \"age\"\n[[question]]\ncolumn = \"ill\"\n";
  const SignedManifest before = Sign(spec);
  const SignedManifest now = After(before, spec, Next::kGoesOn, [](auto& next) {
    next.annex = "[[question]]\ncolumn = \"ill\"\n[[question]]\ncolumn = \"age\"\n";
  });
  EXPECT_THAT(Objections(Judge(Loose(before), before, now)), ElementsAre("annex"));
  EXPECT_THAT(base::ValueOf(agreement::ManifestChanges(before, now)),
              ElementsAre(Field(&agreement::ManifestChange::what, "annex")));
}

TEST(AcceptanceTest, NamesAndSealingKeysStayWithTheirMembers) {
  const SignedManifest before = Sign(OfPersons());
  const auto with = [&](std::string_view name, const crypto::SealingPublicKey& sealing) {
    return After(before, OfPersons(), Next::kGoesOn, [&](auto& spec) {
      crypto::InsecureSeededEntropy keys(6, "site");
      spec.members[6] = agreement::SignMember(name, crypto::SigningKey::Generate(keys), sealing,
                                              {.exchange = {9, 6}, .kem = {}});
    });
  };
  const SitePolicy policy = Equal(before);
  EXPECT_THAT(Objections(Judge(policy, before, with("site-g", {201, 6}))), IsEmpty());
  EXPECT_THAT(Objections(Judge(policy, before, with("site-z", {201, 6}))), ElementsAre("member"));
  EXPECT_THAT(Objections(Judge(policy, before, with("site-g", {201, 7}))), ElementsAre("member"));
}

// A new field of a manifest does not compile here: say who judges its change.
TEST(AcceptanceTest, EveryFieldOfAManifestHasAJudge) {
  const SignedManifestSpec spec = OfPersons();
  // The chain judges the first three, Judge the terms with the annex, Kinds the server.
  const auto& [federation, epoch, predecessor, agreement, server, annex, members, authority] = spec;
  EXPECT_EQ(members.size(), kSites);
}

// The policy leaves room below what was agreed, and nobody has left who would explain it.
TEST(AcceptanceTest, TermsAreNotWeakerWithoutARemoval) {
  const SignedManifest before = Sign(OfPersons());
  const SitePolicy policy = Loose(before);
  const auto weaker = [](auto& spec) {
    spec.agreement.sampling.min_participants = 3;
    spec.agreement.committee = {.seats = 7, .corrupt = 1, .packing = 1};
  };
  EXPECT_THAT(Objections(Judge(policy, before, After(before, OfPersons(), Next::kGoesOn, weaker))),
              ElementsAre("federation.min_participants", "federation.committee_corrupt"));
  const SignedManifest removed = After(before, OfPersons(), Next::kGoesOn, [&](auto& spec) {
    weaker(spec);
    spec.members.pop_back();
    spec.agreement.sampling.cohort = 6;
    spec.agreement.committee.seats = 6;
  });
  EXPECT_THAT(Objections(Judge(policy, before, removed)), IsEmpty());
  const SignedManifest begins = After(before, OfPersons(), Next::kBegins, [](auto& spec) {
    spec.agreement.privacy.colluders = 0;
    spec.agreement.privacy.delta *= 10;
  });
  EXPECT_THAT(Objections(Judge(policy, before, begins)),
              ElementsAre("privacy.delta", "privacy.colluders"));
}

// All sites answer a query, and a training may continue without one: between the two the limits of
// the policy hold.
TEST(AcceptanceTest, ATrainingAfterAQueryMayHaveItsOwnParticipants) {
  SignedManifestSpec query = OfQuery();
  query.agreement.sampling.min_participants = kSites;
  const SignedManifest before = Sign(query);
  const SignedManifest now = After(before, OfPersons(), Next::kBegins);
  EXPECT_THAT(Objections(Judge(Loose(before), before, now)), IsEmpty());
}

// Five sybils and the victim would be a sum of six.
TEST(AcceptanceTest, UnknownMembersAreAtMostTheColluders) {
  const SignedManifest before = Sign(OfPersons());
  SitePolicy policy = Loose(before);
  policy.unknown_members = 5;
  const auto grown = [&](uint8_t more) {
    return After(before, OfPersons(), Next::kGoesOn, [more](auto& spec) {
      for (uint8_t site = 0; site < more; ++site) {
        AddSite(spec, static_cast<uint8_t>(site + 20));
      }
    });
  };
  EXPECT_THAT(Objections(Judge(policy, before, grown(1))), IsEmpty());
  EXPECT_THAT(Objections(Judge(policy, before, grown(5))), ElementsAre("privacy.colluders"));
}

TEST(AcceptanceTest, ATrainingThatAddsAMemberIsAnAdditionToo) {
  const SignedManifest before = Sign(OfPersons());
  SitePolicy policy = Loose(before);
  policy.unknown_members = 1;
  policy.accepted_kinds = {ChangeKind::kTraining};
  const SignedManifest now =
      After(before, OfPersons(), Next::kBegins, [](auto& spec) { AddSite(spec); });
  const Acceptance acceptance = Judge(policy, before, now);
  EXPECT_THAT(acceptance.kinds, ElementsAre(ChangeKind::kTraining, ChangeKind::kAddition));
  EXPECT_THAT(Objections(acceptance), ElementsAre("acceptance.kinds"));
}

}  // namespace
}  // namespace tacet::policy
