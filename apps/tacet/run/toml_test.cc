#include "apps/tacet/run/toml.h"

#include "gtest/gtest.h"

namespace tacet::app::run {
namespace {

TEST(TomlTextTest, StringsComeBackWhateverIsInThem) {
  for (const std::string text : {"", "plain", "a \"quoted\" \\ path", "line\nfeed and \t tab",
                                 "/data/Zürich/año 2", "数据/🩺", "\x01\x7f"}) {
    const std::string document = "key = " + TomlText(text) + "\n";
    for (const char c : document) EXPECT_LT(static_cast<unsigned char>(c), 0x80) << text;
    const auto parsed = ParseToml(document, "test");
    ASSERT_TRUE(parsed.ok()) << parsed.status() << " " << document;
    EXPECT_EQ(*parsed->Find("key")->AsString(), text);
  }
}

TEST(TomlTextTest, BytesThatAreNotUtf8BecomeQuestionMarks) {
  EXPECT_EQ(TomlText(std::string("a\xff"
                                 "b")),
            "\"a?b\"");
  EXPECT_EQ(TomlText(std::string("cut \xe2\x82")), "\"cut ??\"");
  EXPECT_EQ(TomlText(std::string("\xed\xa0\x80")), "\"???\"");  // a surrogate
}

TEST(TomlTextTest, NumbersAndListsComeBack) {
  const std::vector<uint64_t> list = {1, 2, 30};
  const auto parsed = ParseToml("a = " + TomlText(1e-4) + "\nb = " + TomlText(2.0) +
                                    "\nc = " + TomlText(uint64_t{7}) + "\nd = " + TomlText(true) +
                                    "\ne = " + TomlText(list) + "\n",
                                "test");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(*parsed->Find("a")->AsDouble(), 1e-4);
  EXPECT_EQ(*parsed->Find("b")->AsDouble(), 2.0);
  EXPECT_EQ(*parsed->Find("c")->AsUint(), 7u);
  EXPECT_EQ(*parsed->Find("d")->AsBool(), true);
  ASSERT_EQ(parsed->Find("e")->items().size(), 3u);
  EXPECT_EQ(*parsed->Find("e")->items()[2].AsUint(), 30u);
}

}  // namespace
}  // namespace tacet::app::run
