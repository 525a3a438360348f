#include "tacet/base/json.h"

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/json_lists.h"
#include "tacet/base/status_for_test.h"

namespace tacet::base {
namespace {

using ::testing::HasSubstr;

TEST(JsonTest, WritesInOrderAndReadsBack) {
  JsonValue value;
  value.Set("z", 1).Set("a", 0.1).Set("text", "a \"quote\"\n\x01").Set("none", nullptr);
  value.Set("yes", true).Set("list", JsonValue::MakeArray().Append(-3).Append(uint64_t{1} << 63));
  value.Set("infinite", HUGE_VAL).Set("z", 2);
  const std::string text = value.Dump();
  EXPECT_EQ(text,
            "{\"z\":2,\"a\":0.1,\"text\":\"a \\\"quote\\\"\\n\\u0001\",\"none\":null,\"yes\":true,"
            "\"list\":[-3,9223372036854775808],\"infinite\":null}");
  ASSERT_OK_AND_ASSIGN(const auto read, JsonValue::Parse(text));
  EXPECT_EQ(read.Dump(), text);
  EXPECT_EQ(JsonValue::Parse(value.Dump(2))->Dump(), text);
  EXPECT_EQ(*read.Find("list")->items()[1].AsUint(), uint64_t{1} << 63);
  EXPECT_EQ(*read.Find("a")->AsDouble(), 0.1);
  EXPECT_EQ(*read.Find("text")->AsString(), "a \"quote\"\n\x01");
  EXPECT_TRUE(*read.Find("yes")->AsBool());
  EXPECT_EQ(read.Find("nothing"), nullptr);
}

TEST(JsonTest, KindsAreNotMixedUp) {
  EXPECT_THAT(base::Message(JsonValue("1").AsDouble().status()),
              HasSubstr("expected a JSON number, found \"1\""));
  EXPECT_THAT(base::Message(JsonValue(-1).AsUint().status()), HasSubstr("not negative, found -1"));
  EXPECT_THAT(base::Message(JsonValue(1).AsString().status()), HasSubstr("expected a JSON string"));
  EXPECT_THAT(base::Message(JsonValue(1).AsBool().status()), HasSubstr("expected true or false"));
  EXPECT_TRUE(JsonValue(1).items().empty());
  EXPECT_TRUE(JsonValue(1).members().empty());
}

TEST(JsonTest, ListsAndValuesThatMayBeMissing) {
  const std::vector<std::string> texts = {"a", "bc"};
  EXPECT_EQ(JsonList(texts).Dump(), "[\"a\",\"bc\"]");
  EXPECT_EQ(JsonList(texts, [](const std::string& text) { return text.size(); }).Dump(), "[1,2]");
  EXPECT_EQ(JsonList(std::vector<double>{}).Dump(), "[]");
  EXPECT_EQ(OrNull(std::optional<double>(0)).Dump(), "0");
  EXPECT_TRUE(OrNull(std::optional<double>()).is_null());
  EXPECT_EQ(OrNull("a").Dump(), "\"a\"");
  EXPECT_TRUE(OrNull("").is_null());
}

TEST(JsonTest, RefusesWhatIsNotJson) {
  for (const std::string text : {"", "{", "[1,", "{\"a\" 1}", "nul", "[1] 2", "\"\xff\""}) {
    const auto read = JsonValue::Parse(text);
    EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(base::Message(read.status()), HasSubstr("not JSON")) << text;
  }
  EXPECT_TRUE(JsonValue::Parse(std::string(64, '[') + std::string(64, ']')).ok());
  EXPECT_THAT(base::Message(JsonValue::Parse(std::string(1'000'000, '[')).status()),
              HasSubstr("nested deeper than 64 levels"));
}

}  // namespace
}  // namespace tacet::base
