#include "tacet/config/toml.h"

#include <string>
#include <string_view>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"

namespace tacet::config {
namespace {

using ::testing::HasSubstr;

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

TEST(TomlTest, ReadsUtf8WithAndWithoutAByteOrderMark) {
  const std::string document =
      "# Zürich\n"
      "basic = \"Männer|\\u00e4\\\\ \\\"ü\\\"\"  # größer\n"
      "literal = 'C:\\Daten\\\"Ärzte\"'\n"
      "plain = 'C:\\new'\n"
      "lines = \"\"\"a \"ß\"\n😀\"\"\"\n"
      "literal_lines = '''\nx\\é''z\n''''\n"
      "'clé' = [\"é\", 'è']\n"
      "after = 1\n";
  for (const std::string& text : {document, "\xEF\xBB\xBF" + document}) {
    const auto parsed = ParseToml(text, "test");
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(*parsed->Find("basic")->AsString(), "Männer|ä\\ \"ü\"");
    EXPECT_EQ(*parsed->Find("literal")->AsString(), "C:\\Daten\\\"Ärzte\"");
    EXPECT_EQ(*parsed->Find("plain")->AsString(), "C:\\new");
    EXPECT_EQ(*parsed->Find("lines")->AsString(), "a \"ß\"\n😀");
    EXPECT_EQ(*parsed->Find("literal_lines")->AsString(), "x\\é''z\n'");
    EXPECT_EQ(*parsed->Find("clé")->items()[1].AsString(), "è");
    EXPECT_EQ(*parsed->Find("after")->AsUint(), 1u);
  }
  EXPECT_TRUE(ParseToml("\xEF\xBB\xBF"
                        "a = 1\n",
                        "test")
                  .ok());
}

TEST(TomlTest, OtherTextIsRefusedByLine) {
  using namespace std::string_view_literals;
  const auto refusal = [](std::string_view text) {
    return base::Message(ParseToml(text, "test.toml").status());
  };
  EXPECT_THAT(refusal("\xFF\xFE"
                      "a\0"sv),
              HasSubstr("test.toml is in UTF-16; save the file as UTF-8"));
  EXPECT_THAT(refusal("a\0=\0"sv), HasSubstr("is in UTF-16"));
  EXPECT_THAT(refusal("a = 1\n# M\xE4nner\n"), HasSubstr("line 2: byte 0xe4 is not UTF-8"));
  EXPECT_THAT(refusal("a = \"x\n\xC3\xA4 = 1\n"),
              HasSubstr("line 2: write text with letters beyond ASCII between quotation marks"));
  EXPECT_THAT(refusal("a = '\xC3\xA4\nb = 1\n"), HasSubstr("line 1: write text"));
  EXPECT_THAT(refusal("a = \"\xC3\xA4\n"), HasSubstr("line 1"));
  EXPECT_THAT(refusal("a = '''\xC3\xA4"), HasSubstr("line 1: write text"));
  EXPECT_THAT(refusal("a = \"\"\"\xC3\xA4"), HasSubstr("line 1"));
  EXPECT_THAT(refusal("a = \"\xC3\xA4\\"), HasSubstr("line 1"));
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
}  // namespace tacet::config
