#include "tacet/host/operator_action.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status.h"

namespace tacet::host {
namespace {

using ::testing::HasSubstr;

std::string Error(const std::string& text) {
  return base::Message(ReadOperatorRequest(text).status());
}

TEST(OperatorActionTest, ARequestIsRead) {
  const auto pause =
      ReadOperatorRequest(R"({"revision": 3, "action": "pause", "note": "Wartung – bis 18 Uhr"})");
  ASSERT_TRUE(pause.ok()) << pause.status();
  EXPECT_EQ(pause->revision, 3u);
  EXPECT_EQ(pause->action.verb, OperatorVerb::kPause);
  EXPECT_EQ(pause->action.note, "Wartung – bis 18 Uhr");
  const auto start = ReadOperatorRequest(
      R"({"revision": 0, "action": "start-epoch", "epoch": 7, "end_attempt": true})");
  ASSERT_TRUE(start.ok()) << start.status();
  EXPECT_EQ(start->action.epoch, 7u);
  EXPECT_TRUE(start->end_attempt);
}

TEST(OperatorActionTest, WhatIsNoneIsRefused) {
  for (const std::string text : {"", "[]", "null", "{\"revision\": 1", "7"}) {
    EXPECT_THAT(Error(text), HasSubstr("expected a JSON object")) << text;
  }
  EXPECT_THAT(Error("{}"), HasSubstr("expected the fields action and revision"));
  EXPECT_THAT(Error(R"({"revision": 0, "action": "rm -rf"})"), HasSubstr("action: expected pause"));
  EXPECT_THAT(Error(R"({"revision": -1, "action": "pause"})"), HasSubstr("revision"));
  EXPECT_THAT(Error(R"({"revision": 0, "action": "pause", "by": "ann"})"),
              HasSubstr("by: there is no such field"));
  EXPECT_THAT(Error(R"({"revision": 0, "action": "pause", "problem": "rollback"})"),
              HasSubstr("problem: "));
  EXPECT_THAT(Error(R"({"revision": 0, "action": "acknowledge", "problem": "rollback"})"),
              HasSubstr("note: acknowledge needs one"));
  EXPECT_THAT(Error(R"({"revision": 0, "action": "acknowledge", "note": "seen"})"),
              HasSubstr("problem: "));
  EXPECT_THAT(Error(R"({"revision": 0, "action": "resume", "epoch": 3})"), HasSubstr("epoch: "));
  EXPECT_THAT(Error(R"({"revision": 0, "action": "start-epoch", "epoch": 4294967296})"),
              HasSubstr("epoch: "));
}

// A log, a terminal and a page show it unchanged.
TEST(OperatorActionTest, ANoteIsOneLineOfPlainText) {
  const auto with_note = [](const std::string& note) {
    return Error(R"({"revision": 0, "action": "pause", "note": ")" + note + "\"}");
  };
  EXPECT_EQ(with_note(R"(<script>alert(1)</script> \"quoted\" \\ )"), "");
  EXPECT_EQ(with_note(std::string(kMaxNoteBytes, 'n')), "");
  EXPECT_THAT(with_note(std::string(kMaxNoteBytes + 1, 'n')), HasSubstr("501 bytes, at most 500"));
  for (const std::string note : {R"(two\nlines)", R"(\u001b[2J)", R"(\u007f)", R"(\u009b2J)",
                                 R"(\u202etxet)", R"(\u2066x)", R"(a\u200bb)", R"(\u0000)",
                                 R"(a\u00adb)", R"(\u061cx)", R"(a\ufff9b)", R"(a\udb40\udc41b)"}) {
    EXPECT_THAT(with_note(note), HasSubstr("one line of text")) << note;
  }
  EXPECT_THAT(with_note("\xff"), HasSubstr("expected a JSON object"));
}

TEST(OperatorActionTest, TheStoreGivesBackWhatItKeeps) {
  const OperatorAction action{.verb = OperatorVerb::kAcknowledge,
                              .note = "spoke to them",
                              .problem = "member-fork",
                              .members = {"north", "west"},
                              .by = "ann",
                              .at = 1'755'000'000};
  const auto read = ReadOperatorAction(WriteOperatorAction(action));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, action);
  const OperatorAction start{.verb = OperatorVerb::kStartEpoch, .epoch = 4, .by = "bob", .at = 1};
  EXPECT_EQ(*ReadOperatorAction(WriteOperatorAction(start)), start);
  for (const std::string text : {"", "x", "{}", R"({"action":"pause","at":"now"})"}) {
    const auto status = ReadOperatorAction(base::Bytes(text.begin(), text.end())).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << text;
  }
}

}  // namespace
}  // namespace tacet::host
