#include "apps/tacet/program/console.h"

#include <gtest/gtest.h>

namespace tacet::app::program {
namespace {

TEST(ConsoleTest, LinesAreFoldedAtBlanks) {
  EXPECT_EQ(Folded("", 5), "");
  EXPECT_EQ(Folded("ab cd", 5), "ab cd");
  EXPECT_EQ(Folded("ab cde", 5), "ab\ncde");
  EXPECT_EQ(Folded("ab cd ef\n\n- gh ij k\n", 5), "ab cd\nef\n\n- gh\nij k\n");
  EXPECT_EQ(Folded("a 1234567 b", 5), "a\n1234567\nb");
  EXPECT_EQ(Folded("\xCE\xB5\xCE\xB5 \xCE\xB5\xCE\xB5 c", 5),
            "\xCE\xB5\xCE\xB5 \xCE\xB5\xCE\xB5\nc");
}

}  // namespace
}  // namespace tacet::app::program
