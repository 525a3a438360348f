#include "tacet/host/page_token.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tacet/base/temporary_folder_for_test.h"

namespace tacet::host {
namespace {

using ::testing::HasSubstr;

class PageTokenTest : public ::testing::Test {
 protected:
  std::string Content() const {
    std::ifstream file(path_);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  void Write(const std::string& text) const {
    std::ofstream(path_) << text;
    std::filesystem::permissions(path_, std::filesystem::perms(0600));
  }

  base::TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_.path() / "page.token";
  crypto::SystemEntropy entropy_;
};

TEST_F(PageTokenTest, IsMadeForItsOwnerAlone) {
  const auto token = PageToken::Make(path_, entropy_);
  ASSERT_TRUE(token.ok()) << token.status();
  const std::string text = Content();
  EXPECT_EQ(text.size(), 64u);
  struct stat info {};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  EXPECT_TRUE(token->Admits("Bearer " + text));
  for (const std::string& other :
       {text, std::string("Bearer "), std::string(), "bearer " + text, "Bearer " + text + "0",
        "Bearer " + text.substr(1), "Bearer  " + text, "Basic " + text,
        "Bearer " + std::string(64, '0')}) {
    EXPECT_FALSE(token->Admits(other)) << other;
  }
}

TEST_F(PageTokenTest, EveryStartHasItsOwn) {
  const auto first = PageToken::Make(path_, entropy_);
  const std::string old = Content();
  const auto second = PageToken::Make(path_, entropy_);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_FALSE(second->Admits("Bearer " + old));
  EXPECT_TRUE(second->Admits("Bearer " + Content()));
}

TEST_F(PageTokenTest, ReadsOneThatIsKept) {
  Write("a-token-of-my-own\nsecond line\n");
  const auto token = PageToken::Read(path_);
  ASSERT_TRUE(token.ok()) << token.status();
  EXPECT_TRUE(token->Admits("Bearer a-token-of-my-own"));
}

TEST_F(PageTokenTest, RefusesAFileThatIsShortOrOpenToOthers) {
  Write("0123456789abcde\n");
  const auto brief = PageToken::Read(path_);
  ASSERT_FALSE(brief.ok());
  EXPECT_THAT(std::string(brief.status().message()), HasSubstr("at least 16 characters"));
  EXPECT_THAT(std::string(brief.status().message()), ::testing::Not(HasSubstr("0123456789abcde")));
  Write("0123456789abcdef");
  EXPECT_TRUE(PageToken::Read(path_).ok());
  std::filesystem::permissions(path_, std::filesystem::perms(0644));
  EXPECT_EQ(PageToken::Read(path_).status().code(), absl::StatusCode::kPermissionDenied);
}

}  // namespace
}  // namespace tacet::host
