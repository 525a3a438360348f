#include "tacet/simulation/rank_messages.h"

#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"

namespace tacet::simulation {
namespace {

using ::testing::HasSubstr;

class RankMessagesTest : public ::testing::Test {
 protected:
  crypto::InsecureSeededEntropy entropy_{1, "ranks"};
  crypto::SealingKey key_ = crypto::SealingKey::Generate(entropy_);
  secagg::Attempt attempt_{.manifest_hash = {1}, .number = {.epoch = 2, .round = 3, .attempt = 1}};

  // Reads every beginning of the message, and the message with a byte more.
  template <typename Read>
  static void ExpectOneLength(const base::Bytes& message, const Read& read) {
    ASSERT_TRUE(read(message).ok()) << read(message).status();
    for (size_t size = 0; size < message.size(); ++size) {
      EXPECT_EQ(read({message.data(), size}).status().code(), absl::StatusCode::kDataLoss) << size;
    }
    base::Bytes longer = message;
    longer.push_back(0);
    EXPECT_EQ(read(longer).status().code(), absl::StatusCode::kDataLoss);
  }
};

TEST_F(RankMessagesTest, HelloIsReadAsWritten) {
  const RankHello hello{.agreement = {4}, .key = key_.public_key()};
  const base::Bytes bytes = WriteRankHello(hello);
  EXPECT_EQ(*ReadRankHello(bytes), hello);
  ExpectOneLength(bytes, ReadRankHello);
}

TEST_F(RankMessagesTest, JobsAndTheEndAreReadAsWritten) {
  const std::vector<float> model = {1.5f, -2.0f, 0.0f};
  const base::Bytes bytes = WriteRankJob(attempt_, model);
  EXPECT_EQ(bytes.size(), MaxRankJobBytes(3));
  const auto read = [](std::span<const uint8_t> message) { return ReadRankJob(message, 3); };
  const auto job = read(bytes);
  ASSERT_TRUE(job.ok() && job->has_value()) << job.status();
  EXPECT_EQ((*job)->attempt, attempt_);
  EXPECT_EQ((*job)->model, model);
  ExpectOneLength(bytes, read);
  ASSERT_OK_AND_ASSIGN(const auto end, read(WriteRankEnd()));
  EXPECT_FALSE(end.has_value());
  ExpectOneLength(WriteRankEnd(), read);

  base::Bytes other = bytes;
  other[6] = 3;
  EXPECT_THAT(base::Message(read(other).status()), HasSubstr("field `kind` is 3"));
  other = bytes;
  other[4] = 9;
  EXPECT_THAT(base::Message(read(other).status()), HasSubstr("field `version` is 9"));
  EXPECT_EQ(ReadRankJob(bytes, 2).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(RankMessagesTest, TasksOpenForTheirRankAlone) {
  RankTask task{.secrets = {.epoch_key = entropy_.Draw(32), .exchange_seed = entropy_.Draw(32)},
                .share = {.seats = {}, .mean_samples = 7.25}};
  task.share.seats = {{.place = 0, .client = 11}, {.place = 2, .client = 3, .is_cover = true}};
  const base::Bytes sealed = *EncryptRankTask(task, key_.public_key());
  EXPECT_LE(sealed.size(), MaxRankTaskBytes(12));
  ASSERT_OK_AND_ASSIGN(const auto opened, DecryptRankTask(sealed, key_, 12));
  EXPECT_TRUE(crypto::ConstantTimeEqual(opened.secrets.epoch_key.Expose(),
                                        task.secrets.epoch_key.Expose()));
  EXPECT_TRUE(crypto::ConstantTimeEqual(opened.secrets.exchange_seed.Expose(),
                                        task.secrets.exchange_seed.Expose()));
  EXPECT_EQ(opened.share, task.share);
  EXPECT_FALSE(DecryptRankTask(sealed, crypto::SealingKey::Generate(entropy_), 12).ok());
  EXPECT_THAT(base::Message(DecryptRankTask(sealed, key_, 11).status()),
              HasSubstr("names a client beyond the 11"));
}

// A sender may put these into the box instead of a task.
TEST_F(RankMessagesTest, TasksHaveOneLength) {
  RankTask task{.secrets = {.epoch_key = entropy_.Draw(32), .exchange_seed = entropy_.Draw(32)},
                .share = {.seats = {{.place = 0, .client = 1}}, .mean_samples = 1}};
  const base::Bytes plain = *[&] {
    const auto opened = key_.Open(*EncryptRankTask(task, key_.public_key()));
    return std::make_unique<base::Bytes>(opened->Expose().begin(), opened->Expose().end());
  }();
  ExpectOneLength(plain, [&](std::span<const uint8_t> bytes) {
    return DecryptRankTask(*crypto::SealFor(key_.public_key(), bytes), key_, 12);
  });
  base::Bytes neither = plain;
  neither.back() = 2;
  EXPECT_THAT(base::Message(
                  DecryptRankTask(*crypto::SealFor(key_.public_key(), neither), key_, 12).status()),
              HasSubstr("field `seats` has a cover flag 2"));
}

TEST_F(RankMessagesTest, ReportsAreReadAsWrittenAndAddUp) {
  RankReport report{.threads = 2, .train_seconds = 1.5, .seal_seconds = 0.25, .add_seconds = 0.125};
  report.Note("something");
  report.Note(std::string(5000, 'x'));
  const base::Bytes bytes = WriteRankReport(report);
  ASSERT_OK_AND_ASSIGN(const auto read, ReadRankReport(bytes));
  EXPECT_EQ(read, report);
  EXPECT_EQ(read.notes[1].size(), 1000u);
  ExpectOneLength(bytes, ReadRankReport);

  for (int i = 0; i < 60; ++i) report.Add(read);
  EXPECT_EQ(report.threads, 122u);
  EXPECT_EQ(report.train_seconds, 61 * 1.5);
  EXPECT_EQ(report.notes.size(), RankReport::kMaxNotes);
  EXPECT_EQ(report.more_notes, 22u);
  const base::Bytes largest = WriteRankReport(report);
  EXPECT_LE(largest.size(), kMaxRankReportBytes);
  EXPECT_EQ(*ReadRankReport(largest), report);

  report.add_seconds = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(base::Message(ReadRankReport(WriteRankReport(report)).status()),
              HasSubstr("field `add seconds` is nan"));
  base::Bytes many = bytes;
  many[42] = 101;
  EXPECT_THAT(base::Message(ReadRankReport(many).status()), HasSubstr("field `notes` is 101"));
}

}  // namespace
}  // namespace tacet::simulation
