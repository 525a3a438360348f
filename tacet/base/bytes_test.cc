#include "tacet/base/bytes.h"

#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"

namespace tacet::base {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ByteWriterTest, FieldsAreLittleEndian) {
  ByteWriter writer;
  writer.U8(0x01);
  writer.U16(0x0302);
  writer.U32(0x07060504);
  writer.U64(0x0f0e0d0c0b0a0908);
  Bytes expected;
  for (uint8_t i = 1; i <= 15; ++i) expected.push_back(i);
  EXPECT_EQ(writer.bytes(), expected);
}

TEST(ByteWriterTest, DoubleIsItsIeeeBits) {
  ByteWriter writer;
  writer.F64(1.0);
  EXPECT_EQ(ToHex(writer.bytes()), "000000000000f03f");
}

TEST(ByteWriterTest, BlobHasItsLengthBefore) {
  ByteWriter writer;
  writer.Blob("ab");
  writer.Raw("c");
  EXPECT_THAT(writer.Take(), ElementsAre(2, 0, 0, 0, 'a', 'b', 'c'));
}

TEST(ByteReaderTest, ReadsWhatWasWritten) {
  ByteWriter writer;
  writer.Raw("MAGC");
  writer.U8(255);
  writer.U16(65535);
  writer.U32(std::numeric_limits<uint32_t>::max());
  writer.U64(std::numeric_limits<uint64_t>::max());
  writer.F64(-0.1);
  writer.Blob(Bytes{1, 2, 3});
  writer.Blob("text");
  writer.Blob("");

  ByteReader reader(writer.bytes(), "message");
  EXPECT_TRUE(reader.Expect(AsBytes("MAGC"), "magic").ok());
  EXPECT_EQ(*reader.ReadU8("a"), 255);
  EXPECT_EQ(*reader.ReadU16("b"), 65535);
  EXPECT_EQ(*reader.ReadU32("c"), std::numeric_limits<uint32_t>::max());
  EXPECT_EQ(*reader.ReadU64("d"), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(*reader.ReadF64("e"), -0.1);
  EXPECT_THAT(*reader.ReadBlob(3, "f"), ElementsAre(1, 2, 3));
  EXPECT_EQ(*reader.ReadString(4, "g"), "text");
  EXPECT_EQ(*reader.ReadString(0, "h"), "");
  EXPECT_EQ(reader.remaining(), 0u);
  EXPECT_TRUE(reader.ExpectEnd().ok());
}

TEST(ByteReaderTest, DoublesKeepEveryBitPattern) {
  ByteWriter writer;
  writer.F64(std::numeric_limits<double>::quiet_NaN());
  writer.F64(-std::numeric_limits<double>::infinity());
  ByteReader reader(writer.bytes(), "message");
  EXPECT_TRUE(std::isnan(*reader.ReadF64("a")));
  EXPECT_EQ(*reader.ReadF64("b"), -std::numeric_limits<double>::infinity());
}

TEST(ByteReaderTest, SaysWhichFieldIsCutShort) {
  const Bytes bytes{1, 2};
  ByteReader reader(bytes, "upload");
  const absl::Status status = reader.ReadU32("round").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Message(status), "upload: field `round` is cut short: 4 bytes needed, 2 left");
}

TEST(ByteReaderTest, EveryFieldRefusesEveryShorterMessage) {
  ByteWriter writer;
  writer.U64(3);
  const Bytes& bytes = writer.bytes();
  for (size_t size = 0; size < 8; ++size) {
    const auto cut = std::span(bytes).first(size);
    EXPECT_EQ(ByteReader(cut, "m").ReadU64("f").ok(), false) << size;
    EXPECT_EQ(ByteReader(cut, "m").ReadF64("f").ok(), false) << size;
    EXPECT_EQ(ByteReader(cut, "m").ReadBytes(8, "f").ok(), false) << size;
    EXPECT_EQ(ByteReader(cut, "m").ReadU32("f").ok(), size >= 4) << size;
    EXPECT_EQ(ByteReader(cut, "m").ReadU16("f").ok(), size >= 2) << size;
    EXPECT_EQ(ByteReader(cut, "m").ReadU8("f").ok(), size >= 1) << size;
    EXPECT_EQ(ByteReader(cut, "m").ReadBlob(100, "f").ok(), size >= 4 + 3) << size;
  }
}

