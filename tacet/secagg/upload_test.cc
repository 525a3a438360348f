#include "tacet/secagg/upload.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/secagg/small_round_for_test.h"
#include "tacet/secagg/whole_messages_for_test.h"

namespace tacet::secagg {
namespace {

using ::testing::HasSubstr;
using namespace testing;  // NOLINT: tacet::secagg::testing

class UploadTest : public ::testing::Test {
 protected:
  SmallRound round_{SmallTerms(100, 3)};
  base::Bytes upload_ = round_.Upload(0);

  std::string Refusal() {
    const auto read = ReadUpload(upload_, round_.attempt(), round_.params());
    EXPECT_FALSE(read.ok());
    return base::Message(read.status());
  }
};

TEST_F(UploadTest, RoundTrip) {
  const auto view = ValueOf(ReadUpload(upload_, round_.attempt(), round_.params()));
  EXPECT_EQ(view.attempt, round_.attempt());
  EXPECT_EQ(view.dimension, 100u);
  EXPECT_EQ(upload_.size(), UploadBytes(round_.params()));
  EXPECT_EQ(WriteUpload(view.attempt, round_.params(), view.nonce, view.ciphertext), upload_);
  EXPECT_EQ(view.ciphertext.data() - upload_.data(), static_cast<ptrdiff_t>(kUploadCiphertext));
}

TEST_F(UploadTest, RefusesTruncatedAndOversized) {
  const base::Bytes whole = upload_;
  for (const size_t size : {size_t{0}, size_t{5}, size_t{111}, whole.size() - 1}) {
    upload_.assign(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_THAT(Refusal(), HasSubstr("upload has " + std::to_string(size) + " bytes"));
  }
  upload_ = whole;
  upload_.push_back(0);
  EXPECT_THAT(Refusal(), HasSubstr("bytes, uploads of this federation have"));
}

TEST_F(UploadTest, NamesTheFieldThatIsWrong) {
  struct Case {
    size_t offset;
    const char* message;
  };
  for (const Case& wrong :
       {Case{0, "field `magic`"}, Case{4, "field `version`"},
        Case{kUploadManifestHash, "manifest hash"}, Case{38, "epoch"},
        Case{kUploadRound, "upload is for round 13, expected 12"},
        Case{kUploadAttempt, "upload is for attempt 0, expected 1"},
        Case{kUploadModelDigest, "model digest"}, Case{kUploadScheme, "scheme"},
        Case{83, "field `reserved`"},
        Case{kUploadDimension, "upload for round 12 has dimension 101, the manifest says 100"}}) {
    base::Bytes good = upload_;
    upload_[wrong.offset] ^= 1;
    FixChecksum(upload_);
    EXPECT_THAT(Refusal(), HasSubstr(wrong.message));
    upload_ = good;
  }
}

// Version 1 carried the MAC in clear.
TEST_F(UploadTest, RefusesVersionOneByName) {
  ASSERT_EQ(upload_[4], 2);
  upload_[4] = 1;
  FixChecksum(upload_);
  EXPECT_THAT(Refusal(), HasSubstr("upload: field `version` is 1, this program reads version 2"));
}

// Besides ciphertext and shares an upload holds nothing that depends on its counts, and its length
// follows from the agreement.
TEST_F(UploadTest, IsHeadCiphertextSharesAndTheirChecksum) {
  const he::AggregationParams& params = round_.params();
  EXPECT_EQ(upload_.size(),
            112 + 12 * (params.used_coefficients() + 3) + params.share_bytes() + 16);
  base::Bytes other = round_.UploadOf(std::vector<uint32_t>(100, 7), 0, round_.attempt());
  std::copy_n(upload_.begin() + kUploadNonce, 16, other.begin() + kUploadNonce);
  EXPECT_TRUE(std::equal(upload_.begin(), upload_.begin() + kUploadCiphertext, other.begin()));
  EXPECT_EQ(WriteUpload(round_.attempt(), params, NonceOf(upload_), CiphertextOf(other)).size(),
            upload_.size());
}

TEST_F(UploadTest, EveryFlippedByteIsNoticed) {
  for (size_t i = 0; i < upload_.size(); i += 3) {
    upload_[i] ^= 0x40;
    EXPECT_FALSE(ReadUpload(upload_, round_.attempt(), round_.params()).ok()) << i;
    upload_[i] ^= 0x40;
  }
  upload_[kUploadCiphertext + 50] ^= 1;
  EXPECT_THAT(Refusal(), HasSubstr("field `checksum`"));
}

}  // namespace
}  // namespace tacet::secagg
