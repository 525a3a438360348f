#include "tacet/base/format_ids.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status.h"

namespace tacet::base {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string RefusalOf(const FormatId& id) {
  ByteWriter writer;
  WritePreamble({.magic = id.magic, .version = 7}, writer);
  const Bytes bytes = writer.Take();
  ByteReader reader(bytes, "it");
  return Message(ReadPreamble(id, reader));
}

// Nobody gives up a folder since a machine elsewhere has another version.
TEST(FormatIdsTest, AnotherVersionIsRefusedWithWhatToDo) {
  for (const FormatId& said :
       {format::kMemberRequest, format::kMailRequest, format::kAnnouncement, format::kUpload,
        format::kRankHello, format::kRelayedAnswers, format::kEnrolmentRequest, format::kLetter}) {
    EXPECT_THAT(RefusalOf(said), HasSubstr("Use the same version of tacet on both sides"));
    EXPECT_THAT(RefusalOf(said), Not(HasSubstr("folder"))) << said.magic;
  }
  for (const FormatId& file : {format::kInvitation, format::kMemberKeys, format::kStateEntry}) {
    EXPECT_THAT(RefusalOf(file), HasSubstr("begin again in an empty folder")) << file.magic;
  }
  for (const FormatId& ledger : {format::kLedger, format::kLedgerAnchor}) {
    EXPECT_THAT(RefusalOf(ledger), HasSubstr("Keep it: what it charged stays spent"));
    EXPECT_THAT(RefusalOf(ledger), Not(HasSubstr("begin again"))) << ledger.magic;
  }
}

}  // namespace
}  // namespace tacet::base
