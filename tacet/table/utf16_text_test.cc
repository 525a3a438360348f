#include "tacet/table/utf16_text.h"

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/temporary_folder_for_test.h"
#include "tacet/table/table_file.h"

namespace tacet::table {
namespace {

using ::testing::HasSubstr;

class Bytes final : public TextSource {
 public:
  explicit Bytes(std::string bytes) : bytes_(std::move(bytes)) {}
  std::optional<size_t> Read(std::span<char> piece) override {
    const std::string part = bytes_.substr(read_, piece.size());
    std::ranges::copy(part, piece.begin());
    read_ += part.size();
    return part.size();
  }

 private:
  std::string bytes_;
  size_t read_ = 0;
};

// With a byte order mark.
std::string Utf16(std::u16string_view text, ByteOrder order) {
  std::string bytes;
  std::u16string marked = u"\xFEFF";
  marked += text;
  for (const char16_t unit : marked) {
    const char high = static_cast<char>(unit >> 8), low = static_cast<char>(unit & 0xFF);
    bytes += order == ByteOrder::kLittle ? std::string{low, high} : std::string{high, low};
  }
  return bytes;
}

std::string Decoded(const std::string& bytes, size_t piece) {
  Utf16Source source(std::make_unique<Bytes>(bytes), *Utf16OrderOf(bytes));
  std::string text, part(piece, '\0');
  while (true) {
    const size_t read = source.Read(part).value();
    text.append(part, 0, read);
    if (read < piece) return text;
  }
}

constexpr std::u16string_view kText = u"name\t\u00E9\u20AC\r\nM\u00FCller\t\xD83E\xDE7A\r\n";

TEST(Utf16Test, BothOrdersGiveTheTextInPiecesOfAnySize) {
  for (const ByteOrder order : {ByteOrder::kLittle, ByteOrder::kBig}) {
    const std::string bytes = Utf16(kText, order);
    for (size_t piece = 1; piece < 50; ++piece) {
      EXPECT_EQ(Decoded(bytes, piece),
                "name\t\xC3\xA9\xE2\x82\xAC\r\nM\xC3\xBCller\t\xF0\x9F\xA9\xBA\r\n");
    }
  }
  // A character across the pieces in which the file is read.
  std::u16string text(65534 / 2 - 1, u'a');
  text += u"\xD83E\xDE7A";
  const std::string decoded = Decoded(Utf16(text, ByteOrder::kLittle), 1000);
  EXPECT_TRUE(decoded == std::string(65534 / 2 - 1, 'a') + "\xF0\x9F\xA9\xBA");
}

TEST(Utf16Test, OtherFilesAreNotTakenForIt) {
  using namespace std::string_view_literals;
  EXPECT_EQ(Utf16OrderOf("\xFF\xFE\0\0"sv), std::nullopt);  // UTF-32
  EXPECT_EQ(Utf16OrderOf("a\0b\0"sv), std::nullopt);        // without a mark
  EXPECT_EQ(Utf16OrderOf("\xEF\xBB\xBF"
                         "a"),
            std::nullopt);
  EXPECT_EQ(Utf16OrderOf(""), std::nullopt);
}

class Utf16FileTest : public ::testing::Test {
 protected:
  absl::StatusOr<TableFile> Open(const std::string& bytes) {
    const std::filesystem::path path = folder_.path() / "table.csv";
    std::ofstream(path, std::ios::binary) << bytes;
    return TableFile::Open(path);
  }
  base::TemporaryFolder folder_;
};

TEST_F(Utf16FileTest, AFileHasTheRecordsOfItsText) {
  for (const ByteOrder order : {ByteOrder::kLittle, ByteOrder::kBig}) {
    const auto file = Open(Utf16(kText, order));
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_FALSE(file->encoding_problem().has_value()) << ProblemText(*file->encoding_problem());
    TableRecords records = file->Records();
    std::vector<std::string> fields;
    EXPECT_EQ(FindSeparator(records, {"name"}, false), '\t');
    EXPECT_EQ(records.Next('\t', fields), TableRecords::Result::kRecord);
    EXPECT_EQ(fields[1], "\xC3\xA9\xE2\x82\xAC");
    EXPECT_EQ(records.Next('\t', fields), TableRecords::Result::kRecord);
    EXPECT_EQ(fields[0], "M\xC3\xBCller");
    EXPECT_EQ(records.Next('\t', fields), TableRecords::Result::kEnd);
  }
}

TEST_F(Utf16FileTest, HalvesOfCharactersAreToldWithTheirLine) {
  const auto fault = [this](const std::string& bytes) {
    const auto file = Open(bytes);
    if (!file.ok() || !file->encoding_problem().has_value()) return std::string();
    return ProblemText(*file->encoding_problem());
  };
  for (const std::u16string& half :
       {std::u16string(u"a\nb\xD83E"
                       u"c\n"),
        std::u16string(u"a\nb\xDE7A\n"), std::u16string(u"a\nb\xD83E")}) {
    EXPECT_THAT(fault(Utf16(half, ByteOrder::kLittle)), HasSubstr("csv:2: half of a character"));
  }
  EXPECT_THAT(fault(Utf16(u"a\nb", ByteOrder::kBig) + "c"), HasSubstr("csv:2: byte 0xff"));
  EXPECT_THAT(fault(Utf16(std::u16string_view(u"a\n\0", 3), ByteOrder::kBig)),
              HasSubstr("csv:2: a zero byte"));
  EXPECT_EQ(fault(Utf16(u"", ByteOrder::kLittle)), "");
}

}  // namespace
}  // namespace tacet::table
