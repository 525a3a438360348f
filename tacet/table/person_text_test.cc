#include "tacet/table/person_text.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace tacet::table {
namespace {

TEST(PersonTextTest, SpellingsOfOnePersonHaveOneKey) {
  const std::vector<std::vector<std::string>> persons = {
      {"1007", "00001007", "1007.0", "1007.", "01007.000", "1007,0", " 1007\t",
       "\xC2\xA0"
       "1007",
       "1007\xEF\xBB\xBF",
       "\xE2\x80\x8B"
       "1007"},
      {"M\xC3\xBCller J\xC3\xB6rg", "Mu\xCC\x88ller Jo\xCC\x88rg", "M\xC3\xBCller  J\xC3\xB6rg",
       "M\xC3\xBC\xC2\xADller\xC2\xA0J\xC3\xB6rg "},
      // A ring above and a dot below, in both orders.
      {"a\xCC\x8A\xCC\xA3", "a\xCC\xA3\xCC\x8A"},
      {"0", "000", "0.0"},
      {"P-1007"},
      {"P-01007"},
      {"1007.5"},
      {"1007.05"},
      {"1.007.0"},
      {"-1007"},
      {"1007 a"},
      {"1007a"},
      {"muller jorg"},
  };
  for (size_t person = 0; person < persons.size(); ++person) {
    const std::string key = PersonKey(persons[person][0]);
    EXPECT_EQ(PersonKey(key), key);
    for (const std::string& spelling : persons[person]) EXPECT_EQ(PersonKey(spelling), key);
    for (size_t other = 0; other < person; ++other) {
      EXPECT_NE(PersonKey(persons[other][0]), key) << persons[person][0];
    }
  }
}

TEST(PersonTextTest, NothingVisibleIsNobody) {
  for (const char* text : {"", " ", "\t \xC2\xA0", "\xE2\x80\x8B", "\xEF\xBB\xBF\n"}) {
    EXPECT_EQ(PersonKey(text), "") << text;
  }
}

TEST(PersonTextTest, OtherBytesAreComparedAsTheyAre) {
  EXPECT_EQ(PersonKey("M\xFCller"), "M\xFCller");
  EXPECT_NE(PersonKey("M\xFCller"), PersonKey("M\xC3\xBCller"));
}

TEST(PersonTextTest, LookAlikesAreNamed) {
  const std::vector<std::string> alike = {
      "P-1007", "x", "p01007", "P 1008", "y", "M\xC3\xBCller", "\xEF\xBC\xADuller", "?"};
  const LookAlikes found = FindLookAlikes(alike);
  EXPECT_EQ(found.persons, 4u);
  EXPECT_EQ(found.examples,
            "\"M\xC3\xBCller\" and \"\xEF\xBC\xADuller\"; \"P-1007\" and \"p01007\"");
  EXPECT_EQ(FindLookAlikes(alike, 1).examples, "\"M\xC3\xBCller\" and \"\xEF\xBC\xADuller\"");
  EXPECT_EQ(LookAlikesWarning(alike).find("4 persons look like another one, such as \"M"), 0u);
  const std::vector<std::string> apart = {"P-1007", "P-1070", "P-107", "a", "b", "-", "?"};
  EXPECT_EQ(LookAlikesWarning(apart), "");
}

}  // namespace
}  // namespace tacet::table