TEST(ByteReaderTest, AFailedReadTakesNothing) {
  const Bytes bytes{1, 2, 3};
  ByteReader reader(bytes, "m");
  EXPECT_FALSE(reader.ReadU32("a").ok());
  EXPECT_EQ(reader.remaining(), 3u);
  EXPECT_EQ(*reader.ReadU16("b"), 0x0201);
}

TEST(ByteReaderTest, BlobLongerThanAllowedIsRefusedByItsLength) {
  ByteWriter writer;
  writer.U32(0xffffffff);
  ByteReader reader(writer.bytes(), "upload");
  const absl::Status status = reader.ReadBlob(16, "payload").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Message(status),
            "upload: field `payload` says it has 4294967295 bytes, at most 16 are allowed");
}

TEST(ByteReaderTest, BlobLongerThanTheMessageIsRefused) {
  ByteWriter writer;
  writer.U32(5);
  writer.U32(0);
  ByteReader reader(writer.bytes(), "upload");
  EXPECT_THAT(Message(reader.ReadString(16, "name").status()),
              HasSubstr("field `name` is cut short: 5 bytes needed, 4 left"));
}

TEST(ByteReaderTest, WrongConstantIsShown) {
  const Bytes bytes{0xab, 0xcd};
  ByteReader reader(bytes, "upload");
  const absl::Status status = reader.Expect(Bytes{0xab, 0xce}, "magic");
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Message(status), "upload: field `magic` is abcd, expected abce");
}

TEST(ByteReaderTest, LeftOverBytesAreRefused) {
  const Bytes bytes{1, 2, 3};
  ByteReader reader(bytes, "upload");
  ASSERT_TRUE(reader.ReadU8("a").ok());
  EXPECT_EQ(Message(reader.ExpectEnd()), "upload: 2 bytes too many at the end");
}

TEST(ByteReaderTest, EmptyMessageIsAMessage) {
  ByteReader reader({}, "m");
  EXPECT_TRUE(reader.ExpectEnd().ok());
  EXPECT_TRUE(reader.Expect({}, "nothing").ok());
  EXPECT_TRUE(reader.ReadBytes(0, "nothing").ok());
  EXPECT_FALSE(reader.ReadU8("a").ok());
}

TEST(LoadStoreTest, UnalignedLittleEndian) {
  Bytes bytes(13);
  StoreU32(0x04030201, bytes.data() + 1);
  StoreU64(0x0c0b0a0908070605, bytes.data() + 5);
  for (uint8_t i = 0; i < 13; ++i) EXPECT_EQ(bytes[i], i);
  EXPECT_EQ(LoadU32(bytes.data() + 1), 0x04030201u);
  EXPECT_EQ(LoadU64(bytes.data() + 5), 0x0c0b0a0908070605u);
}

TEST(HexTest, RoundTripInBothCases) {
  EXPECT_EQ(ToHex(Bytes{0x00, 0x9f, 0xff}), "009fff");
  EXPECT_THAT(*FromHex("009fFF"), ElementsAre(0x00, 0x9f, 0xff));
  EXPECT_TRUE(FromHex("")->empty());
}

TEST(HexTest, RefusesHalfBytesAndOtherCharacters) {
  EXPECT_EQ(Message(FromHex("abc").status()), "3 hexadecimal digits do not make whole bytes");
  EXPECT_EQ(FromHex("00g0").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Message(FromHex("00g0").status()),
            "characters 2 and 3 are not both hexadecimal digits");
  EXPECT_FALSE(FromHex("0x").ok());
  EXPECT_FALSE(FromHex(" 1").ok());
}

TEST(TextTest, BytesAndTextAreTheSameMemory) {
  const std::string text = "ab\xff";
  EXPECT_THAT(AsBytes(text), ElementsAre('a', 'b', 0xff));
  EXPECT_EQ(AsText(AsBytes(text)), text);
}

}  // namespace
}  // namespace tacet::base
