#include "tacet/protocol/announcement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status_for_test.h"

namespace tacet::protocol {
namespace {

using ::testing::HasSubstr;

Announcement Full() {
  Announcement announcement{.epoch = 2, .revision = 77, .first_listed = 3, .finished = 5};
  announcement.manifest_hash.fill(1);
  announcement.listed = {{2, 3, 0}, {2, 4, 0}, {2, 4, 1}, {2, 5, 0}};
  announcement.current = AnnouncedAttempt{.attempt = {.number = {.epoch = 2, .round = 5}},
                                          .phase = AttemptPhase::kUnmasking,
                                          .invited = Invited::kYes,
                                          .deadline = 1'755'000'000,
                                          .participants = 31};
  announcement.kept = {{.number = {.epoch = 2, .round = 3}},
                       {.number = {.epoch = 2, .round = 4, .attempt = 1}}};
  announcement.stopped = true;
  announcement.recalls = true;
  return announcement;
}

TEST(AnnouncementTest, IsReadAsItWasWritten) {
  for (const Announcement& announcement : {Full(), Announcement()}) {
    ASSERT_OK_AND_ASSIGN(const auto read, ReadAnnouncement(WriteAnnouncement(announcement)));
    EXPECT_EQ(read, announcement);
  }
}

TEST(AnnouncementTest, EveryLengthThatIsCutIsRefused) {
  const base::Bytes bytes = WriteAnnouncement(Full());
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_EQ(ReadAnnouncement(std::span(bytes).first(length)).status().code(),
              absl::StatusCode::kDataLoss)
        << length;
  }
}

void ExpectRefused(const Announcement& announcement, std::string_view why) {
  const auto read = ReadAnnouncement(WriteAnnouncement(announcement));
  EXPECT_EQ(read.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(base::Message(read.status()), HasSubstr(why));
}

TEST(AnnouncementTest, ListsThatContradictThemselvesAreRefused) {
  Announcement announcement = Full();
  std::swap(announcement.listed[1], announcement.listed[2]);
  ExpectRefused(announcement, "attempts are not listed in their order");
  announcement = Full();
  announcement.listed[1] = announcement.listed[0];
  ExpectRefused(announcement, "attempts are not listed in their order");
  announcement = Full();
  std::swap(announcement.kept[0], announcement.kept[1]);
  ExpectRefused(announcement, "rounds that are kept are not in their order");
  announcement = Full();
  announcement.kept[0].number.round = 4;
  ExpectRefused(announcement, "rounds that are kept are not in their order");
  announcement = Full();
  announcement.finished = 4;
  ExpectRefused(announcement, "rounds that are kept are not in their order");
}

TEST(AnnouncementTest, UnknownWordsAreRefused) {
  Announcement announcement = Full();
  announcement.current->phase = static_cast<AttemptPhase>(5);
  ExpectRefused(announcement, "no phase 5");
  announcement.current->phase = static_cast<AttemptPhase>(0);
  ExpectRefused(announcement, "no phase 0");
  announcement = Full();
  announcement.current->invited = static_cast<Invited>(3);
  ExpectRefused(announcement, "invitation 3");
}

TEST(AnnouncementTest, AListLongerThanItsBytesTakesNoMemory) {
  base::Bytes bytes = WriteAnnouncement(Announcement());
  base::StoreU32(~0U, bytes.data() + bytes.size() - 4);  // listed
  EXPECT_THAT(base::Message(ReadAnnouncement(bytes).status()), HasSubstr("`listed` is 4294967295"));
  base::StoreU32(~0U, bytes.data() + bytes.size() - 16);  // kept
  EXPECT_THAT(base::Message(ReadAnnouncement(bytes).status()),
              HasSubstr("`rounds kept` is 4294967295"));
}

}  // namespace
}  // namespace tacet::protocol
