#include "tacet/ledger/row_sketch.h"

#include <algorithm>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"
#include "tacet/crypto/hash.h"

namespace tacet::ledger {
namespace {

using ::testing::HasSubstr;

crypto::SecretBytes SketchKeyOf(uint8_t byte) {
  crypto::SecretBytes key(kSketchKeyBytes);
  std::ranges::fill(key.Expose(), byte);
  return key;
}

RowSketch SketchOf(const std::vector<std::vector<std::string>>& rows, uint8_t key_byte = 1) {
  const crypto::SecretBytes key = SketchKeyOf(key_byte);
  RowSketcher sketcher(key);
  for (const std::vector<std::string>& row : rows) sketcher.Add(row);
  return sketcher.Finish();
}

// Rows `first` to `last` of a table of numbers.
std::vector<std::vector<std::string>> TableRows(int first, int last) {
  std::vector<std::vector<std::string>> rows;
  for (int i = first; i < last; ++i) {
    rows.push_back({std::to_string(i), std::to_string(7 * i), "f", ""});
  }
  return rows;
}

RowSketch Full() {
  std::vector<uint64_t> digests;
  for (uint64_t i = 0; i < kMaxSketchRows; ++i) digests.push_back(2 * i);
  return RowSketch::Of(digests);
}

TEST(RowSketchTest, KeepsAQuarterAndNothingAboveTheThreshold) {
  const RowSketch sketch = SketchOf(TableRows(0, 4000));
  EXPECT_GT(sketch.digests().size(), 800u);  // 1000 +- 27: 7 standard deviations
  EXPECT_LT(sketch.digests().size(), 1200u);
  EXPECT_LT(sketch.digests().back(), kSketchThreshold);
  EXPECT_TRUE(std::ranges::is_sorted(sketch.digests()));
}

// The same rows under another name, in another order, with columns moved, renamed or added empty.
TEST(RowSketchTest, OrderAndNamesDoNotCount) {
  std::vector<std::vector<std::string>> rows = TableRows(0, 400);
  const RowSketch sketch = SketchOf(rows);
  std::ranges::reverse(rows);
  for (std::vector<std::string>& row : rows) {
    std::rotate(row.begin(), row.begin() + 1, row.end());
    row.emplace_back();
  }
  EXPECT_EQ(SketchOf(rows), sketch);
  rows.insert(rows.end(), rows.begin(), rows.end());  // nor does how often
  EXPECT_EQ(SketchOf(rows), sketch);
  rows[0][0] += "1";
  rows.push_back({"", ""});
  EXPECT_GE(SketchOf(rows).ShareIn(sketch), 0.98);
}

TEST(RowSketchTest, FieldsAreKeptApart) {
  const std::vector<std::vector<std::string>> rows = {{"ab", "c"}, {"a", "bc"}, {"abc"}};
  for (uint8_t byte = 0; byte < 64; ++byte) {  // some key keeps each of them
    const RowSketch one = SketchOf({rows[0]}, byte), two = SketchOf({rows[1]}, byte);
    EXPECT_EQ(one.ShareIn(two), 0);
    EXPECT_EQ(one.ShareIn(SketchOf({rows[2]}, byte)), 0);
  }
}

TEST(RowSketchTest, TellsTheShareOfRows) {
  const RowSketch all = SketchOf(TableRows(0, 4000));
  EXPECT_EQ(SketchOf(TableRows(1000, 2000)).ShareIn(all), 1);
  EXPECT_EQ(SketchOf(TableRows(4000, 5000)).ShareIn(all), 0);
  const double half = SketchOf(TableRows(3000, 5000)).ShareIn(all);
  EXPECT_NEAR(half, 0.5, 0.17);  // about 500 rows: 7 standard deviations
  EXPECT_EQ(RowSketch().ShareIn(all), 0);
  EXPECT_EQ(all.ShareIn(RowSketch()), 0);
  EXPECT_EQ(SketchOf(TableRows(0, 2000)).With(SketchOf(TableRows(1000, 4000))), all);
}

// In a full sketch only rows up to its largest digest are known.
TEST(RowSketchTest, AFullSketchIsComparedAsFarAsItReaches) {
  const RowSketch full = Full();
  EXPECT_EQ(full.With(RowSketch::Of({5})).digests().size(), kMaxSketchRows);
  EXPECT_EQ(RowSketch::Of({4, kSketchThreshold - 1}).ShareIn(full), 1);
  EXPECT_EQ(RowSketch::Of({4, 5}).ShareIn(full), 0.5);
  EXPECT_EQ(RowSketch::Of({kSketchThreshold - 1}).ShareIn(full), 0);
}

// Without the key, a guess of a whole row is confirmed by nothing: under every other key it has
// another digest.
TEST(RowSketchTest, AnotherKeyKnowsNoRow) {
  const RowSketch sketch = SketchOf(TableRows(0, 4000), 1);
  EXPECT_EQ(SketchOf(TableRows(0, 4000), 2).ShareIn(sketch), 0);
  EXPECT_EQ(
      base::Message(ReadRowSketch(WriteRowSketch(sketch, SketchKeyOf(1)), SketchKeyOf(2)).status()),
      "sketch of rows: it was made under another key");
}

// docs/formats/ledger.md, by an independent program.
TEST(RowSketchTest, ARowsDigestIsTheDocumentedOne) {
  const crypto::SecretBytes key = SketchKeyOf(1);
  const base::Bytes row = {1, 0, 0, 0, '4', 2, 0, 0, 0, '5', '1'};
  const uint64_t digest = crypto::KeyedHash64(key, row);
  EXPECT_EQ(digest, uint64_t{891772217102760755});
  EXPECT_EQ(SketchOf({{"51", "", "4"}}), RowSketch::Of({digest}));
}

TEST(RowSketchTest, WhatWasWrittenIsReadAndDamageIsNamed) {
  for (const RowSketch& sketch : {RowSketch(), SketchOf(TableRows(0, 100)), Full()}) {
    ASSERT_OK_AND_ASSIGN(const auto read,
                         ReadRowSketch(WriteRowSketch(sketch, SketchKeyOf(1)), SketchKeyOf(1)));
    EXPECT_EQ(read, sketch);
  }
  const base::Bytes bytes = WriteRowSketch(SketchOf(TableRows(0, 100)), SketchKeyOf(1));
  for (size_t at = 0; at < bytes.size(); ++at) {
    base::Bytes other = bytes;
    other[at] ^= 0x40;
    EXPECT_FALSE(ReadRowSketch(other, SketchKeyOf(1)).ok()) << at;
    other.resize(at);
    EXPECT_EQ(ReadRowSketch(other, SketchKeyOf(1)).status().code(), absl::StatusCode::kDataLoss)
        << at;
  }
  base::Bytes many = bytes;
  many[38] = many[39] = many[40] = 0xFF;
  EXPECT_THAT(base::Message(ReadRowSketch(many, SketchKeyOf(1)).status()),
              HasSubstr("field `count` is 16777215, at most 65536 are kept"));
}

}  // namespace
}  // namespace tacet::ledger
