#include "tacet/base/json_members.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tacet::base {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

JsonValue Parsed(std::string_view text) { return *JsonValue::Parse(text); }

TEST(JsonMembersTest, ReadsEveryKind) {
  const JsonValue value = Parsed(
      R"({"real":1.5,"large":18446744073709551615,"small":7,"yes":true,"text":"a","key":"00Ff"})");
  double real = 0;
  uint64_t large = 0;
  uint32_t small = 0;
  bool yes = false;
  std::string text;
  std::array<uint8_t, 2> key{};
  std::optional<double> absent;
  std::optional<uint32_t> there;
  JsonMembers members(value);
  members.Need("real", real);
  members.Need("large", large);
  members.Need("small", small);
  members.Need("yes", yes);
  members.Need("text", text);
  members.Need("key", key);
  members.Take("absent", absent);
  members.Take("small", there);
  EXPECT_TRUE(members.status().ok()) << members.status();
  EXPECT_EQ(real, 1.5);
  EXPECT_EQ(large, ~uint64_t{0});
  EXPECT_EQ(small, 7u);
  EXPECT_TRUE(yes);
  EXPECT_EQ(text, "a");
  EXPECT_THAT(key, ElementsAre(0, 255));
  EXPECT_FALSE(absent.has_value());
  EXPECT_EQ(there, 7u);
}

template <typename T>
std::string Complaint(std::string_view object, T target = {}) {
  const JsonValue value = Parsed(object);
  JsonMembers members(value);
  members.Need("a", target);
  EXPECT_FALSE(members.status().ok());
  return Message(members.status());
}

TEST(JsonMembersTest, ErrorsNameTheMember) {
  EXPECT_THAT(Complaint<double>("{}"), HasSubstr("member `a`: is missing"));
  EXPECT_THAT(Complaint<double>(R"({"a":null})"), HasSubstr("is missing"));
  EXPECT_THAT(Complaint<double>("[1]"), HasSubstr("is missing"));
  EXPECT_THAT(Complaint<uint32_t>(R"({"a":4294967296})"), HasSubstr("below 2^32"));
  EXPECT_THAT(Complaint<uint64_t>(R"({"a":-1})"), HasSubstr("not negative"));
  EXPECT_THAT(Complaint<std::string>(R"({"a":1})"), HasSubstr("expected a JSON string"));
  EXPECT_THAT(Complaint<Bytes>(R"({"a":"0g"})"), HasSubstr("hexadecimal"));
  EXPECT_THAT((Complaint<std::array<uint8_t, 2>>(R"({"a":"00"})")),
              HasSubstr("expected 4 hexadecimal digits, found 2"));
}

TEST(JsonMembersTest, TheFirstErrorStays) {
  const JsonValue value = Parsed("{}");
  JsonMembers members(value);
  double number = 0;
  members.Need("first", number);
  members.Need("second", number);
  EXPECT_THAT(Message(members.status()), HasSubstr("`first`"));
}

}  // namespace
}  // namespace tacet::base
