#include "tacet/data/idx.h"

#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <zlib.h>

#include "tacet/base/status.h"

namespace tacet::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Idx(uint8_t type, const std::vector<uint32_t>& sizes, const std::string& data) {
  std::string bytes = {0, 0, static_cast<char>(type), static_cast<char>(sizes.size())};
  for (const uint32_t size : sizes) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      bytes.push_back(static_cast<char>((size >> shift) & 0xff));
    }
  }
  return bytes + data;
}

std::string Gzip(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 16 + 15, 9, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

absl::StatusOr<IdxArray> Read(const std::string& bytes, IdxType type = IdxType::kU8,
                              size_t rank = 1) {
  std::istringstream in(bytes);
  return ReadIdx(in, bytes.size(), "some.idx", type, rank);
}

void ExpectError(const absl::StatusOr<IdxArray>& result, absl::StatusCode code,
                 const std::string& message) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), code);
  EXPECT_THAT(base::Message(result.status()), HasSubstr("some.idx: "));
  EXPECT_THAT(base::Message(result.status()), HasSubstr(message));
}

TEST(IdxTest, ReadsBytesOfThreeDimensions) {
  const auto array = Read(Idx(0x08, {2, 1, 3}, "abcdef"), IdxType::kU8, 3);
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_THAT(array->sizes, ElementsAre(2, 1, 3));
  EXPECT_THAT(array->bytes, ElementsAre('a', 'b', 'c', 'd', 'e', 'f'));
}

TEST(IdxTest, ReadsBigEndianIntegersWithSign) {
  const auto array =
      Read(Idx(0x0C, {2}, std::string("\x00\x00\x01\x02\xff\xff\xff\xfe", 8)), IdxType::kI32, 1);
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ(array->Int32(0), 258);
  EXPECT_EQ(array->Int32(1), -2);
}

TEST(IdxTest, ReadsGzipOfOneOrMoreMembers) {
  const std::string plain = Idx(0x08, {5}, "hello");
  for (const std::string& bytes : {Gzip(plain), Gzip(plain.substr(0, 7)) + Gzip(plain.substr(7))}) {
    const auto array = Read(bytes);
    ASSERT_TRUE(array.ok()) << array.status();
    EXPECT_THAT(array->bytes, ElementsAre('h', 'e', 'l', 'l', 'o'));
  }
}

TEST(IdxTest, AnArrayMayBeEmpty) {
  const auto array = Read(Idx(0x08, {0, 28, 28}, ""), IdxType::kU8, 3);
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_TRUE(array->bytes.empty());
}

TEST(IdxTest, RefusesEveryTruncation) {
  const std::string plain = Idx(0x08, {5}, "hello");
  for (size_t size = 0; size < plain.size(); ++size) {
    EXPECT_EQ(Read(plain.substr(0, size)).status().code(), absl::StatusCode::kDataLoss) << size;
  }
  const std::string packed = Gzip(plain);
  for (size_t size = 0; size < packed.size(); ++size) {
    EXPECT_EQ(Read(packed.substr(0, size)).status().code(), absl::StatusCode::kDataLoss) << size;
  }
  ExpectError(Read(plain.substr(0, 6)), absl::StatusCode::kDataLoss, "IDX header cut short");
  ExpectError(Read(packed.substr(0, packed.size() - 1)), absl::StatusCode::kDataLoss,
              "gzip data are cut short");
}

TEST(IdxTest, RefusesSurplusBytes) {
  const std::string plain = Idx(0x08, {5}, "hello!");
  ExpectError(Read(plain), absl::StatusCode::kDataLoss, "more data than the 5 bytes");
  ExpectError(Read(Gzip(plain)), absl::StatusCode::kDataLoss, "more data than the 5 bytes");
  ExpectError(Read(Gzip(Idx(0x08, {5}, "hello")) + "rest"), absl::StatusCode::kDataLoss,
              "gzip data are malformed");
}

TEST(IdxTest, RefusesAnotherKindOfFile) {
  ExpectError(Read("PK\x03\x04 something"), absl::StatusCode::kDataLoss, "not an IDX file");
  ExpectError(Read(Idx(0x0D, {1}, "abcd")), absl::StatusCode::kInvalidArgument,
              "element type is 0x0d, expected 0x08");
  ExpectError(Read(Idx(0x08, {1, 1}, "a")), absl::StatusCode::kInvalidArgument,
              "2 dimensions, expected 1");
}

TEST(IdxTest, RefusesSizesTheFileCannotHoldBeforeTakingMemory) {
  ExpectError(Read(Idx(0x08, {4'000'000'000u}, "abc")), absl::StatusCode::kDataLoss,
              "announces 4000000000 bytes, which a file of 11 bytes cannot hold");
  ExpectError(Read(Gzip(Idx(0x08, {4'000'000'000u}, "abc"))), absl::StatusCode::kDataLoss,
              "which a gzip file of");
  ExpectError(Read(Idx(0x08, {0xffffffffu, 0xffffffffu, 0xffffffffu}, ""), IdxType::kU8, 3),
              absl::StatusCode::kInvalidArgument, "more than 4294967296 bytes");
  ExpectError(Read(Idx(0x0C, {0xffffffffu}, ""), IdxType::kI32), absl::StatusCode::kInvalidArgument,
              "more than 4294967296 bytes");
}

// 64 MiB of zeros in 64 kB: only the announced five bytes and one more are ever expanded.
TEST(IdxTest, DoesNotExpandAGzipBomb) {
  const std::string bomb = Gzip(Idx(0x08, {5}, std::string(size_t{64} << 20, '\0')));
  EXPECT_LT(bomb.size(), 100'000u);
  ExpectError(Read(bomb), absl::StatusCode::kDataLoss, "more data than the 5 bytes");
}

TEST(IdxTest, NamesAFileThatCannotBeRead) {
  const auto array = ReadIdxFile("/nowhere/labels", IdxType::kU8, 1);
  EXPECT_EQ(array.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(base::Message(array.status()), "/nowhere/labels: the file cannot be read");
}

}  // namespace
}  // namespace tacet::data
