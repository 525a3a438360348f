#include "tacet/audit/bill_of_materials.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/audit/audit_for_test.h"
#include "tacet/base/status_for_test.h"

namespace tacet::audit {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(BillOfMaterialsTest, HasTheModelItsGuaranteeAndEveryLibrary) {
  const AuditedRun run = base::ValueOf(CheckFacts(FactsForTest()));
  ASSERT_OK_AND_ASSIGN(const base::JsonValue bill, BillOfMaterials(run));
  EXPECT_EQ(bill.Find("components")->items().size(), run.facts.dependencies.size());
  const std::string text = bill.Dump(2);
  EXPECT_THAT(text, HasSubstr("\"machine-learning-model\""));
  EXPECT_THAT(bill.Dump(), HasSubstr("{\"name\":\"tacet:epsilon\",\"value\":\"3.787\"}"));
  ASSERT_OK_AND_ASSIGN(const auto added, CheckBillOfMaterials(text, run));
  EXPECT_THAT(added, IsEmpty());
}

// Each value, one after the other, in an object, a list and a text.
TEST(BillOfMaterialsTest, WhatDiffersIsNamedAndWhatIsAddedIsToo) {
  const AuditedRun run = base::ValueOf(CheckFacts(FactsForTest()));
  ASSERT_OK_AND_ASSIGN(const base::JsonValue bill, BillOfMaterials(run));
  const std::string text = bill.Dump();
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    const size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return CheckBillOfMaterials(changed.replace(at, from.size(), to), run);
  };
  EXPECT_THAT(base::Message(with("\"3.787\"", "\"0.787\"").status()),
              HasSubstr("`metadata.component.properties[0].value` of the bill is \"0.787\", the "
                        "record gives \"3.787\""));
  EXPECT_THAT(base::Message(with("\"bomFormat\"", "\"format\"").status()),
              HasSubstr("the bill lacks `bomFormat`"));
  EXPECT_THAT(base::Message(with("\"components\":[{\"type\":\"library\"",
                                 "\"components\":[{\"type\":\"file\"")
                                .status()),
              HasSubstr("`components[0].type`"));
  ASSERT_OK_AND_ASSIGN(const auto added,
                       with("\"specVersion\"", "\"supplier\":\"us\",\"specVersion\""));
  EXPECT_THAT(added, ElementsAre("supplier"));
  EXPECT_FALSE(CheckBillOfMaterials("[]", run).ok());
  EXPECT_FALSE(CheckBillOfMaterials("{", run).ok());
}

}  // namespace
}  // namespace tacet::audit
