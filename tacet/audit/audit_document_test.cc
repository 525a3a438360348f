#include "tacet/audit/audit_document.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/accounting/guarantee_in_words.h"
#include "tacet/accounting/guarantee_limits.h"
#include "tacet/audit/audit_for_test.h"
#include "tacet/audit/audit_record.h"
#include "tacet/audit/model_card.h"
#include "tacet/base/status_for_test.h"

namespace tacet::audit {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

AuditedRun AuditedFor(AuditFacts facts = FactsForTest()) {
  return base::ValueOf(CheckFacts(std::move(facts)));
}

constexpr std::array kInMarkdown = {DocumentKind::kImpactAssessment,
                                    DocumentKind::kTechnicalDocumentation, DocumentKind::kRegistry};

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(AuditDocumentTest, EachKindStatesTheFiguresAndAsksForTheRest) {
  const AuditedRun run = AuditedFor();
  for (const DocumentKind kind : kInMarkdown) {
    SCOPED_TRACE(DocumentKindName(kind));
    EXPECT_EQ(*ParseDocumentKind(DocumentKindName(kind)), kind);
    ASSERT_OK_AND_ASSIGN(const std::string text, AuditDocument(kind, run));
    // As the model card and the record have it.
    EXPECT_THAT(text, HasSubstr("Guarantee: epsilon 3.787 at delta 1e-05"));
    EXPECT_THAT(text, HasSubstr("Charged: 5 attempts, a forecast of epsilon 3.12"));
    EXPECT_THAT(text, HasSubstr("Rounds: 3 of 3\n"));
    EXPECT_THAT(text, HasSubstr("nobody outside of the project has examined"));
    ASSERT_OK_AND_ASSIGN(const CheckedDocument checked, CheckDocument(text, run));
    EXPECT_EQ(checked.kind, kind);
    EXPECT_EQ(checked.filled, 0u);
    EXPECT_GE(checked.open.size(), 5u);
    EXPECT_THAT(checked.others, IsEmpty());
  }
  EXPECT_FALSE(ParseDocumentKind("pia").ok());
}

// `--explain`, `show`, cards and documents name what is not guaranteed, for agreements whose limits
// differ: one list, word for word. SECURITY.md's is guarantee_limits_test.cc's.
TEST(AuditDocumentTest, EveryPlaceHasTheSameLimits) {
  for (const agreement::ManifestSpec& agreement : {SmallAgreement(), RecordAgreement()}) {
    const AuditedRun run = AuditedFor(FactsForTest(agreement));
    const auto federation = agreement::PrivacyOf(run.agreed(), 1);
    const std::vector<std::string> limits = accounting::LimitsOf(federation);
    ASSERT_GT(limits.size(), 5u);
    const auto guarantees = base::ValueOf(AuditedGuarantees(run));
    const auto statement = base::ValueOf(accounting::StatePrivacy(federation, guarantees));
    const std::string explained = accounting::StatementText(statement);
    const auto charged = base::ValueOf(ChargedEpsilonOf(run));
    std::map<std::string, std::string> places = {
        {"statement", explained},
        {"card", ModelCard(run, guarantees, charged, "", "a")},
        {"explained card", ModelCard(run, guarantees, charged, explained, "a")}};
    for (const DocumentKind kind : kInMarkdown) {
      places[std::string(DocumentKindName(kind))] = base::ValueOf(AuditDocument(kind, run));
    }
    for (const accounting::GuaranteeLimit& limit : accounting::GuaranteeLimits()) {
      const bool applies = std::ranges::count(limits, limit.text) == 1;
      for (const auto& [place, text] : places) {
        const size_t found = text.find(limit.text);
        EXPECT_EQ(found != text.npos, applies) << place << ": " << limit.text;
        if (!applies) continue;
        EXPECT_EQ(text.find(limit.text, found + 1), text.npos) << place;
      }
    }
    for (const auto& [place, text] : places) {
      if (place.ends_with("card") || place == "statement") continue;
      EXPECT_THAT(CheckDocument(text, run)->others, IsEmpty());
    }
  }
}

TEST(AuditDocumentTest, PeopleFillInFieldsAndAddLines) {
  const AuditedRun run = AuditedFor();
  ASSERT_OK_AND_ASSIGN(std::string text, AuditDocument(DocumentKind::kRegistry, run));
  ASSERT_OK_AND_ASSIGN(const CheckedDocument before, CheckDocument(text, run));
  text = Replaced(text, "- Curator, and contact: ______", "- Curator, and contact: the university");
  text += "- Guarantee: epsilon 0.1, says the brochure\n";
  ASSERT_OK_AND_ASSIGN(const CheckedDocument after, CheckDocument(text, run));
  EXPECT_EQ(after.filled, 1u);
  EXPECT_EQ(after.open.size() + 1, before.open.size());
  EXPECT_THAT(after.open, Not(testing::Contains("Curator, and contact")));
  // A figure that somebody added is named as nobody's.
  EXPECT_THAT(after.others, ElementsAre("- Guarantee: epsilon 0.1, says the brochure"));
}

// Each line with a digit, changed by one.
TEST(AuditDocumentTest, EveryFigureIsComputedAgain) {
  const AuditedRun run = AuditedFor();
  for (const DocumentKind kind : kInMarkdown) {
    ASSERT_OK_AND_ASSIGN(const std::string text, AuditDocument(kind, run));
    for (size_t at = 0; at < text.size(); ++at) {
      if (text[at] < '0' || text[at] > '9') continue;
      const size_t line = text.rfind('\n', at) + 1;
      if (text.substr(line, text.find('\n', at) - line).ends_with(kToFillIn)) continue;
      std::string altered = text;
      altered[at] = text[at] == '9' ? '0' : static_cast<char>(text[at] + 1);
      EXPECT_EQ(CheckDocument(altered, run).status().code(), absl::StatusCode::kDataLoss)
          << text.substr(line, text.find('\n', at) - line);
      at = text.find('\n', at);  // one a line
    }
  }
}

TEST(AuditDocumentTest, ABillIsADocumentInJson) {
  const AuditedRun run = AuditedFor();
  EXPECT_EQ(DocumentFile(DocumentKind::kBillOfMaterials), "cyclonedx.json");
  EXPECT_EQ(DocumentFile(DocumentKind::kRegistry), "registry.md");
  ASSERT_OK_AND_ASSIGN(std::string text, AuditDocument(DocumentKind::kBillOfMaterials, run));
  ASSERT_OK_AND_ASSIGN(const CheckedDocument checked, CheckDocument(text, run));
  EXPECT_EQ(checked.kind, DocumentKind::kBillOfMaterials);
  EXPECT_THAT(checked.others, IsEmpty());
  EXPECT_THAT(base::Message(CheckDocument(Replaced(text, "3.787", "3.7"), run).status()),
              HasSubstr("the record gives \"3.787\""));
}

TEST(AuditDocumentTest, ALineThatIsGoneIsNamed) {
  const AuditedRun run = AuditedFor();
  ASSERT_OK_AND_ASSIGN(const std::string text, AuditDocument(DocumentKind::kImpactAssessment, run));
  const std::string gone = "- Colluding members tolerated: 0\n";
  EXPECT_THAT(base::Message(CheckDocument(Replaced(text, gone, ""), run).status()),
              HasSubstr("\"- Colluding members tolerated: 0\", which the document lacks"));
  EXPECT_FALSE(CheckDocument("", run).ok());
  EXPECT_FALSE(CheckDocument("# Something else\n", run).ok());
}

TEST(AuditDocumentTest, ALabelledRunHasNoGuarantee) {
  AuditFacts facts = FactsForTest();
  facts.labels = {"insecure-seed"};
  ASSERT_OK_AND_ASSIGN(const std::string text, AuditDocument(DocumentKind::kImpactAssessment,
                                                             AuditedFor(std::move(facts))));
  EXPECT_THAT(text, HasSubstr("- Guarantee: none: this run protects nobody"));
  EXPECT_THAT(text, HasSubstr("a forecast of epsilon without a bound"));
}

TEST(AuditDocumentTest, NamesAreNoMarkup) {
  agreement::ManifestSpec agreement = SmallAgreement();
  agreement.model = "x`\n# <b>|";
  ASSERT_OK_AND_ASSIGN(const std::string text,
                       AuditDocument(DocumentKind::kRegistry, AuditedFor(FactsForTest(agreement))));
  EXPECT_THAT(text, HasSubstr("- Model or query: x??# <b>?\n"));
}

}  // namespace
}  // namespace tacet::audit
