#include "tacet/storage/postgres/database_url.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"

namespace tacet::storage::postgres {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(DatabaseUrlTest, NamesThePlaceWithoutUserAndPassword) {
  ASSERT_OK_AND_ASSIGN(
      const auto url, DatabaseUrl::Parse("postgresql://ann:s3cret@db.example.org:5433/federation"));
  EXPECT_EQ(url.place(), "database federation at db.example.org");
  EXPECT_THAT(url.connection(), HasSubstr("host='db.example.org' "));
  EXPECT_THAT(url.connection(), HasSubstr("port='5433' "));
  EXPECT_THAT(url.connection(), HasSubstr("user='ann' "));
  EXPECT_THAT(url.connection(), HasSubstr("password='s3cret' "));
  EXPECT_EQ(DatabaseUrl::Parse("postgres://")->place(),
            "database of the user's name at this machine");
}

TEST(DatabaseUrlTest, WhatTheUrlSaysCountsMoreThanDefaults) {
  EXPECT_THAT(DatabaseUrl::Parse("postgresql:///")->connection(),
              HasSubstr("connect_timeout='10' "));
  EXPECT_THAT(DatabaseUrl::Parse("postgresql:///?connect_timeout=3")->connection(),
              HasSubstr("connect_timeout='3' "));
}

TEST(DatabaseUrlTest, QuotesValues) {
  ASSERT_OK_AND_ASSIGN(const auto url, DatabaseUrl::Parse("postgresql://u:a'b%5Cc%20d@h/x"));
  EXPECT_THAT(url.connection(), HasSubstr(R"(password='a\'b\\c d' )"));
}

TEST(DatabaseUrlTest, RefusesWhatIsNoUrlWithoutQuotingIt) {
  for (const std::string text :
       {"", "s3cret", "host=db password=s3cret", "http://ann:s3cret@db/x",
        "postgresql://ann:s3cret@db:port:9/x", "postgresql://ann:s3cret%zz@db/x",
        "postgresql://ann@db/x?s3cret", "postgresql://ann@db/x?s3cret=1",
        "postgresql://ann:s3cret@[db/x", "postgresql://ann:a@s3cret@db/x",
        "postgresql://ann:a/s3cret@db/x", "postgresql://ann:s3cret/b@db/x"}) {
    const auto url = DatabaseUrl::Parse(text);
    EXPECT_EQ(url.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(base::Message(url.status()), HasSubstr("expected postgresql://USER@HOST"));
    EXPECT_THAT(base::Message(url.status()), Not(HasSubstr("s3cret")));
  }
}

TEST(DatabaseUrlTest, TellsNoMessageThatQuotesAPassword) {
  const auto url = DatabaseUrl::Parse("postgresql://ann:s3cret@db/x?sslpassword=hush");
  EXPECT_EQ(url->Tell("FATAL:  no\n\tsuch thing\n"), "FATAL: no such thing");
  for (const char* message : {"wrong \"s3cret\"", "hush", "host ann:s3cret@db"}) {
    EXPECT_EQ(url->Tell(message), "the reason is not told: it quotes a password");
  }
}

}  // namespace
}  // namespace tacet::storage::postgres
