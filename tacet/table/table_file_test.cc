#include "tacet/table/table_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/base/temporary_folder_for_test.h"

namespace tacet::table {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Result = TableRecords::Result;

// A text in memory that is read as a file is; unreadable from `fails_at` on.
class TextInPieces final : public TextSource {
 public:
  explicit TextInPieces(std::string_view text, size_t fails_at = std::string_view::npos)
      : text_(text), fails_at_(fails_at) {}
  std::optional<size_t> Read(std::span<char> piece) override {
    if (read_ + piece.size() > fails_at_) return std::nullopt;
    const std::string_view part = text_.substr(read_, piece.size());
    std::ranges::copy(part, piece.begin());
    read_ += part.size();
    return part.size();
  }

 private:
  std::string_view text_;
  size_t fails_at_;
  size_t read_ = 0;
};

// Results, lines and fields of all records.
std::vector<std::string> All(TableRecords records, char separator = ',') {
  std::vector<std::string> all, fields;
  while (true) {
    const Result result = records.Next(separator, fields);
    if (result == Result::kEnd) return all;
    std::string text =
        std::to_string(records.line()) + "/" + std::to_string(static_cast<int>(result)) + ":";
    for (const std::string& field : fields) text += field + "|";
    all.push_back(std::move(text));
  }
}

TableRecords InPieces(std::string_view text, size_t piece) {
  return TableRecords(std::make_unique<TextInPieces>(text), text.find('\n') != text.npos, piece);
}

TEST(TableFileTest, PiecesOfAnySizeGiveTheRecordsOfTheWhole) {
  const std::vector<std::string> texts = {
      "a,b\n\n1,2\n",
      "\xEF\xBB\xBF"
      "sep=;\r\na,b\r\n\r\n1,\"2\"\"\"\r\n",
      "a,b\r\r1,2\r",
      "a,b\rc\n\"x\ry\"\r\n\"x\r\ny\" \xC2\xA0,1\r\n",
      "\"a\nb\",\"c\"\"d\"\r\n1,\"x,y\"\n,\n , \n",
      "a,b\n\"1,2\n3,4\n5,6\n",
      "a\n\"1\" 2\n\"3\"\xC2\xA0\xC2\xA0\n\"4\"\xC3\xA4\n5",
      "  \n \t \n\xC2\xA0\n",
      "",
      "\"",
      "a,\"",
  };
  for (const std::string& text : texts) {
    const std::vector<std::string> whole = All(TableRecords(text));
    for (size_t piece = 1; piece <= text.size() + 2; ++piece) {
      EXPECT_EQ(All(InPieces(text, piece)), whole) << text << " in pieces of " << piece;
      TableRecords records = InPieces(text, piece), in_memory(text);
      EXPECT_EQ(ChooseSeparator(records, "x.csv", std::nullopt, {"b"}, false),
                ChooseSeparator(in_memory, "x.csv", std::nullopt, {"b"}, false));
      EXPECT_EQ(All(std::move(records)), All(std::move(in_memory)));
    }
  }
}

TEST(TableFileTest, PeekingLeavesTheRecord) {
  const std::string text = "\na;b\n\"1\";2\n";
  for (const size_t piece : {1, 3, 100}) {
    TableRecords records = InPieces(text, piece);
    std::vector<std::string> fields;
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(records.Peek(';', fields), Result::kRecord);
      EXPECT_THAT(fields, ElementsAre("a", "b"));
    }
    EXPECT_EQ(records.Next(';', fields), Result::kRecord);
    EXPECT_EQ(records.line(), 2u);
    EXPECT_EQ(records.Peek(',', fields), Result::kTextAfterQuote);
    EXPECT_THAT(All(std::move(records), ';'), ElementsAre("3/0:1|2|"));
  }
}

// Memory for a record has a bound, whatever the text says.
TEST(TableFileTest, ARecordHasALongestLength) {
  const std::string long_line(TableRecords::kMaxRecordBytes, 'x');
  std::vector<std::string> fields;
  const std::string text = "a\n" + long_line + "x\nb\n";
  TableRecords records = InPieces(text, TableRecords::kPieceBytes);
  EXPECT_EQ(records.Next(',', fields), Result::kRecord);
  EXPECT_EQ(records.Next(',', fields), Result::kTooLong);
  EXPECT_EQ(records.line(), 2u);
  EXPECT_THAT(RecordFault(Result::kTooLong, ',')->what, HasSubstr("a row of more than 64 MiB"));
  EXPECT_EQ(records.Next(',', fields), Result::kEnd);
  // A quote that does not close within it does not close.
  const std::string quoted = "\"a\n" + long_line + "\n\"\nb\n";
  TableRecords quotes = InPieces(quoted, TableRecords::kPieceBytes);
  EXPECT_EQ(quotes.Next(',', fields), Result::kUnclosedQuote);
  EXPECT_EQ(quotes.line(), 1u);
}

