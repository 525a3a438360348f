#include "tacet/statistics/site_table.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/base/bytes.h"
#include "tacet/statistics/site_table_for_test.h"

namespace tacet::statistics {
namespace {

void AddText(base::ByteWriter& bytes, std::string_view text) {
  bytes.U32(static_cast<uint32_t>(text.size()));
  bytes.Raw(base::AsBytes(text));
}

TEST(SiteTableTest, TheDigestIsTheDocumentedOne) {
  const SiteTable table =
      TypedTableOfRows("bonn", {"age", "sex"}, {{"61.5", "m"}, {"", "f"}, {"-0", "m"}});
  ASSERT_TRUE(table.cells[0].is_numbers());
  base::ByteWriter bytes;
  bytes.U64(1);
  AddText(bytes, "bonn");
  bytes.U64(2);
  AddText(bytes, "age");
  AddText(bytes, "sex");
  bytes.U64(3);
  bytes.U8(0);
  for (const uint64_t number :
       std::vector<uint64_t>{0x404EC00000000000, 0x7FF8000000000000, 0x0000000000000000}) {
    bytes.U64(number);
  }
  bytes.U8(1);
  bytes.U64(2);
  AddText(bytes, "m");
  AddText(bytes, "f");
  for (const uint32_t text : {0u, 1u, 0u}) bytes.U32(text);
  EXPECT_EQ(TablesDigest({table}), crypto::Sha256(bytes.bytes()));
}

// Longer than one piece of what is hashed at once.
TEST(SiteTableTest, TheDigestCoversEveryCell) {
  const auto table_of = [](size_t rows, size_t changed) {
    TextRows texts;
    for (size_t row = 0; row < rows; ++row) {
      const std::string text = std::to_string(row + (row == changed ? 1'000'000 : 0));
      texts.push_back({text, "person " + text});
    }
    return TypedTableOfRows("bonn", {"age", "person"}, texts);
  };
  constexpr size_t kRows = 20'000;
  const crypto::Digest digest = TablesDigest({table_of(kRows, kRows)});
  EXPECT_EQ(TablesDigest({table_of(kRows, kRows)}), digest);
  for (const size_t row : {size_t{0}, kRows / 2, kRows - 1}) {
    EXPECT_NE(TablesDigest({table_of(kRows, row)}), digest) << row;
  }
  EXPECT_NE(TablesDigest({table_of(kRows - 1, kRows)}), digest);
}

}  // namespace
}  // namespace tacet::statistics
