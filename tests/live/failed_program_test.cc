// The oracle of a program that fails on one record: it finds nothing on any wire. It
// asks a site to train with a program that fails where it meets the record.
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "fmt/core.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/live/live_members_for_test.h"
#include "tests/live/served_federation_for_test.h"

namespace tacet::live {
namespace {

using testing::LiveFederation;
using testing::Wires;

constexpr uint64_t kSite = 1;

enum class Failure : uint8_t { kNone, kError, kNotFinite };

agreement::ManifestSpec EverybodyOfFive(bool query) {
  agreement::ManifestSpec spec = testing::ExactAgreement();
  spec.sampling.cohort = 5;
  spec.sampling.min_participants = query ? 5 : 4;
  if (query) {
    spec.model = std::string(agreement::kQueryModel);
    spec.rounds = 1;
  }
  return spec;
}

// The view of the server and of each member when a site's program fails: the second, the
// sender, the kind of the request, the bytes of request and answer, and what the server's page
// says.
std::vector<std::string> Seen(bool relayed, bool query, Failure failure) {
  std::vector<std::string> seen;
  LiveFederation live(EverybodyOfFive(query));
  const Wires wires(relayed, live);
  live.restarts = false;
  live.site(kSite).updates.fail = failure == Failure::kError ? "no such patient" : "";
  live.site(kSite).updates.not_finite = failure == Failure::kNotFinite;
  const uint64_t begun = live.now;
  const auto carry = live.carry;
  live.carry = [&, carry](uint64_t member, std::span<const uint8_t> request) {
    absl::StatusOr<base::Bytes> answer = carry ? carry(member, request) : live.Answer(request);
    seen.push_back(fmt::format("{} {} {} {} {} {}", live.now - begun, member,
                               protocol::RequestKindIn(request), request.size(),
                               answer.ok() ? answer->size() : 0, base::Message(answer.status())));
    return answer;
  };
  live.between = [&] {
    const server::ServerStatus status = live.server->Status();
    seen.push_back(fmt::format("{} {} {} {} {}", status.attempts, status.finished, status.accepted,
                               status.votes, status.stopped));
  };
  live.Run();
  live.ExpectNoViolations();
  for (const auto& site : live.sites) {
    EXPECT_TRUE(site->done);
    // Only the site is told.
    const size_t told = site->log.Count(member::NodeEventKind::kNote, "update-failed") +
                        site->log.Count(member::NodeEventKind::kNote, "update-not-finite");
    EXPECT_EQ(told > 0, site->number == kSite && failure != Failure::kNone) << site->number;
  }
  live.carry = carry;
  return seen;
}

class FailedProgramTest : public ::testing::TestWithParam<bool> {};

TEST_P(FailedProgramTest, LeavesNothingDifferentForTheServerAndTheOthers) {
  for (const bool query : {false, true}) {
    SCOPED_TRACE(query ? "query" : "training");
    const std::vector<std::string> usual = Seen(GetParam(), query, Failure::kNone);
    EXPECT_GT(usual.size(), 50u);
    for (const Failure failure : {Failure::kError, Failure::kNotFinite}) {
      EXPECT_EQ(Seen(GetParam(), query, failure), usual);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Wires, FailedProgramTest, ::testing::Bool(), [](const auto& relayed) {
  return std::string(relayed.param ? "Relayed" : "Https");
});

}  // namespace
}  // namespace tacet::live
