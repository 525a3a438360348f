#include "tacet/host/operator_tokens.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status.h"
#include "tacet/base/temporary_folder_for_test.h"

namespace tacet::host {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kOne(32, 'a'), kTwo(40, 'b');

class OperatorTokensTest : public ::testing::Test {
 protected:
  absl::StatusOr<OperatorTokens> Read(const std::string& text,
                                      std::filesystem::perms perms = std::filesystem::perms(0600)) {
    std::ofstream(path_) << text;
    std::filesystem::permissions(path_, perms);
    return OperatorTokens::Read(path_);
  }
  std::string Error(const std::string& text) { return base::Message(Read(text).status()); }

  base::TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_.path() / "operators";
};

TEST_F(OperatorTokensTest, EachTokenHasItsName) {
  const auto tokens = Read("# who may act\n\nann " + kOne + "\r\n  bob.night\t " + kTwo + "  ");
  ASSERT_TRUE(tokens.ok()) << tokens.status();
  EXPECT_EQ(tokens->NameOf("Bearer " + kOne), "ann");
  EXPECT_EQ(tokens->NameOf("Bearer " + kTwo), "bob.night");
  for (const std::string& other :
       {std::string(), std::string("Bearer "), kOne, "bearer " + kOne, "Bearer " + kOne + " ",
        "Bearer " + kOne.substr(1), std::string("Bearer ann"), "Basic " + kOne}) {
    EXPECT_EQ(tokens->NameOf(other), std::nullopt) << other;
  }
}

TEST_F(OperatorTokensTest, AFileThatIsNoneIsRefusedWithoutItsTokens) {
  EXPECT_THAT(Error("ann short\n"),
              HasSubstr("operators, line 1: expected a name, blanks, and a token of at least"));
  EXPECT_THAT(Error("ann " + kOne + " " + kTwo), HasSubstr("without blanks"));
  EXPECT_THAT(Error("\n<b> " + kOne), HasSubstr("line 2: expected a name"));
  EXPECT_THAT(Error(std::string(41, 'n') + " " + kOne), HasSubstr("line 1: expected a name"));
  EXPECT_THAT(Error("ann " + kOne + "\nann " + kTwo), HasSubstr("line 2: its name or its token"));
  EXPECT_THAT(Error("ann " + kOne + "\nbob " + kOne), HasSubstr("line 2: its name or its token"));
  EXPECT_THAT(Error("# nobody\n"), HasSubstr("expected NAME TOKEN"));
  // Also where the token stands alone, or in front of its name.
  for (const std::string& text : {"ann " + kOne + " " + kTwo, "<b> " + kOne, kOne, kOne + " ann",
                                  kOne + " " + kTwo + "\n" + kOne + " " + kTwo}) {
    EXPECT_THAT(Error(text), Not(HasSubstr(kOne)));
  }
  EXPECT_EQ(Read("ann " + kOne, std::filesystem::perms(0644)).status().code(),
            absl::StatusCode::kPermissionDenied);
}

}  // namespace
}  // namespace tacet::host
