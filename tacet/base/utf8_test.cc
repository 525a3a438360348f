#include "tacet/base/utf8.h"

#include "gtest/gtest.h"

namespace tacet::base {
namespace {

TEST(Utf8Test, FindsCharactersAndTheirNumbers) {
  const auto number = [](std::string_view text) {
    const size_t bytes = Utf8CharacterBytes(text);
    EXPECT_EQ(bytes, text.size());
    return bytes == 0 ? 0 : Utf8Character(text, bytes);
  };
  EXPECT_EQ(number("a"), 0x61u);
  EXPECT_EQ(number("\xC2\x80"), 0x80u);
  EXPECT_EQ(number("\xC3\xBC"), 0xFCu);
  EXPECT_EQ(number("\xE0\xA0\x80"), 0x800u);
  EXPECT_EQ(number("\xE2\x82\xAC"), 0x20ACu);
  EXPECT_EQ(number("\xEF\xBF\xBF"), 0xFFFFu);
  EXPECT_EQ(number("\xF0\x9F\xA9\xBA"), 0x1FA7Au);
  EXPECT_EQ(number("\xF4\x8F\xBF\xBF"), 0x10FFFFu);
}

TEST(Utf8Test, RefusesEverythingElse) {
  for (const char* wrong :
       {"", "\x80", "\xBF", "\xC0\xAF", "\xC1\xBF", "\xC3", "\xC3(", "\xE0\x80\xAF", "\xE0\x9F\xBF",
        "\xE2\x82", "\xED\xA0\x80", "\xF0\x80\x80\x80", "\xF0\x8F\xBF\xBF", "\xF0\x9F\xA9",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFE", "\xFF"}) {
    EXPECT_EQ(Utf8CharacterBytes(wrong), 0u) << wrong;
  }
}

}  // namespace
}  // namespace tacet::base
