#include "tacet/data/patients.h"

#include <algorithm>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"

namespace tacet::data {
namespace {

using ::testing::StartsWith;

std::string Digest(const std::string& table) {
  return base::ToHex(crypto::Sha256(base::AsBytes(table))).substr(0, 16);
}

TEST(PatientsTest, ATableHasARowForEachPatient) {
  const std::string table = DrawPatients({.patients = 7});
  EXPECT_THAT(table, StartsWith("age,sbp,chol,smoker,ill\n"));
  EXPECT_EQ(std::ranges::count(table, '\n'), 8);
  EXPECT_EQ(std::ranges::count(table, ','), 4 * 8);
}

TEST(PatientsTest, AreTheSameEverywhere) {
  EXPECT_EQ(Digest(DrawPatients({.hospital = 2, .seed = 9})), "8716f7cc67505667");
  EXPECT_NE(DrawPatients({.hospital = 2}), DrawPatients({.hospital = 3}));
  EXPECT_NE(DrawPatients({.seed = 1}), DrawPatients({.seed = 2}));
  // A patient does not depend on how many others there are.
  EXPECT_THAT(DrawPatients({.patients = 9}), StartsWith(DrawPatients({.patients = 5})));
}

}  // namespace
}  // namespace tacet::data
