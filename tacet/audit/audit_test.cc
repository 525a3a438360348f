
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/audit/audit_for_test.h"
#include "tacet/audit/audit_record.h"
#include "tacet/audit/audit_verify.h"
#include "tacet/base/status_for_test.h"

namespace tacet::audit {
namespace {

using base::JsonValue;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

JsonValue RecordOf(const AuditFacts& facts) {
  auto run = base::ValueOf(CheckFacts(facts));
  return base::ValueOf(AuditRecord(run));
}

std::string Complaint(AuditFacts facts) {
  const auto run = CheckFacts(std::move(facts));
  EXPECT_FALSE(run.ok());
  return base::Message(run.status());
}

// Why a file with this text is refused; empty when it is not.
std::string Refusal(const std::string& text, std::string_view pinned = "") {
  const auto file = ReadAuditFile(text);
  if (!file.ok()) return base::Message(file.status());
  const auto verified = VerifyAudit(*file, pinned);
  return verified.ok() ? "" : base::Message(verified.status());
}

// A record altered by anyone who holds the key, signed again.
std::string Resigned(const JsonValue& record) { return SignedAudit(record, KeyForTest(1)); }

JsonValue Altered(const JsonValue& record, const std::string& what, const std::string& by) {
  return base::ValueOf(JsonValue::Parse(Replaced(record.Dump(), what, by)));
}

TEST(AuditTest, ARecordHoldsAgainstItselfForEveryUnit) {
  for (const agreement::ManifestSpec& agreement : {SmallAgreement(), RecordAgreement()}) {
    const JsonValue record = RecordOf(FactsForTest(agreement));
    const std::string text = Resigned(record);
    ASSERT_OK_AND_ASSIGN(const auto file, ReadAuditFile(text));
    ASSERT_OK_AND_ASSIGN(const auto verified,
                         VerifyAudit(file, crypto::KeyFingerprint(KeyForTest(1).public_key())));
    EXPECT_EQ(verified.run.charges(), 5u);
    EXPECT_EQ(verified.run.complete_rounds(), 3u);
    EXPECT_TRUE(verified.notes.empty());
    // The whole file is one JSON document too, for readers that know nothing of its layout.
    ASSERT_OK_AND_ASSIGN(const auto whole, JsonValue::Parse(text));
    EXPECT_EQ(whole.Find("record")->Dump(), record.Dump());
    EXPECT_EQ(*record.Find("privacy_unit")->Find("unit")->AsString(),
              accounting::UnitName(agreement.privacy.unit));
    EXPECT_FALSE(record.Find("privacy")->Find("headlines")->items().empty());
  }
}

TEST(AuditTest, TheFactsOfARecordAreTheFactsItWasMadeFrom) {
  const AuditFacts facts = FactsForTest();
  const JsonValue record = RecordOf(facts);
  ASSERT_OK_AND_ASSIGN(const auto again, FactsOfRecord(record));
  EXPECT_EQ(RecordOf(again).Dump(), record.Dump());
  EXPECT_EQ(again.ledger, facts.ledger);
  EXPECT_EQ(again.manifests.front().members, facts.manifests.front().members);
  EXPECT_EQ(again.rounds.at(1).attempts.at(0).reason, "too-few-uploads");
}

TEST(AuditTest, AnAlteredFigureIsNamed) {
  const JsonValue record = RecordOf(FactsForTest());
  const double epsilon =
      *record.Find("privacy")->Find("headlines")->items().front().Find("epsilon")->AsDouble();
  const std::string stated = fmt::format("\"epsilon\":{}", epsilon);
  EXPECT_THAT(
      Refusal(Resigned(Altered(record, stated, fmt::format("\"epsilon\":{}", 0.99 * epsilon)))),
      AllOf(StartsWith("row external, replace-one, fixed-size-tight: `epsilon`: the record says "),
            HasSubstr(fmt::format("the events give {}", epsilon)), Not(HasSubstr("signature"))));
  // Too high by more than rounding is wrong too; the last bits are not.
  EXPECT_THAT(
      Refusal(Resigned(Altered(record, stated, fmt::format("\"epsilon\":{}", 1.01 * epsilon)))),
      HasSubstr("`epsilon`"));
  EXPECT_EQ(Refusal(Resigned(
                Altered(record, stated, fmt::format("\"epsilon\":{}", epsilon * (1 + 1e-12))))),
            "");
  EXPECT_THAT(Refusal(Resigned(
                  Altered(record, stated, fmt::format("\"epsilon\":{}", epsilon * (1 - 1e-7))))),
              HasSubstr("`epsilon`"));
  EXPECT_THAT(Refusal(Resigned(Altered(record, "\"unit\":\"client\"", "\"unit\":\"record\""))),
              HasSubstr("`privacy_unit`: `unit`: the record says \"record\", the events give "
                        "\"client\""));
  EXPECT_THAT(Refusal(Resigned(Altered(record, "\"noise_stddev\":6,", "\"noise_stddev\":9,"))),
              HasSubstr("the events give 6"));
  EXPECT_THAT(
      Refusal(Resigned(Altered(record, "\"labels\":[]", "\"approved\":true,\"labels\":[]"))),
      HasSubstr("`run`: `approved` does not belong there"));
  EXPECT_THAT(Refusal(Resigned(Altered(record, "\"rounds_planned\":3,", ""))),
              HasSubstr("`run`: `rounds_planned` is missing"));
  // Words explain; they are not figures.
  EXPECT_EQ(Refusal(Resigned(Altered(record, "Every attempt is charged", "All is charged"))), "");
}

// Agreements whose terms are not those of the default sampler with every share of the noise.
std::vector<agreement::ManifestSpec> AgreementsWithTermsOfTheirOwn() {
  agreement::ManifestSpec box_muller = SmallAgreement();
  box_muller.mechanism.sampler = dp::GaussianSampler::kBoxMuller;
  agreement::ManifestSpec colluders = RecordAgreement();
  colluders.privacy.colluders = 2;
  return {box_muller, colluders};
}

TEST(AuditTest, ImplementationTermsAreThoseOfTheAgreedPlan) {
  for (const agreement::ManifestSpec& agreement : AgreementsWithTermsOfTheirOwn()) {
    agreement::ManifestSpec usual = agreement;
    usual.mechanism.sampler = dp::GaussianSampler::kDefault;
    usual.privacy.colluders = 0;
    const auto manifest = agreement::Manifest::Create(agreement);
    const auto other = agreement::Manifest::Create(usual);
    ASSERT_TRUE(manifest.ok() && other.ok());
    const JsonValue record = RecordOf(FactsForTest(agreement));
    const JsonValue& row = record.Find("privacy")->Find("headlines")->items().front();
    const JsonValue* stated = row.Find("implementation");
    ASSERT_NE(stated, nullptr) << row.Dump();
    const double epsilon = *row.Find("epsilon")->AsDouble();
    const auto terms = manifest->terms().mechanism().TermsAt(epsilon, agreement.privacy.delta);
    EXPECT_DOUBLE_EQ(*stated->Find("epsilon")->AsDouble(), terms.epsilon);
    EXPECT_DOUBLE_EQ(*stated->Find("delta")->AsDouble(), terms.delta);

    // Altered terms are refused, also by the key's holder: too small ones, and the usual sampler's.
    const auto refused = [&](const dp::ImplementationTerms& wrong) {
      JsonValue altered =
          JsonValue::MakeObject().Set("epsilon", wrong.epsilon).Set("delta", wrong.delta);
      return Refusal(Resigned(Altered(record, "\"implementation\":" + stated->Dump(),
                                      "\"implementation\":" + altered.Dump())));
    };
    EXPECT_EQ(refused(terms), "");
    EXPECT_THAT(refused({.epsilon = 0.5 * terms.epsilon, .delta = terms.delta}),
                HasSubstr("`implementation`: `epsilon`"));
    EXPECT_THAT(refused({.epsilon = terms.epsilon, .delta = 0.5 * terms.delta}),
                HasSubstr("`implementation`: `delta`"));
    EXPECT_THAT(refused(other->terms().mechanism().TermsAt(epsilon, agreement.privacy.delta)),
                HasSubstr("`implementation`"));
  }
}

TEST(AuditTest, TheSignatureCoversEveryByteOfTheRecord) {
  const std::string text = Resigned(RecordOf(FactsForTest()));
  EXPECT_EQ(Refusal(text), "");
  EXPECT_THAT(Refusal(Replaced(text, "Every attempt", "Any attempt")),
              StartsWith("the signature is not that of this record"));
  EXPECT_THAT(Refusal(Replaced(text, "\"accuracy\": 0.5", "\"accuracy\": 0.75")),
              StartsWith("the signature is not that of this record"));
  // A figure that cannot be right is named first.
  EXPECT_THAT(Refusal(Replaced(text, "\"coordinate_bound\": 0.1", "\"coordinate_bound\": 0.2")),
              AllOf(StartsWith("`mechanism`"), HasSubstr("; and the signature is not that")));
}

TEST(AuditTest, AnotherKeyIsNamed) {
  const AuditFacts facts = FactsForTest();
  const JsonValue record = RecordOf(facts);
  const std::string own = crypto::KeyFingerprint(facts.signer);
  const std::string other = crypto::KeyFingerprint(KeyForTest(2).public_key());
  EXPECT_EQ(Refusal(SignedAudit(record, KeyForTest(2))),
            fmt::format("signed by the key {}, the record names the key {}", other, own));
  EXPECT_EQ(Refusal(Resigned(record), other),
            fmt::format("signed by the key {}, asked for was {}", own, other));
  EXPECT_THAT(Refusal(Resigned(record), "abc"), HasSubstr("not a fingerprint"));
  // The signature of another record under the same key.
  AuditFacts later = facts;
  ++later.created;
  const std::string text = Resigned(record);
  const std::string stranger = Resigned(RecordOf(later));
  const size_t at = text.rfind("\"signature\"");
  EXPECT_THAT(Refusal(text.substr(0, at) + stranger.substr(stranger.rfind("\"signature\""))),
              StartsWith("the signature is not that of this record"));
}

TEST(AuditTest, AKeyThatIsNotTheRunsIsNoted) {
  AuditFacts facts = FactsForTest();
  facts.signer = KeyForTest(2).public_key();
  facts.manifests.front().members.reset();
  facts.finished = false;
  facts.released_model.reset();
  const auto file = ReadAuditFile(SignedAudit(RecordOf(facts), KeyForTest(2)));
  ASSERT_OK_AND_ASSIGN(const auto verified, VerifyAudit(*file, ""));
  EXPECT_THAT(verified.notes,
              ::testing::ElementsAre(HasSubstr("was not checked"), HasSubstr("another key"),
                                     HasSubstr("no member keys"), HasSubstr("not finished")));
}

TEST(AuditTest, FiguresOnHeldOutDataAreRounded) {
  EXPECT_EQ(RoundedShare(0.123456), 0.123);
  EXPECT_EQ(RoundedLoss(1.25678), 1.3);
  EXPECT_EQ(RoundedLoss(0.0456789), 0.046);
  EXPECT_EQ(RoundedLoss(0), 0);
  AuditFacts facts = FactsForTest();
  facts.result->accuracy = 0.123456;
  EXPECT_THAT(Complaint(facts), StartsWith("accuracy 0.123456 and loss 1.3 are not rounded"));
  facts = FactsForTest();
  facts.result->loss = 1.2567;
  EXPECT_THAT(Complaint(facts), HasSubstr("are not rounded"));
}

TEST(AuditTest, AMembersRecordSaysSoAndHolds) {
  const AuditFacts facts = MemberFactsForTest();
  const JsonValue record = RecordOf(facts);
  const JsonValue& run = *record.Find("run");
  EXPECT_EQ(*run.Find("kind")->AsString(), "member");
  EXPECT_EQ(*run.Find("member")->AsUint(), 2u);
  EXPECT_THAT(*run.Find("statement")->AsString(),
              StartsWith("Member 2 of 12 of a live federation"));
  EXPECT_TRUE(record.Find("rounds")->items()[1].Find("participants")->is_null());
  const auto file = ReadAuditFile(Resigned(record));
  ASSERT_OK_AND_ASSIGN(const auto verified,
                       VerifyAudit(*file, crypto::KeyFingerprint(KeyForTest(1).public_key())));
  EXPECT_THAT(verified.notes,
              ::testing::ElementsAre("the released model is attested by 2 of 12 members"));
  EXPECT_EQ(RecordOf(*FactsOfRecord(record)).Dump(), record.Dump());
}

TEST(AuditTest, TheKindFollowsFromTheAgreement) {
  AuditFacts facts = MemberFactsForTest();
  facts.kind = RunKind::kSimulation;
  EXPECT_EQ(Complaint(facts),
            "the run is said to be a simulation, but its agreement is that of a live federation");
  facts = FactsForTest();
  facts.kind = RunKind::kMember;
  EXPECT_EQ(Complaint(facts),
            "the run is said to be a member, but its agreement is that of a simulation");
  facts = MemberFactsForTest();
  facts.member = 12;
  EXPECT_THAT(Complaint(facts), HasSubstr("member 12 of 12"));
  facts.member.reset();
  EXPECT_THAT(Complaint(facts), HasSubstr("member (none)"));
  facts = FactsForTest();
  facts.rounds[1].sum_not_seen = true;
  EXPECT_THAT(Complaint(facts), HasSubstr("cannot be one whose sum was not seen"));
  facts = FactsForTest();
  facts.processes = 0;
  EXPECT_THAT(Complaint(facts), HasSubstr("0 processes"));
  facts.processes = 4;
  const JsonValue record = RecordOf(facts);
  EXPECT_THAT(*record.Find("run")->Find("statement")->AsString(),
              HasSubstr("4 processes of one MPI job"));
  EXPECT_THAT(Refusal(Resigned(Altered(record, "\"kind\":\"simulation\"", "\"kind\":\"member\""))),
              HasSubstr("its agreement is that of a simulation"));
}

TEST(AuditTest, ARecordIsBoundToItsModels) {
  AuditFacts facts = FactsForTest();
  facts.released_model = ModelForTest(2);
  EXPECT_THAT(Complaint(facts), StartsWith("the released model is ab02"));
  facts = FactsForTest();
  facts.released_model.reset();
  EXPECT_THAT(Complaint(facts), HasSubstr("its released model is missing"));
  facts = FactsForTest();
  facts.rounds[1].model.reset();
  EXPECT_EQ(Complaint(facts), "round 1 is complete, but its model is missing");

  // By digests under a key.
  const auto key_of = [](uint8_t number) {
    crypto::SecretBytes bytes(secagg::DigestKey::kBytes);
    bytes.Expose()[0] = number;
    return secagg::DigestKey(std::move(bytes));
  };
  const secagg::DigestKey key = key_of(1);
  facts = FactsForTest();
  for (AuditedRound& round : facts.rounds) {
    round.model = key.OfModel(std::vector<float>{static_cast<float>(round.round + 1)});
  }
  facts.released_model = facts.rounds.back().model;
  ASSERT_OK_AND_ASSIGN(const auto run, CheckFacts(facts));
  EXPECT_EQ(*CheckModel(run, std::vector<float>{3}, key), "the released model");
  EXPECT_EQ(*CheckModel(run, std::vector<float>{1}, key), "the model after 1 rounds");
  const auto complaint = [&](float model, const secagg::DigestKey& under) {
    return base::Message(CheckModel(run, std::vector<float>{model}, under).status());
  };
  EXPECT_THAT(complaint(4, key),
              AllOf(HasSubstr("the record is not about this model"),
                    HasSubstr("the record released " + base::ToHex(*facts.released_model))));
  EXPECT_THAT(complaint(3, key_of(2)), HasSubstr("or the digest key is another one"));
}

// Digests under the keys of two epochs say nothing about each other.
TEST(AuditTest, AttestationsAreComparedWithinTheirEpoch) {
  ASSERT_OK_AND_ASSIGN(const auto second,
                       agreement::Manifest::Create(LiveAgreement(1, SmallAgreement())));
  const auto under_second = [&](uint64_t member, const crypto::Digest& model) {
    return protocol::WriteAttestation(
        {.member = member, .round = 3, .model_digest = model, .state_digest = {}}, second.hash(), 1,
        KeyForTest(static_cast<uint8_t>(100 + member)));
  };
  AuditFacts facts = MemberFactsForTest();
  facts.rounds[2].model_epoch = 1;
  // Its attestation in the epoch before is not about this digest.
  EXPECT_EQ(Complaint(facts), "member 2 does not attest the released model");
  facts.attestations.push_back(under_second(2, ModelForTest(3)));
  EXPECT_TRUE(CheckFacts(facts).ok()) << CheckFacts(facts).status();
  facts.attestations[1] = AttestationForTest(facts, 2, 3, ModelForTest(9));
  EXPECT_TRUE(CheckFacts(facts).ok()) << CheckFacts(facts).status();
  facts.attestations.push_back(under_second(2, ModelForTest(9)));
  EXPECT_THAT(Complaint(facts), HasSubstr("member 2 attests the model ab09"));
}

// Rounds and charges are cut, and whatever else the record's maker can alter fits again: what
// members have signed does not.
TEST(AuditTest, AttestationsRefuseACutRecord) {
  AuditFacts facts = MemberFactsForTest();
  facts.rounds.pop_back();
  facts.rounds[1] = {.round = 1,
                     .participants = 6,
                     .model = ModelForTest(3),
                     .attempts = {{.outcome = AttemptOutcome::kDecrypted}}};
  facts.stopped = "the budget";
  facts.manifests.pop_back();
  WriteLedgerOf(*agreement::Manifest::Create(LiveAgreement(0, SmallAgreement())), facts);
  EXPECT_EQ(Complaint(facts),
            "attestation 2: member 2 attests the model after 3 rounds, the record has 2");
  // Its own statements left out, it attests nothing.
  facts.attestations = {};
  EXPECT_EQ(Complaint(facts), "member 2 does not attest the released model");
  // Another member's statement is enough.
  facts.attestations = {AttestationForTest(facts, 2, 2, ModelForTest(3)),
                        AttestationForTest(facts, 7, 3, ModelForTest(3))};
  EXPECT_THAT(Complaint(facts), HasSubstr("member 7 attests the model after 3 rounds"));
}

TEST(AuditTest, AttestationsAreSignedByMembersOfTheManifest) {
  AuditFacts facts = MemberFactsForTest();
  facts.attestations[2].back() ^= 1;
  EXPECT_EQ(Complaint(facts), "attestation 3: attestation: member 7 did not sign it");
  facts = MemberFactsForTest();
  facts.attestations[2].pop_back();
  EXPECT_THAT(Complaint(facts), HasSubstr("cut short"));
  facts = MemberFactsForTest();
  facts.attestations.push_back({});
  EXPECT_THAT(Complaint(facts), StartsWith("attestation 4: "));
  facts = MemberFactsForTest();
  facts.attestations.push_back(AttestationForTest(facts, 2, 1, ModelForTest(9)));
  EXPECT_THAT(Complaint(facts), HasSubstr("member 2 attests the model ab09"));
  // A contradiction by another member is reported, and decides nothing.
  facts = MemberFactsForTest();
  facts.attestations.push_back(AttestationForTest(facts, 5, 3, ModelForTest(9)));
  const auto file = ReadAuditFile(Resigned(RecordOf(facts)));
  ASSERT_OK_AND_ASSIGN(const auto verified,
                       VerifyAudit(*file, crypto::KeyFingerprint(KeyForTest(1).public_key())));
  EXPECT_THAT(verified.notes,
              ::testing::ElementsAre("member 5 attests another model after 3 rounds",
                                     "the released model is attested by 2 of 12 members"));
  facts = FactsForTest();
  facts.attestations = {AttestationForTest(facts, 2, 3, ModelForTest(3))};
  EXPECT_THAT(Complaint(facts), HasSubstr("a simulation has no members"));
}

// The givers of data are counted again from what the others signed.
TEST(AuditTest, AbstentionsAreCounted) {
  AuditFacts facts = MemberFactsForTest();
  facts.abstentions = {AbstentionForTest(facts, 2, 0), AbstentionForTest(facts, 5, 0),
                       AbstentionForTest(facts, 5, 2), AbstentionForTest(facts, 5, 3)};
  const JsonValue record = RecordOf(facts);
  const auto& rounds = record.Find("rounds")->items();
  const auto participants = static_cast<uint64_t>(facts.rounds[0].participants);
  EXPECT_EQ(*rounds[0].Find("givers")->AsUint(), participants - 2);
  EXPECT_TRUE(rounds[1].Find("givers")->is_null());
  EXPECT_EQ(*rounds[2].Find("givers")->AsUint(), participants - 1);
  EXPECT_EQ(Refusal(Resigned(record)), "");
  // A number that does not follow, and a statement that is left out.
  const std::string more = fmt::format("\"givers\":{}", participants - 2);
  EXPECT_THAT(Refusal(Resigned(Altered(record, more, fmt::format("\"givers\":{}", participants)))),
              HasSubstr("givers"));
  EXPECT_THAT(Refusal(Resigned(Altered(record, "\"cause\":\"budget\"", "\"cause\":\"policy\""))),
              HasSubstr("cause"));
  ASSERT_OK_AND_ASSIGN(const AuditedRun run, CheckFacts(facts));
  EXPECT_EQ(run.abstained_rounds(), 1u);
}

TEST(AuditTest, AbstentionsAreSignedOnceByMembersOfTheManifest) {
  const AuditFacts good = MemberFactsForTest();
  const auto complaint = [&good](const std::vector<base::Bytes>& abstentions) {
    AuditFacts facts = good;
    facts.abstentions = abstentions;
    return Complaint(facts);
  };
  const base::Bytes one = AbstentionForTest(good, 5, 0);
  EXPECT_EQ(complaint({one, one}), "abstention 2: member 5 abstains from round 0 twice");
  base::Bytes forged = one;
  forged.back() ^= 1;
  EXPECT_EQ(complaint({forged}), "abstention 1: abstention: member 5 did not sign it");
  EXPECT_THAT(complaint({{}}), StartsWith("abstention 1: "));
  EXPECT_EQ(complaint({AbstentionForTest(good, 5, 4)}),
            "abstention 1: member 5 abstains from round 4, the record has 3 rounds");
  AuditFacts other = good;
  other.manifests.front().hash[0] ^= 1;
  EXPECT_THAT(complaint({AbstentionForTest(other, 5, 0)}),
              HasSubstr("whose members the record does not have"));
}

// A member that came after the last round has a model and no charge; a simulation has charges.
TEST(AuditTest, AMemberWithoutChargesHasARecord) {
  AuditFacts facts = MemberFactsForTest();
  for (AuditedRound& round : facts.rounds) {
    round.attempts.clear();
    round.participants = 0;
    round.sum_not_seen = true;
    if (round.round < 2) round.model.reset();
  }
  facts.manifests.resize(1);
  WriteLedgerOf(*agreement::Manifest::Create(LiveAgreement(0, SmallAgreement())), facts);
  const JsonValue record = RecordOf(facts);
  EXPECT_EQ(Refusal(Resigned(record)), "");
  EXPECT_EQ(*record.Find("run")->Find("first_round")->AsUint(), 3u);
  EXPECT_EQ(*record.Find("privacy")->Find("charged_epsilon")->AsDouble(), 0);
  facts.finished = false;
  facts.released_model.reset();
  EXPECT_THAT(Complaint(facts), HasSubstr("nothing was charged to it"));
}

TEST(AuditTest, RoundsAndChargesMustMatch) {
  AuditFacts facts = FactsForTest();
  facts.rounds.erase(facts.rounds.begin() + 1);
  EXPECT_EQ(Complaint(facts), "round 1 is missing");
  facts = FactsForTest();
  facts.rounds.pop_back();
  facts.finished = false;
  EXPECT_EQ(Complaint(facts), "round 2 is missing: the ledger was charged for it");
  facts = FactsForTest();
  facts.rounds[1].attempts.erase(facts.rounds[1].attempts.begin());
  EXPECT_EQ(Complaint(facts),
            "the ledger charges round 1 attempt 0 of epoch 0, the record lacks it");
  facts = FactsForTest();
  facts.rounds[0].attempts.front().attempt = 1;
  EXPECT_EQ(Complaint(facts), "round 0 attempt 1 of epoch 0 is not in the ledger");
  facts = FactsForTest();
  facts.rounds[1].round = 0;
  EXPECT_EQ(Complaint(facts), "round 0 is there twice");
  facts = FactsForTest();
  std::swap(facts.rounds[1].attempts[0].attempt, facts.rounds[1].attempts[1].attempt);
  EXPECT_EQ(Complaint(facts), "the attempts of round 1 are not in order");
}

// The charge of an attempt that gave no sum is cut, from the ledger and from everything else.
TEST(AuditTest, ACutChargeLeavesAGap) {
  const auto manifest = agreement::Manifest::Create(SmallAgreement());
  AuditFacts facts = FactsForTest();
  facts.rounds[1].attempts.erase(facts.rounds[1].attempts.begin());
  WriteLedgerOf(*manifest, facts);
  EXPECT_EQ(Complaint(facts),
            "round 1 attempt 1 of epoch 0 was charged, attempt 0 before it was not");
  // A process that did nothing but begin an attempt.
  facts = FactsForTest();
  facts.rounds[2].attempts.back().epoch = 2;
  WriteLedgerOf(*manifest, facts);
  EXPECT_EQ(Complaint(facts), "attempts of epoch 2 were charged, none of epoch 1 before it");
}

TEST(AuditTest, OutcomesMustMatch) {
  AuditFacts facts = FactsForTest();
  facts.rounds[1].attempts[0] = {.epoch = 0, .attempt = 0, .outcome = AttemptOutcome::kDecrypted};
  EXPECT_THAT(Complaint(facts), HasSubstr("is decrypted, but the round continued"));
  facts = FactsForTest();
  facts.rounds[1].attempts[0].reason.clear();
  EXPECT_THAT(Complaint(facts), HasSubstr("is refused with the reason \"\""));
  facts = FactsForTest();
  facts.rounds[1].participants = 0;
  EXPECT_THAT(Complaint(facts), HasSubstr("is decrypted, but the round is not complete"));
  facts = FactsForTest();
  facts.rounds[0].participants = 7;
  EXPECT_EQ(Complaint(facts), "round 0 has 7 participants, the agreement allows 6 to 6");
  facts = FactsForTest();
  facts.rounds[2].participants = 0;
  facts.rounds[2].attempts.back().outcome = AttemptOutcome::kInterrupted;
  EXPECT_THAT(Complaint(facts), HasSubstr("said to be finished after 2 rounds"));
  facts.finished = false;
  facts.released_model.reset();
  facts.rounds[2].model.reset();
  EXPECT_TRUE(CheckFacts(facts).ok());
}

TEST(AuditTest, ACutOrForeignLedgerIsNamed) {
  AuditFacts facts = FactsForTest();
  facts.ledger.resize(facts.ledger.size() - ledger::kLedgerRecordBytes);
  EXPECT_THAT(Complaint(facts), HasSubstr("the ledger: the ledger ends at byte"));
  facts = FactsForTest();
  facts.ledger.back() ^= 1;
  EXPECT_THAT(Complaint(facts), HasSubstr("does not continue the chain"));
  // One charge more than the head knows.
  facts = FactsForTest();
  --facts.ledger_end.count;
  const auto head =
      std::span(facts.ledger).subspan(facts.ledger.size() - ledger::kLedgerRecordBytes - 32, 32);
  std::ranges::copy(head, facts.ledger_end.head.begin());
  EXPECT_THAT(Complaint(facts), HasSubstr("the record's head is that of 4"));
}

TEST(AuditTest, WithoutAChargeThereIsNothingToAudit) {
  AuditFacts facts = FactsForTest();
  facts.rounds.clear();
  facts.finished = false;
  WriteLedgerOf(*agreement::Manifest::Create(SmallAgreement()), facts);
  EXPECT_EQ(Complaint(facts), "the ledger: nothing was charged to it");
}

TEST(AuditTest, AnotherAgreementIsNamed) {
  agreement::ManifestSpec louder = SmallAgreement();
  louder.sampling.min_participants = 6;
  louder.mechanism.noise_stddev = 9;
  AuditFacts facts = FactsForTest();
  facts.agreements = {agreement::AgreementBytes(louder)};
  EXPECT_THAT(Complaint(facts), HasSubstr("which the record does not have"));
  facts.manifests.front().agreement = crypto::Sha256(facts.agreements.front());
  EXPECT_THAT(Complaint(facts), HasSubstr("the manifest hash is"));
  facts.manifests.front().members.reset();
  EXPECT_THAT(Complaint(facts), HasSubstr("the ledger: charge 1: is for the federation"));
  facts = FactsForTest();
  facts.manifests.front().members->front().signing_key[0] ^= 1;
  EXPECT_THAT(Complaint(facts), HasSubstr("the manifest hash is"));
  facts = FactsForTest();
  facts.agreements.front().pop_back();
  EXPECT_THAT(Complaint(facts),
              StartsWith("the agreement: manifest: field `max_participations` is cut short"));
  // Charged at a noise that was not agreed.
  facts = FactsForTest();
  WriteLedgerOf({*agreement::Manifest::Create(SmallAgreement())}, facts,
                [](ledger::LedgerEntry& entry) { entry.event.noise_stddev *= 1.5; });
  EXPECT_EQ(Complaint(facts),
            fmt::format("the ledger: charge 1: is for (fixed-size replace-one, noise {}, clip norm "
                        "1, rate 1), by the agreement it is (fixed-size replace-one, noise {}, "
                        "clip norm 1, rate 1)",
                        6 * std::sqrt(5 / 6.0) * 1.5, 6 * std::sqrt(5 / 6.0)));
}

double WorstOf(const JsonValue& record) {
  return *record.Find("privacy")->Find("worst")->Find("epsilon")->AsDouble();
}

TEST(AuditTest, ChangedTermsAreAllInTheRecord) {
  const AuditFacts facts = ChangedFactsForTest();
  const JsonValue record = RecordOf(facts);
  EXPECT_EQ(RecordOf(*FactsOfRecord(record)).Dump(), record.Dump());
  const auto file = ReadAuditFile(Resigned(record));
  ASSERT_OK_AND_ASSIGN(const auto verified,
                       VerifyAudit(*file, crypto::KeyFingerprint(KeyForTest(1).public_key())));
  EXPECT_THAT(verified.notes,
              ::testing::ElementsAre("the released model is attested by 1 of 5 members",
                                     "members or terms changed in mid-run: attempts were charged "
                                     "under 2 agreements"));
  EXPECT_EQ(*record.Find("members")->Find("count")->AsUint(), 5u);
  ASSERT_EQ(record.Find("earlier_terms")->items().size(), 1u);
  const JsonValue& earlier = record.Find("earlier_terms")->items().front();
  EXPECT_EQ(*earlier.Find("members")->AsUint(), 4u);
  EXPECT_EQ(*earlier.Find("charged_attempts")->AsUint(), 1u);
  EXPECT_EQ(*earlier.Find("mechanism")->Find("min_participants")->AsUint(), 4u);
  EXPECT_EQ(record.Find("agreement")->Find("manifests")->items().size(), 3u);
  // Above what all charges would cost among five, and at most what they would among four.
  const std::vector<agreement::Manifest> manifests = ChangedManifestsForTest();
  const uint64_t charges = verified.run.charges();
  EXPECT_EQ(charges, 4u);
  const uint64_t permitted = manifests[0].attempt_budget();
  EXPECT_EQ(*record.Find("privacy")->Find("permitted_attempts")->AsUint(), permitted);
  EXPECT_GT(WorstOf(record), agreement::GuaranteesOf(manifests[0], permitted)->epsilon());
  EXPECT_LE(WorstOf(record), agreement::GuaranteesOf(manifests[1], permitted)->epsilon());
  // The member tells the same while the training continues.
  EXPECT_EQ(*record.Find("privacy")->Find("charged_epsilon")->AsDouble(),
            *agreement::ChargedEpsilon(verified.run.terms));
}

// The holder of the key alters a record of changed terms, in favour of the milder ones.
TEST(AuditTest, TheMilderTermsDoNotTakeTheOthersCharges) {
  const std::vector<agreement::Manifest> manifests = ChangedManifestsForTest();
  const AuditFacts honest = ChangedFactsForTest();
  // The charge among four sites is moved to the manifest of five.
  AuditFacts facts = honest;
  WriteLedgerOf({manifests[0], manifests[0], manifests[2]}, facts);
  facts.agreements.erase(facts.agreements.begin());
  facts.manifests.erase(facts.manifests.begin() + 1);
  facts.rounds[1].participants = 5;
  EXPECT_THAT(Complaint(facts), AllOf(StartsWith("the ledger: manifest "),
                                      HasSubstr("was charged in the epochs 0 and 1")));
  // One of two charges among four.
  const auto move_first = [&](ledger::LedgerEntry& entry) {
    if (entry.label.number.epoch != 1 || entry.label.number.attempt != 0) return;
    entry.label.manifest_hash = manifests[0].hash();
    entry.event = agreement::ChargedEvent(manifests[0].spec());
  };
  facts = honest;
  facts.rounds[1].attempts[0].epoch = 1;
  facts.rounds[1].attempts[1].attempt = 1;
  WriteLedgerOf(manifests, facts);
  EXPECT_TRUE(CheckFacts(facts).ok());
  WriteLedgerOf(manifests, facts, move_first);
  EXPECT_THAT(Complaint(facts), HasSubstr("the ledger: epoch 1 was charged under the manifests "));
  // It stays under its manifest, at the price among five.
  facts = honest;
  WriteLedgerOf(manifests, facts, [&](ledger::LedgerEntry& entry) {
    entry.event = agreement::ChargedEvent(manifests[0].spec());
  });
  EXPECT_THAT(Complaint(facts), AllOf(StartsWith("the ledger: charge 3: is for ("),
                                      HasSubstr("by the agreement it is (")));
  // The epoch among four had more noise, says the record.
  facts = honest;
  agreement::ManifestSpec louder = manifests[1].spec();
  louder.mechanism.noise_stddev *= 1.1;
  ASSERT_OK_AND_ASSIGN(const auto milder, agreement::Manifest::Create(louder));
  WriteLedgerOf({manifests[0], milder, manifests[2]}, facts);
  facts.manifests[1].hash = milder.hash();
  EXPECT_THAT(Complaint(facts), HasSubstr("the manifest hash is"));
  facts.manifests[1].agreement = milder.agreement();
  EXPECT_THAT(Complaint(facts), AllOf(StartsWith("manifest "), HasSubstr("is of the agreement"),
                                      HasSubstr("which the record does not have")));
  // The agreement with more noise in place of the one that was signed.
  facts = honest;
  facts.agreements[0] = agreement::AgreementBytes(louder);
  facts.manifests[1].agreement = milder.agreement();
  EXPECT_THAT(Complaint(facts), HasSubstr("the manifest hash is"));
  // Without the members' keys nobody could tell.
  facts.manifests[1].members.reset();
  EXPECT_THAT(Complaint(facts), HasSubstr("is without its members' keys, which a member has"));
  // The manifest of four is said to be one of five.
  facts = honest;
  facts.manifests[1].agreement = manifests[0].agreement();
  EXPECT_THAT(Complaint(facts), HasSubstr("has 4 members, the agreement 5"));
}

TEST(AuditTest, NoTermsAreLeftOutOrMadeUp) {
  const std::vector<agreement::Manifest> manifests = ChangedManifestsForTest();
  const AuditFacts honest = ChangedFactsForTest();
  AuditFacts facts = honest;
  facts.agreements.erase(facts.agreements.begin());
  EXPECT_THAT(Complaint(facts), HasSubstr("which the record does not have"));
  facts.manifests.erase(facts.manifests.begin() + 1);
  EXPECT_THAT(Complaint(facts), AllOf(StartsWith("the ledger: charge 3: is for the manifest"),
                                      HasSubstr("which the record does not have")));
  facts = honest;
  std::swap(facts.agreements[0], facts.agreements[1]);
  EXPECT_EQ(Complaint(facts), "the ledger: the last charge is not under the last agreement");
  facts = honest;
  facts.agreements.insert(
      facts.agreements.begin(),
      agreement::AgreementBytes(agreement::Manifest::Create(SitesAgreement(0, 6))->spec()));
  EXPECT_THAT(Complaint(facts), StartsWith("the agreement: nothing was charged under"));
  facts = honest;
  facts.agreements.insert(facts.agreements.begin(), facts.agreements[0]);
  EXPECT_THAT(Complaint(facts), HasSubstr("is there twice"));
  facts = honest;
  facts.manifests.push_back(facts.manifests[0]);
  EXPECT_THAT(Complaint(facts), HasSubstr("is there twice"));
  facts = honest;
  facts.agreements.clear();
  EXPECT_EQ(Complaint(facts), "the record has 0 agreements, expected 1 to 256");
  // A sum of five in an epoch of four.
  facts = honest;
  facts.rounds[1].participants = 5;
  EXPECT_EQ(Complaint(facts), "round 1 has 5 participants, the agreement allows 4 to 4");
}

TEST(AuditTest, AllTermsAreOfOneTraining) {
  const auto complaint = [](auto change) {
    std::vector<agreement::Manifest> manifests = ChangedManifestsForTest();
    agreement::ManifestSpec other = manifests[1].spec();
    change(other);
    auto planned = base::ValueOf(agreement::Manifest::Create(other));
    manifests[1] = std::move(planned);
    return Complaint(ChangedFactsForTest(manifests));
  };
  EXPECT_THAT(complaint([](auto& spec) { spec.federation = {8}; }),
              HasSubstr("is of another federation or training than"));
  EXPECT_THAT(complaint([](auto& spec) { spec.training = 1; }),
              HasSubstr("is of another federation or training than"));
  EXPECT_THAT(complaint([](auto& spec) { spec.dimension = 61; }),
              HasSubstr("are not of one training: it trains another model than before"));
  EXPECT_THAT(complaint([](auto& spec) { spec.privacy.delta = 1e-4; }),
              HasSubstr("privacy.delta is 1e-05, and it was 0.0001 before"));
  EXPECT_THAT(
      complaint([](auto& spec) { spec.privacy.neighbouring = accounting::Neighbouring::kZeroOut; }),
      HasSubstr("privacy.neighbouring is replace-one"));
  // A simulation has one agreement, whatever it is said to be part of.
  AuditFacts facts = ChangedFactsForTest();
  facts.kind = RunKind::kSimulation;
  facts.member.reset();
  EXPECT_FALSE(CheckFacts(facts).ok());
}

TEST(AuditTest, FiguresOfChangedTermsAreComputedAgain) {
  const JsonValue record = RecordOf(ChangedFactsForTest());
  const std::string worst = fmt::format("\"epsilon\":{}", WorstOf(record));
  const agreement::Manifest present = ChangedManifestsForTest()[0];
  const double milder = agreement::GuaranteesOf(present, present.attempt_budget())->epsilon();
  ASSERT_LT(milder, WorstOf(record));
  EXPECT_THAT(Refusal(Resigned(Altered(record, worst, fmt::format("\"epsilon\":{}", milder)))),
              HasSubstr("`epsilon`: the record says "));
  EXPECT_THAT(Refusal(Resigned(Altered(record, "\"charged_attempts\":1,\"members\":4",
                                       "\"charged_attempts\":0,\"members\":4"))),
              HasSubstr("`charged_attempts`: the record says 0, the events give 1"));
  EXPECT_THAT(Refusal(Resigned(Altered(record, "\"members\":4", "\"members\":5"))),
              HasSubstr("the events give 4"));
}

// Its data were in none of the rounds before.
TEST(AuditTest, AMemberThatCameLaterHasNoAttemptsBefore) {
  const std::vector<agreement::Manifest> manifests = ChangedManifestsForTest();
  AuditFacts facts = ChangedFactsForTest();
  facts.rounds[0] = {.round = 0, .sum_not_seen = true};
  facts.rounds[1].attempts.erase(facts.rounds[1].attempts.begin());
  facts.manifests.erase(facts.manifests.begin());
  WriteLedgerOf(manifests, facts);
  facts.rounds[2].model_epoch = 1;
  facts.attestations = {AttestationForTest(facts, 2, 3, ModelForTest(3))};
  const JsonValue record = RecordOf(facts);
  EXPECT_EQ(*record.Find("run")->Find("first_round")->AsUint(), 1u);
  EXPECT_THAT(*record.Find("run")->Find("statement")->AsString(),
              HasSubstr("It came after 1 rounds"));
  const auto file = ReadAuditFile(Resigned(record));
  ASSERT_OK_AND_ASSIGN(const auto verified, VerifyAudit(*file, ""));
  EXPECT_THAT(verified.notes, ::testing::Contains(HasSubstr("it came after 1 rounds")));

  // Nobody comes later than the epoch with which a training begins, and within an epoch a member
  // catches up.
  facts = ChangedFactsForTest();
  facts.rounds[0] = {.round = 0, .sum_not_seen = true};
  WriteLedgerOf(manifests, facts);
  EXPECT_EQ(Complaint(facts), "round 0 has no attempt");
  facts = MemberFactsForTest();
  facts.rounds[1].attempts.clear();
  facts.rounds[2].attempts.erase(facts.rounds[2].attempts.begin() + 1);
  facts.rounds[2].attempts[0].outcome = AttemptOutcome::kDecrypted;
  EXPECT_EQ(Complaint(facts), "round 1 has no attempt");
  facts = ChangedFactsForTest();
  facts.rounds[2] = {.round = 2, .sum_not_seen = true};
  EXPECT_EQ(Complaint(facts), "round 2 has no attempt");
}

TEST(AuditTest, TheLedgersBudgetIsTheAgreements) {
  agreement::ManifestSpec agreement = SmallAgreement();
  agreement.privacy.budget_epsilon = 9;
  EXPECT_EQ(Complaint(FactsForTest(agreement)),
            "the ledger: its budget is 0, the agreement's is 9");
}

TEST(AuditTest, ALabelledRunGuaranteesNothing) {
  AuditFacts facts = FactsForTest();
  facts.labels = {"insecure-seed"};
  const JsonValue record = RecordOf(facts);
  EXPECT_TRUE(record.Find("privacy")->Find("headlines")->items().empty());
  for (const JsonValue& row : record.Find("privacy")->Find("accountants")->items()) {
    EXPECT_TRUE(row.Find("epsilon")->is_null());
    EXPECT_THAT(*row.Find("reason")->AsString(), HasSubstr("labelled insecure-seed"));
  }
  EXPECT_EQ(Refusal(Resigned(record)), "");
  // Without the label the figures are missing.
  EXPECT_THAT(Refusal(Resigned(Altered(record, "[\"insecure-seed\"]", "[]"))),
              HasSubstr("the events give"));
  facts.labels = {"harmless"};
  EXPECT_EQ(Complaint(facts), "the label \"harmless\" is unknown");
  facts.labels = {"no-noise"};
  EXPECT_THAT(Complaint(facts), HasSubstr("not one without noise"));
}

TEST(AuditTest, AFileOfAnotherLayoutIsRefused) {
  const std::string text = Resigned(RecordOf(FactsForTest()));
  EXPECT_THAT(Refusal(""), HasSubstr("does not begin with a record"));
  EXPECT_THAT(Refusal(text.substr(0, text.size() - 1)), HasSubstr("its end is missing"));
  EXPECT_THAT(Refusal("{\n\"record\": {}\n}\n"), HasSubstr("no signature"));
  EXPECT_THAT(Refusal(Replaced(text, "ed25519", "none")), HasSubstr("algorithm is \"none\""));
  EXPECT_THAT(Refusal(Replaced(text, "\"fingerprint\": \"", "\"fingerprint\": \"0")),
              HasSubstr("not that of its key"));
  EXPECT_THAT(Refusal(Replaced(text, "\"version\": 5,", "\"version\": 4,")),
              HasSubstr("version 4, expected"));
  EXPECT_THAT(Refusal(Replaced(text, "\"head\": \"", "\"head\": \"zz")),
              AllOf(StartsWith("ledger: member `head`"), HasSubstr("hexadecimal")));
}

// A query in a simulation, answered in one round.
AuditFacts QueryFacts() {
  agreement::ManifestSpec agreement = RecordAgreement();
  const std::string agreed = "[query]\ntext = \"floor = 2\"\n";
  agreement.model = agreement::kQueryModel;
  agreement.rounds = 1;
  agreement.annex = crypto::Sha256(base::AsBytes(agreed));
  AuditFacts facts = FactsForTest(agreement);
  facts.result.reset();
  facts.rounds.resize(1);
  WriteLedgerOf(*agreement::Manifest::Create(agreement), facts);
  facts.released_model = ModelForTest(1);
  facts.query = AuditedQuery{.agreed = agreed,
                             .text = crypto::Sha256(base::AsBytes("floor = 2")),
                             .answers = *JsonValue::Parse(R"({"floor": 2})")};
  return facts;
}

TEST(AuditTest, AQueryIsTheOneThatWasAgreed) {
  const JsonValue record = RecordOf(QueryFacts());
  EXPECT_EQ(Refusal(Resigned(record)), "");
  EXPECT_THAT(Refusal(Resigned(Altered(record, "floor = 2", "floor = 1"))),
              AllOf(HasSubstr("the query's text has the digest"), HasSubstr("it was changed")));
  AuditFacts facts = QueryFacts();
  facts.query.reset();
  EXPECT_THAT(Complaint(facts), HasSubstr("answered a query, but its answers are missing"));
  facts = QueryFacts();
  facts.finished = false;
  facts.released_model.reset();
  EXPECT_THAT(Complaint(facts), HasSubstr("answered no query, but its answers are there"));
  // A training has none.
  facts = FactsForTest();
  facts.query = QueryFacts().query;
  EXPECT_THAT(Complaint(facts), HasSubstr("answered no query"));
  // A simulation is not told as a live federation, although its agreement has an annex.
  facts = QueryFacts();
  facts.kind = RunKind::kMember;
  facts.member = 1;
  EXPECT_THAT(Complaint(facts), HasSubstr("its agreement is that of a simulation"));
  EXPECT_THAT(Refusal(Resigned(Altered(record, R"("answers":{"floor":2})", R"("answers":[])"))),
              HasSubstr("`answers` is no object"));
}

// The holder of the key may change any number of a query's answers, however small it is.
TEST(AuditTest, ChangedCovariancesAndTestsDoNotFollowFromTheSum) {
  const std::string computed =
      R"({"questions":[{"covariance":[[0.04,-2e-09],[-2e-09,9e-16]],"estimates":[{"value":1e-3}]}]})";
  const auto refusal = [&computed](const std::string& what, const std::string& by) {
    const JsonValue told = base::ValueOf(JsonValue::Parse(Replaced(computed, what, by)));
    return base::Message(CompareAnswers(told, base::ValueOf(JsonValue::Parse(computed))));
  };
  EXPECT_EQ(refusal("-2e-09", "-2.000000001e-09"), "");
  EXPECT_THAT(refusal("[-2e-09", "[2e-09"), HasSubstr("the released sum gives -2e-09"));
  EXPECT_THAT(refusal("9e-16", "9e-14"), HasSubstr("the released sum gives 9e-16"));
  EXPECT_THAT(refusal("9e-16", "null"), HasSubstr("the released sum gives 9e-16"));
  EXPECT_THAT(refusal("0.04", "0.0401"), HasSubstr("the released sum gives 0.04"));
  EXPECT_THAT(refusal("[-2e-09,9e-16]", "[-2e-09]"), HasSubstr("has 1 elements"));
  EXPECT_THAT(refusal("1e-3", "1.1e-3"), HasSubstr("the released sum gives"));
  EXPECT_THAT(refusal(R"("covariance":[[0.04,-2e-09],[-2e-09,9e-16]],)", ""),
              HasSubstr("`covariance` is missing"));
}

}  // namespace
}  // namespace tacet::audit