TEST(TableFileTest, AFailingSourceIsToldBeforeTheEnd) {
  const std::string text = "a,b\n1,2\n3,4\n";
  TableRecords records(std::make_unique<TextInPieces>(text, 8), true, 4);
  EXPECT_THAT(All(std::move(records)).back(), HasSubstr("/5:"));
  EXPECT_FALSE(IsFaultOfField(Result::kUnreadable));
  EXPECT_THAT(RecordFault(Result::kUnreadable, ',')->what, HasSubstr("cannot be read to its end"));
}

class FileTest : public ::testing::Test {
 protected:
  std::filesystem::path Write(std::string_view text) {
    const std::filesystem::path path = folder_.path() / "table.csv";
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  base::TemporaryFolder folder_;
};

TEST_F(FileTest, AFileHasTheRecordsOfItsText) {
  std::string text = "id,name\n";
  // More than three pieces.
  for (int i = 0; i < 45'000; ++i) text += std::to_string(i) + ",\"M\xC3\xBCller, E.\"\n";
  const auto file = TableFile::Open(Write(text));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_FALSE(file->encoding_problem().has_value());
  EXPECT_TRUE(All(file->Records()) == All(TableRecords(text)));
  EXPECT_TRUE(All(file->Records()) == All(TableRecords(text)));  // again
  EXPECT_THAT(All(TableFile::Open(Write("a,b\r1,2"))->Records()),
              ElementsAre("1/0:a|b|", "2/0:1|2|"));
  EXPECT_THAT(All(TableFile::Open(Write(""))->Records()), ElementsAre());
}

// The same fault as of the text in memory, wherever between two pieces it stands.
TEST_F(FileTest, EncodingsAreJudgedAcrossPieces) {
  for (const std::string& wrong : {std::string("\xE4"), std::string("\0", 1), std::string("\xC3"),
                                   std::string("x\0y\0z", 5)}) {
    for (size_t before = 0; before < 12; ++before) {
      std::string text(TableRecords::kPieceBytes - before, 'a');
      text[5] = '\n';
      text += "\xC3\xA4" + wrong + "bcdefgh\n";
      const auto file = TableFile::Open(Write(text));
      ASSERT_TRUE(file.ok()) << file.status();
      const std::string path = file->path().string();
      ASSERT_TRUE(file->encoding_problem().has_value()) << before;
      EXPECT_EQ(ProblemText(*file->encoding_problem()), ProblemText(*EncodingProblem(text, path)));
      EXPECT_EQ(file->encoding_problem()->line, 2u);
    }
  }
  EXPECT_THAT(ProblemText(*TableFile::Open(Write("PK\x03\x04"))->encoding_problem()),
              HasSubstr("a workbook"));
}

TEST_F(FileTest, AFileThatChangesIsNotATable) {
  const std::filesystem::path path = Write("a\n1\n2\n");
  const auto file = TableFile::Open(path);
  ASSERT_TRUE(file.ok());
  Write("a\n1\n2\n3\n");
  EXPECT_THAT(All(file->Records()).back(), HasSubstr("/5:"));
  Write("a\n1\n");
  EXPECT_THAT(All(file->Records()).back(), HasSubstr("/5:"));
  // The same length at another time.
  Write("a\n1\n3\n");
  std::filesystem::last_write_time(
      path, std::filesystem::last_write_time(path) + std::chrono::seconds(5));
  EXPECT_THAT(All(file->Records()).back(), HasSubstr("/5:"));
}

TEST_F(FileTest, WhatIsNoFileIsRefused) {
  EXPECT_EQ(TableFile::Open(folder_.path()).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(TableFile::Open(folder_.path() / "none.csv").status().code(),
            absl::StatusCode::kNotFound);
  // Sparse: 4 GiB and a byte.
  const std::filesystem::path path = Write("a\n");
  std::filesystem::resize_file(path, (uint64_t{1} << 32) + 1);
  EXPECT_THAT(base::Message(TableFile::Open(path).status()),
              HasSubstr("4294967297 bytes, at most 4294967296 are read"));
}

}  // namespace
}  // namespace tacet::table
