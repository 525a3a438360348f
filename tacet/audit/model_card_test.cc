#include "tacet/audit/model_card.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/audit/audit_for_test.h"
#include "tacet/audit/audit_record.h"
#include "tacet/base/status_for_test.h"

namespace tacet::audit {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string CardOf(AuditFacts facts, std::string_view explanation = "") {
  const auto run = base::ValueOf(CheckFacts(std::move(facts)));
  const auto guarantees = base::ValueOf(AuditedGuarantees(run));
  const auto charged = base::ValueOf(ChargedEpsilonOf(run));
  return ModelCard(run, guarantees, charged, explanation, "audit.json");
}

TEST(ModelCardTest, SaysWhatWasTrainedAndHowToVerify) {
  const std::string card = CardOf(FactsForTest(), "In words\nIt is so.\n");
  EXPECT_THAT(card, HasSubstr("# Model card: `logistic`"));
  EXPECT_THAT(card, HasSubstr("3 of 3 rounds"));
  EXPECT_THAT(card, HasSubstr("**Epsilon is 3.787**"));
  EXPECT_THAT(card, HasSubstr("It covers all 7 attempts that the agreement permits:"));
  EXPECT_THAT(card,
              HasSubstr("5 attempts were charged so far. Their epsilon is 3.125: a forecast"));
  EXPECT_THAT(card, HasSubstr("| external | "));
  EXPECT_THAT(card, HasSubstr("| coalition | 3.787 | "));
  EXPECT_THAT(card, HasSubstr("### In words\n\nIt is so.\n"));
  EXPECT_THAT(card, HasSubstr("tacet audit verify audit.json"));
  EXPECT_THAT(card, HasSubstr(crypto::KeyFingerprint(KeyForTest(1).public_key())));
  EXPECT_THAT(card, Not(HasSubstr("No guarantee")));
  EXPECT_THAT(card, Not(HasSubstr("holder of the epoch key decrypts single updates")));
}

TEST(ModelCardTest, LabelsComeFirstAndUnfinishedRunsSaySo) {
  AuditFacts facts = FactsForTest();
  facts.labels = {"insecure-seed"};
  facts.finished = false;
  facts.released_model.reset();
  const std::string card = CardOf(std::move(facts));
  EXPECT_LT(card.find("labelled insecure-seed"), card.find("## What was trained"));
  EXPECT_THAT(card, HasSubstr("| external | none | | |"));
  EXPECT_THAT(card, HasSubstr("**unfinished**"));
  EXPECT_THAT(card, HasSubstr("f + 1 committee members decrypts single updates"));
}

TEST(ModelCardTest, NamesAreNoMarkup) {
  agreement::ManifestSpec agreement = SmallAgreement();
  agreement.model = "x`\n# <b>|";
  EXPECT_THAT(CardOf(FactsForTest(agreement)), HasSubstr("# Model card: `x??# <b>?`\n"));
}

}  // namespace
}  // namespace tacet::audit
