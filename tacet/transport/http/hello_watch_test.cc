#include "tacet/transport/http/hello_watch.h"

#include <string>

#include <gtest/gtest.h>

#include "tacet/base/bytes.h"

namespace tacet::transport::http {
namespace {

std::string Record(uint8_t type, const std::string& content) {
  std::string record{static_cast<char>(type), 3, 1};
  record += static_cast<char>(content.size() >> 8);
  record += static_cast<char>(content.size() & 0xFF);
  return record + content;
}
std::string Message(size_t announced, size_t bytes) {
  std::string message{1};
  for (const int shift : {16, 8, 0}) message += static_cast<char>(announced >> shift & 0xFF);
  return message + std::string(bytes, 'x');
}

// Whole, and in pieces of every small size.
bool Admits(const std::string& bytes) {
  HelloWatch whole;
  const bool admitted = whole.Admits(base::AsBytes(bytes));
  for (size_t step = 1; step <= 12; ++step) {
    HelloWatch watch;
    bool all = true;
    for (size_t at = 0; at < bytes.size(); at += step) {
      all = watch.Admits(base::AsBytes(bytes.substr(at, step)));
    }
    EXPECT_EQ(all, admitted) << step;
  }
  return admitted;
}

TEST(HelloWatchTest, AdmitsHellosOfUsualLengths) {
  EXPECT_TRUE(Admits(""));
  EXPECT_TRUE(Admits(Record(22, Message(500, 500))));
  EXPECT_TRUE(Admits(Record(22, Message(kMaxHelloBytes, kMaxHelloBytes))));
  EXPECT_TRUE(Admits(Record(22, Message(0, 0))));
  // Two of them, and a change of ciphers between.
  EXPECT_TRUE(
      Admits(Record(22, Message(500, 500)) + Record(20, "\1") + Record(22, Message(600, 600))));
  // In records of a few bytes, some of them empty.
  std::string split;
  const std::string hello = Message(300, 300);
  for (size_t at = 0; at < hello.size(); at += 7) {
    split += Record(22, hello.substr(at, 7)) + Record(22, "");
  }
  EXPECT_TRUE(Admits(split + split));
}

TEST(HelloWatchTest, RefusesALengthWhenItIsAnnounced) {
  EXPECT_FALSE(Admits(Record(22, Message(kMaxHelloBytes + 1, 0))));
  EXPECT_FALSE(Admits(Record(22, Message(0xFFFFFF, 0))));
  EXPECT_FALSE(Admits(Record(22, Message(500, 500)) + Record(22, Message(131'000, 0))));
  EXPECT_FALSE(Admits(Record(22, Message(500, 500) + Message(131'000, 0))));
  const std::string header = Message(131'000, 0);
  EXPECT_FALSE(
      Admits(Record(22, header.substr(0, 1)) + Record(20, "\1") + Record(22, header.substr(1))));
}

TEST(HelloWatchTest, EncryptedRecordsAreNotLookedInto) {
  EXPECT_TRUE(Admits(Record(22, Message(500, 500)) + Record(23, Message(0xFFFFFF, 0))));
}

}  // namespace
}  // namespace tacet::transport::http
