#include "tacet/base/status.h"

#include <memory>

#include "gtest/gtest.h"

namespace tacet::base {
namespace {

absl::Status Fail(bool fail) {
  return fail ? InvalidArgument("upload has dimension {}, the manifest says {}", 3, 4)
              : absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<int>> Make(bool fail) {
  TACET_RETURN_IF_ERROR(Fail(fail));
  return std::make_unique<int>(7);
}

absl::StatusOr<int> Sum(bool first_fails, bool second_fails) {
  TACET_ASSIGN_OR_RETURN(const std::unique_ptr<int> a, Make(first_fails));
  std::unique_ptr<int> b;
  TACET_ASSIGN_OR_RETURN(b, Make(second_fails));
  return *a + *b;
}

TEST(StatusTest, BuildersFormatTheirMessage) {
  EXPECT_EQ(InvalidArgument("{} of {}", 1, "x"), absl::InvalidArgumentError("1 of x"));
  EXPECT_EQ(FailedPrecondition("{}", 2), absl::FailedPreconditionError("2"));
  EXPECT_EQ(NotFound("{}", 3), absl::NotFoundError("3"));
  EXPECT_EQ(DataLoss("{}", 4), absl::DataLossError("4"));
  EXPECT_EQ(PermissionDenied("{}", 5), absl::PermissionDeniedError("5"));
  EXPECT_EQ(AlreadyExists("{}", 6), absl::AlreadyExistsError("6"));
  EXPECT_EQ(Unavailable("{}", 7), absl::UnavailableError("7"));
}

TEST(StatusTest, AnnotateKeepsCodeAndSaysWhere) {
  const absl::Status status = Annotate(DataLoss("cut short"), "file x");
  EXPECT_EQ(status, absl::DataLossError("file x: cut short"));
  EXPECT_TRUE(Annotate(absl::OkStatus(), "file x").ok());
}

TEST(StatusTest, MacrosPassErrorsAndMoveValues) {
  EXPECT_EQ(*Sum(false, false), 14);
  const absl::Status error =
      absl::InvalidArgumentError("upload has dimension 3, the manifest says 4");
  EXPECT_EQ(Sum(true, false).status(), error);
  EXPECT_EQ(Sum(false, true).status(), error);
}

TEST(StatusTest, MessageIsAStandardString) {
  const std::string message = Message(NotFound("no `{}`", "key"));
  EXPECT_EQ(message, "no `key`");
}

}  // namespace
}  // namespace tacet::base
