#include "tacet/host/certificate_watch.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/temporary_folder_for_test.h"
#include "tacet/crypto/authority_for_test.h"
#include "tacet/host/log_for_test.h"
#include "tacet/protocol/small_federation_for_test.h"

namespace tacet::host {
namespace {

using storage::file::Membership;
using storage::file::SiteFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kDay = 86'400;
constexpr uint64_t kBegin = 1'755'000'000;
constexpr uint64_t kEnd = kBegin + 100 * kDay;

base::Bytes Certificate(uint64_t not_after) {
  return crypto::AuthorityOf(crypto::TlsKey::Generate(), kBegin, not_after, "hub");
}

class CertificateWatchTest : public ::testing::Test {
 protected:
  CertificateWatchTest() {
    crypto::SystemEntropy entropy;
    crypto::SecretBytes key(32);
    const auto unlocker = *crypto::Unlocker::FromKeyFile(std::move(key));
    SiteFolder site = *SiteFolder::Create(folder_.path() / "hub", "hub", {}, unlocker, entropy);
    watch_.emplace(*CertificateWatch::Create(std::move(site),
                                             Membership{.manifest = members_.manifest(),
                                                        .member = std::nullopt,
                                                        .certificate = Certificate(kEnd),
                                                        .sealed_epoch_key = {}},
                                             *log_.log, metrics_, [this] { return now_; }));
  }

  base::TemporaryFolder folder_;
  protocol::testing::SmallFederation members_;
  LogForTest log_;
  ServerMetrics metrics_;
  uint64_t now_ = kBegin;
  std::optional<CertificateWatch> watch_;
};

TEST_F(CertificateWatchTest, WarnsFromThirtyDaysBeforeOnceADay) {
  watch_->WarnOfEnd();
  now_ = kEnd - 30 * kDay - 1;
  watch_->WarnOfEnd();
  EXPECT_THAT(log_.Events(), IsEmpty());
  now_ = kEnd - 30 * kDay;
  watch_->WarnOfEnd();
  now_ += kDay - 1;
  watch_->WarnOfEnd();
  EXPECT_THAT(log_.Events(),
              ElementsAre(R"(warning certificate-ends {"not_after":1763640000,"days":30})"));
  now_ += 1;
  watch_->WarnOfEnd();
  EXPECT_THAT(log_.Events().back(), HasSubstr(R"("days":29)"));
  now_ = kEnd;
  watch_->WarnOfEnd();
  EXPECT_THAT(log_.Events().back(), HasSubstr("error certificate-ended"));
  EXPECT_EQ(log_.Events().size(), 3u);
  EXPECT_EQ(metrics_.certificate_end(), kEnd);
}

TEST_F(CertificateWatchTest, ANewOneEndsTheWarnings) {
  now_ = kEnd - kDay;
  watch_->WarnOfEnd();
  watch_->Adopt(Certificate(kEnd + 365 * kDay));
  now_ += 2 * kDay;
  watch_->WarnOfEnd();
  EXPECT_EQ(log_.Events().size(), 1u);
  EXPECT_EQ(metrics_.certificate_end(), kEnd + 365 * kDay);
}

TEST_F(CertificateWatchTest, AnInvitationThatCannotBeReadIsLoggedOnce) {
  EXPECT_EQ(watch_->Renewed(), std::nullopt);
  std::ofstream(folder_.path() / "hub" / "invitation") << "cut";
  EXPECT_EQ(watch_->Renewed(), std::nullopt);
  EXPECT_EQ(watch_->Renewed(), std::nullopt);
  EXPECT_THAT(log_.Events(), ElementsAre(HasSubstr("error invitation-unreadable")));
}

}  // namespace
}  // namespace tacet::host
