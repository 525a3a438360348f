#include "tacet/ledger/ledger_format.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"
#include "tacet/ledger/ledger_recovery.h"
#include "tacet/ledger/memory_ledger_for_test.h"

namespace tacet::ledger {
namespace {

using ::testing::HasSubstr;

LedgerHeader WardHeader() {
  LedgerHeader header;
  header.population = "ward 3";
  header.identity[0] = 7;
  header.spending.budget_epsilon = 4;
  header.created = 1'700'000'000;
  return header;
}

LedgerEntry Entry(uint32_t round) {
  LedgerEntry entry;
  entry.federation[1] = 1;
  entry.label.manifest_hash[2] = 2;
  entry.label.number.round = round;
  entry.event.sampling_rate = 0.25;
  entry.event.noise_stddev = 6;
  entry.time = 1'700'000'100 + round;
  return entry;
}

// A header and `records` charges, the anchor `behind` records late.
struct Files {
  base::Bytes ledger, anchor;
};
Files Make(uint32_t records, uint32_t behind = 0) {
  Files files{.ledger = WriteLedgerHeader(WardHeader()), .anchor = {}};
  LedgerAnchor end = EmptyLedgerEnd(WardHeader());
  for (uint32_t round = 0;; ++round) {
    if (round == records - behind) files.anchor = WriteLedgerAnchor(end);
    if (round == records) return files;
    const base::Bytes record = WriteLedgerRecord(Entry(round), end.head);
    files.ledger.insert(files.ledger.end(), record.begin(), record.end());
    end.head = RecordHash(record);
    ++end.count;
  }
}

std::string Refusal(const base::Bytes& ledger, const base::Bytes& anchor) {
  const auto found = RecoverLedger(ledger, anchor);
  EXPECT_EQ(found.status().code(), absl::StatusCode::kDataLoss);
  return base::Message(found.status());
}

TEST(LedgerTest, WhatWasWrittenIsRead) {
  const Files files = Make(3);
  ASSERT_OK_AND_ASSIGN(const auto found, RecoverLedger(files.ledger, files.anchor));
  EXPECT_EQ(found.header, WardHeader());
  EXPECT_THAT(found.entries, ::testing::ElementsAre(Entry(0), Entry(1), Entry(2)));
  EXPECT_EQ(found.anchored, 3u);
  EXPECT_EQ(found.end.count, 3u);
  EXPECT_EQ(found.torn_bytes, 0u);
  EXPECT_EQ(WriteLedgerAnchor(found.end), files.anchor);
}

// The bytes of docs/formats/ledger.md, written by an independent program: a change of format must
// change this test and the version.
TEST(LedgerTest, TheFormatIsFrozen) {
  const Files files = Make(1);
  EXPECT_EQ(base::ToHex(std::span(files.ledger).first(10)), "5443544c030001010100");
  EXPECT_EQ(files.ledger.size(), kLedgerHeaderBytes + kLedgerRecordBytes);
  EXPECT_EQ(base::ToHex(crypto::Sha256(files.ledger)),
            "c3352852ffbb1f5d9829ac893dfe0b1236f3d894b7958be7f64322224631ebca");
  EXPECT_EQ(base::ToHex(crypto::Sha256(files.anchor)),
            "dbd57770ee19782e58d26089c3b98e13a114c4e3080aedc65963d5e3afff1c9c");
}

// Releases that are private without delta, and Gaussian ones.
TEST(LedgerTest, PureReleasesAreKept) {
  LedgerEntry entry = Entry(0);
  entry.event.sampling_rate = 1;
  entry.event.pure_epsilon = 0.7;
  const auto recovered = [&] {
    Files files{.ledger = WriteLedgerHeader(WardHeader()), .anchor = {}};
    const base::Bytes record = WriteLedgerRecord(entry, EmptyLedgerEnd(WardHeader()).head);
    files.ledger.insert(files.ledger.end(), record.begin(), record.end());
    return RecoverLedger(files.ledger, WriteLedgerAnchor(EmptyLedgerEnd(WardHeader())));
  };
  ASSERT_OK_AND_ASSIGN(const auto found, recovered());
  EXPECT_EQ(found.entries[0].event.pure_epsilon, 0.7);
  EXPECT_EQ(found.entries[0], entry);
  // For a sampled unit nobody has proved such a charge.
  entry.event.sampling_rate = 0.25;
  EXPECT_EQ(recovered().status().code(), absl::StatusCode::kDataLoss);
  entry.event.sampling_rate = 1;
  entry.event.pure_epsilon = -0.7;
  EXPECT_EQ(recovered().status().code(), absl::StatusCode::kDataLoss);
}

// A ledger of version 2, which does not say which noise a charge had, is refused by its number.
TEST(LedgerTest, AnOlderVersionIsRefused) {
  Files files = Make(1);
  files.ledger[4] = 2;
  EXPECT_THAT(Refusal(files.ledger, files.anchor),
              HasSubstr("field `version` is 2, this program reads version 3"));
  files = Make(1);
  files.anchor[4] = 1;
  EXPECT_THAT(Refusal(files.ledger, files.anchor),
              HasSubstr("field `version` is 1, this program reads version 2"));
}

// Headers alike in everything but the random identity, or the population, are of two ledgers.
TEST(LedgerTest, AnAnchorIsOfOneLedger) {
  const Files files = Make(1);
  LedgerHeader other = WardHeader();
  other.identity[0] = 8;
  EXPECT_THAT(Refusal(files.ledger, WriteLedgerAnchor(EmptyLedgerEnd(other))),
              HasSubstr("their headers differ"));
  other.population = "staff";
  EXPECT_THAT(Refusal(files.ledger, WriteLedgerAnchor(EmptyLedgerEnd(other))),
              HasSubstr("the anchor is of the population \"staff\", the ledger of \"ward 3\""));
}

TEST(LedgerTest, APopulationsNameIsAFileName) {
  for (const std::string name : {"main", "staff-2026", "7"})
    EXPECT_TRUE(CheckPopulation(name).ok());
  EXPECT_TRUE(CheckPopulation(std::string(64, 'a')).ok());
  for (const std::string name : {"", "Staff", "a/b", "..", "a b", "a.ledger"}) {
    EXPECT_EQ(CheckPopulation(name).code(), absl::StatusCode::kInvalidArgument) << name;
  }
  EXPECT_FALSE(CheckPopulation(std::string(65, 'a')).ok());
}

TEST(LedgerTest, OneRecordBeforeItsAnchorCountsAsSpent) {
  const Files files = Make(3, 1);
  ASSERT_OK_AND_ASSIGN(const auto found, RecoverLedger(files.ledger, files.anchor));
  EXPECT_EQ(found.entries.size(), 3u);
  EXPECT_EQ(found.anchored, 2u);
  EXPECT_THAT(Refusal(Make(3, 2).ledger, Make(3, 2).anchor),
              HasSubstr("anchor is too old: it knows 1 records, record 3 at byte"));
}

// A reader of a ledger that grows sees every whole record, however far the anchor that it read
// lags, and none of one that is being written. What the anchor knows must be right.
TEST(LedgerTest, ASnapshotHasEveryWholeRecord) {
  for (const uint32_t behind : {0u, 1u, 3u}) {
    const Files files = Make(4, behind);
    for (size_t cut = 0; cut <= behind * kLedgerRecordBytes; cut += 19) {
      base::Bytes ledger = files.ledger;
      ledger.resize(ledger.size() - cut);
      ASSERT_OK_AND_ASSIGN(const auto found, RecoverSnapshot(ledger, files.anchor));
      EXPECT_EQ(found.end.count, 4 - (cut + kLedgerRecordBytes - 1) / kLedgerRecordBytes);
      EXPECT_EQ(found.anchored, 4 - behind);
    }
    base::Bytes half_written = files.ledger;
    half_written.back() ^= 1;
    const auto found = RecoverSnapshot(half_written, files.anchor);
    if (behind == 0) {
      EXPECT_EQ(found.status().code(), absl::StatusCode::kDataLoss);
    } else {
      ASSERT_TRUE(found.ok()) << found.status();
      EXPECT_EQ(found->end.count, 3u);
    }
  }
}

// Every length, with the anchor unchanged and one record behind.
TEST(LedgerTest, TruncatedToEveryLength) {
  for (const uint32_t behind : {0u, 1u}) {
    const Files files = Make(3, behind);
    const size_t anchored_end = files.ledger.size() - behind * kLedgerRecordBytes;
    for (size_t length = 0; length < files.ledger.size(); ++length) {
      base::Bytes cut = files.ledger;
      cut.resize(length);
      const auto found = RecoverLedger(cut, files.anchor);
      if (length < anchored_end) {
        EXPECT_EQ(found.status().code(), absl::StatusCode::kDataLoss) << length;
        EXPECT_THAT(base::Message(found.status()), HasSubstr("do not charge to it")) << length;
      } else {
        ASSERT_TRUE(found.ok()) << length << found.status();
        EXPECT_EQ(found->entries.size(), 2u);
        EXPECT_EQ(found->torn_bytes, length - anchored_end);
        EXPECT_EQ(found->whole_bytes, anchored_end);
      }
    }
    for (size_t length = 0; length < files.anchor.size(); ++length) {
      base::Bytes cut = files.anchor;
      cut.resize(length);
      Refusal(files.ledger, cut);
    }
  }
}

TEST(LedgerTest, EveryFlippedBitIsNoticed) {
  for (const uint32_t behind : {0u, 1u}) {
    const Files files = Make(3, behind);
    for (size_t bit = 0; bit < 8 * files.ledger.size(); ++bit) {
      base::Bytes flipped = files.ledger;
      flipped[bit / 8] = static_cast<uint8_t>(flipped[bit / 8] ^ 1u << bit % 8);
      EXPECT_THAT(Refusal(flipped, files.anchor), HasSubstr("do not charge to it")) << bit;
    }
    for (size_t bit = 0; bit < 8 * files.anchor.size(); ++bit) {
      base::Bytes flipped = files.anchor;
      flipped[bit / 8] = static_cast<uint8_t>(flipped[bit / 8] ^ 1u << bit % 8);
      Refusal(files.ledger, flipped);
    }
  }
}

TEST(LedgerTest, DamageNamesTheRecordAndItsByte) {
  Files files = Make(3);
  const size_t header = files.ledger.size() - 3 * kLedgerRecordBytes;
  files.ledger[header + kLedgerRecordBytes + 5] ^= 1;
  EXPECT_THAT(Refusal(files.ledger, files.anchor),
              HasSubstr("record 2 at byte " + std::to_string(header + kLedgerRecordBytes)));
  files = Make(3);
  files.ledger.resize(files.ledger.size() - kLedgerRecordBytes);
  EXPECT_THAT(Refusal(files.ledger, files.anchor),
              HasSubstr("after 2 whole records, its anchor knows 3"));
  // A record that is missing in the middle.
  files = Make(3);
  files.ledger.erase(
      files.ledger.begin() + static_cast<std::ptrdiff_t>(header),
      files.ledger.begin() + static_cast<std::ptrdiff_t>(header + kLedgerRecordBytes));
  EXPECT_THAT(Refusal(files.ledger, files.anchor), HasSubstr("record 1 at byte"));
  // Another ledger's anchor.
  LedgerHeader other = WardHeader();
  other.created += 1;
  const crypto::Digest genesis = LedgerGenesis(other);
  EXPECT_THAT(Refusal(Make(0).ledger, WriteLedgerAnchor({"ward 3", genesis, 0, genesis})),
              HasSubstr("belongs to another ledger"));
}

// A whole other end with a chain of its own: only the anchor tells.
TEST(LedgerTest, ARewrittenEndIsNoticed) {
  const Files files = Make(2);
  base::Bytes rewritten = WriteLedgerHeader(WardHeader());
  crypto::Digest head = LedgerGenesis(WardHeader());
  for (const uint32_t round : {0u, 9u}) {
    const base::Bytes record = WriteLedgerRecord(Entry(round), head);
    rewritten.insert(rewritten.end(), record.begin(), record.end());
    head = RecordHash(record);
  }
  EXPECT_THAT(Refusal(rewritten, files.anchor), HasSubstr("not the one that the anchor knows"));
}

TEST(LedgerTest, SpaceThatWasNeverFilledIsATornTail) {
  Files files = Make(2);
  const size_t whole = files.ledger.size();
  for (const size_t written : {size_t{0}, size_t{100}, kLedgerRecordBytes - 16}) {
    base::Bytes tail =
        WriteLedgerRecord(Entry(2), RecordHash(std::span(files.ledger).last(kLedgerRecordBytes)));
    std::fill(tail.begin() + static_cast<std::ptrdiff_t>(written), tail.end(), uint8_t{0});
    base::Bytes torn = files.ledger;
    torn.insert(torn.end(), tail.begin(), tail.end());
    ASSERT_OK_AND_ASSIGN(const auto found, RecoverLedger(torn, files.anchor));
    EXPECT_EQ(found.whole_bytes, whole);
    EXPECT_EQ(found.torn_bytes, kLedgerRecordBytes);
    // The same where the anchor knows the record: it was acknowledged.
    LedgerAnchor later = found.end;
    later.count = 3;
    Refusal(torn, WriteLedgerAnchor(later));
  }
}

TEST(LedgerTest, TheSameAttemptTwiceIsDamage) {
  Files files = Make(1);
  LedgerAnchor end = RecoverLedger(files.ledger, files.anchor)->end;
  const base::Bytes again = WriteLedgerRecord(Entry(0), end.head);
  files.ledger.insert(files.ledger.end(), again.begin(), again.end());
  EXPECT_THAT(Refusal(files.ledger, files.anchor), HasSubstr("charges an attempt again"));
}

TEST(LedgerTest, FieldsOutOfRangeAreRefusedThoughTheChainFits) {
  const auto with = [](const LedgerEntry& entry) {
    Files files = Make(0);
    const base::Bytes record = WriteLedgerRecord(entry, LedgerGenesis(WardHeader()));
    files.ledger.insert(files.ledger.end(), record.begin(), record.end());
    return Refusal(files.ledger, files.anchor);
  };
  LedgerEntry entry = Entry(0);
  entry.event.sampling_rate = 1.5;
  EXPECT_THAT(with(entry), HasSubstr("sampling_rate is 1.5"));
  entry = Entry(0);
  entry.event.noise_stddev = std::nan("");
  EXPECT_THAT(with(entry), HasSubstr("noise_stddev is nan"));
  entry = Entry(0);
  entry.count = 0;
  EXPECT_THAT(with(entry), HasSubstr("0 releases"));
  entry = Entry(0);
  entry.kind = static_cast<ChargeKind>(6);
  EXPECT_THAT(with(entry), HasSubstr("field `kind` has the unknown value 6"));
  entry = Entry(0);
  entry.event.unit = accounting::Unit::kRecord;
  EXPECT_THAT(with(entry), HasSubstr("unit record"));
  entry = Entry(0);
  entry.event.sampling = accounting::Sampling::kNone;
  entry.event.sampling_rate = 1;
  EXPECT_THAT(with(entry), HasSubstr("without sampling, but announced attempts"));

  LedgerHeader header = WardHeader();
  header.population = "";
  EXPECT_THAT(base::Message(CheckLedgerHeader(header)), HasSubstr("1 to 255 printable"));
  header.population = "a\nb";
  EXPECT_FALSE(CheckLedgerHeader(header).ok());
  header.population = std::string(256, 'x');
  EXPECT_FALSE(CheckLedgerHeader(header).ok());
}

TEST(LedgerTest, RulesAreNotMixed) {
  LedgerEntry own = Entry(0);
  own.rule = ChargingRule::kOwnSeals;
  const absl::Status amplified = CheckLedgerEntry(own, WardHeader());
  EXPECT_EQ(amplified.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(base::Message(amplified), HasSubstr("amplified by fixed-size sampling"));
  LedgerEntry seal = Entry(0);
  seal.event.sampling = accounting::Sampling::kNone;
  seal.event.sampling_rate = 1;
  EXPECT_EQ(CheckLedgerEntry(seal, WardHeader()).code(), absl::StatusCode::kFailedPrecondition);
  seal.rule = ChargingRule::kOwnSeals;
  EXPECT_TRUE(CheckLedgerEntry(seal, WardHeader()).ok());
  seal.kind = ChargeKind::kCatchingUp;
  EXPECT_THAT(base::Message(CheckLedgerEntry(seal, WardHeader())),
              HasSubstr("no attempts to catch up on"));
}

}  // namespace
}  // namespace tacet::ledger
