#include "tacet/agreement/initial_model.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"

namespace tacet::agreement {
namespace {

using ::testing::HasSubstr;

TEST(InitialModelTest, TravelsWithItsSalt) {
  crypto::SystemEntropy entropy;
  const InitialModel model = InitialModel::WithFreshSalt({1, -2, 3e-30F}, entropy);
  const base::Bytes bytes = WriteInitialModel(model);
  EXPECT_EQ(bytes.size(), 32u + 12u);
  ASSERT_OK_AND_ASSIGN(const auto read, ReadInitialModel(bytes));
  EXPECT_EQ(read, model);
  EXPECT_EQ(read.Digest(), model.Digest());
}

// The parameters without the salt do not tell which digest is theirs.
TEST(InitialModelTest, TheDigestFollowsTheSalt) {
  crypto::SystemEntropy entropy;
  const InitialModel model = InitialModel::WithFreshSalt({1, -2}, entropy);
  EXPECT_NE(InitialModel::WithFreshSalt({1, -2}, entropy).Digest(), model.Digest());
  InitialModel other = model;
  other.parameters[1] = 2;
  EXPECT_NE(other.Digest(), model.Digest());
}

TEST(InitialModelTest, RefusesBytesThatAreNoSaltAndParameters) {
  for (const size_t size : {0, 31, 33, 35}) {
    const auto read = ReadInitialModel(base::Bytes(size));
    EXPECT_EQ(read.status().code(), absl::StatusCode::kDataLoss) << size;
    EXPECT_THAT(base::Message(read.status()), HasSubstr("are not a salt of 32 and parameters"));
  }
  EXPECT_TRUE(ReadInitialModel(base::Bytes(32))->parameters.empty());
}

}  // namespace
}  // namespace tacet::agreement
