#include "tacet/base/json_events.h"

#include <string>
#include <vector>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"

namespace tacet::base {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Writes down every event with its place; refuses the number 13.
class Recorder : public JsonEvents {
 public:
  absl::Status BeginObject() override { return Note("{"); }
  absl::Status EndObject() override { return Note("}"); }
  absl::Status BeginArray() override { return Note("["); }
  absl::Status EndArray() override { return Note("]"); }
  absl::Status Key(std::string_view name) override { return Note(fmt::format("key {}", name)); }
  absl::Status String(std::string_view value) override { return Note(fmt::format("'{}'", value)); }
  absl::Status Number(double value) override {
    if (value == 13) return InvalidArgument("13 at {}", position);
    return Note(fmt::format("{}", value));
  }
  absl::Status Word() override { return Note("word"); }

  std::vector<std::string> events;

 private:
  absl::Status Note(const std::string& event) {
    events.push_back(fmt::format("{}:{}", position, event));
    return absl::OkStatus();
  }
};

TEST(JsonEventsTest, PartsComeInOrderWithTheirPlaces) {
  Recorder recorder;
  const absl::Status status =
      ReadJsonEvents(R"({"a" : [1,-2.5 ,"x\u0041"], "b": {} , "c":[true,7]})", recorder);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(recorder.events,
              ElementsAre("0:{", "1:key a", "7:[", "8:1", "10:-2.5", "16:'xA'", "25:]", "28:key b",
                          "33:{", "34:}", "38:key c", "42:[", "43:word", "48:7", "49:]", "50:}"));
}

TEST(JsonEventsTest, AnErrorOfTheReceiverEndsTheReading) {
  Recorder recorder;
  EXPECT_EQ(Message(ReadJsonEvents("[1, 13, 2]", recorder)), "13 at 4");
  EXPECT_THAT(recorder.events, ElementsAre("0:[", "1:1"));
}

TEST(JsonEventsTest, MalformedTextIsRefusedAtItsPlaceAndNotRepeated) {
  for (const auto& [text, place, message] : {std::tuple("", 0, "not JSON"),
                                             {"[1, secret]", 4, "not JSON"},
                                             {"[1] [2]", 4, "not JSON"},
                                             {"{\"a\": \"secret", 6, "a string does not end"},
                                             {"[1, 1e999]", 4, "not JSON"},
                                             {"{\"a\": [[secret", 8, "not JSON"},
                                             {"[1", 2, "not JSON"},
                                             {"[\"a\" \"b\"]", 5, "not JSON"}}) {
    Recorder recorder;
    const std::string error(Message(ReadJsonEvents(text, recorder)));
    EXPECT_THAT(error, HasSubstr(message)) << text;
    EXPECT_THAT(error, ::testing::Not(HasSubstr("secret")));
    EXPECT_EQ(recorder.position, static_cast<size_t>(place)) << text;
  }
}

// Nesting costs a bit a level: a hundred thousand levels are read, or refused by the receiver.
TEST(JsonEventsTest, DepthIsTheReceiversBusiness) {
  Recorder recorder;
  const size_t depth = 100'000;
  ASSERT_TRUE(ReadJsonEvents(std::string(depth, '[') + std::string(depth, ']'), recorder).ok());
  EXPECT_EQ(recorder.events.size(), 2 * depth);
}

}  // namespace
}  // namespace tacet::base
