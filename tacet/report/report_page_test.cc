#include "tacet/report/report_page.h"

#include <string>
#include <string_view>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/json.h"
#include "tacet/report/page_assets.h"

namespace tacet::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kHostile = "</script><script>alert(1)</script>\"'<!--&";

// The text between the first `begin` and the next `end`.
std::string Between(std::string_view text, std::string_view begin, std::string_view end) {
  const size_t from = text.find(begin) + begin.size();
  return std::string(text.substr(from, text.find(end, from) - from));
}

size_t Count(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(ReportPageTest, CarriesItsDataAsTheyAre) {
  const base::JsonValue data =
      base::JsonValue::MakeObject().Set("name", kHostile).Set("accuracy", 0.7821);
  const std::string page = ReportPage("Report", data);
  const auto read = base::JsonValue::Parse(
      Between(page, "<script type=\"application/json\" id=\"data\">", "</script>"));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read->Find("name")->AsString(), kHostile);
  EXPECT_EQ(*read->Find("accuracy")->AsDouble(), 0.7821);
}

TEST(ReportPageTest, NamesCannotBecomeMarkup) {
  const std::string page =
      ReportPage(kHostile, base::JsonValue::MakeObject().Set(kHostile, kHostile));
  EXPECT_THAT(page, Not(HasSubstr("alert(1)</script>")));
  // The data and the program: no third script.
  EXPECT_EQ(Count(page, "<script"), 2U);
  EXPECT_EQ(Count(page, "</script>"), 2U);
  EXPECT_EQ(Between(page, "<title>", "</title>"),
            "&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot;'&lt;!--&amp;");
}

TEST(ReportPageTest, AllowsItsOwnScriptAndStyleOnly) {
  const std::string page = ReportPage("Report", base::JsonValue::MakeObject());
  const std::string policy = Between(page, "Content-Security-Policy\" content=\"", "\"");
  EXPECT_THAT(policy, HasSubstr("default-src 'none'"));
  EXPECT_THAT(policy, HasSubstr("script-src 'sha256-"));
  EXPECT_THAT(policy, HasSubstr("style-src 'sha256-"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe-inline")));
  EXPECT_THAT(page, Not(HasSubstr(" src=")));
  EXPECT_THAT(page, Not(HasSubstr("<link")));
}

// They are in the page unchanged, so nothing in them may end their element.
TEST(ReportPageTest, AssetsStayInsideTheirElements) {
  EXPECT_GT(ReportScript().size(), 10'000U);
  EXPECT_THAT(std::string(ReportScript()), Not(HasSubstr("</script")));
  EXPECT_THAT(std::string(ReportScript()), Not(HasSubstr("<!--")));
  EXPECT_GT(PageStyle().size(), 1'000U);
  EXPECT_THAT(std::string(PageStyle()), Not(HasSubstr("</style")));
}

}  // namespace
}  // namespace tacet::report
