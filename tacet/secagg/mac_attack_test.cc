// Lattice reduction on all that a coalition holds: the server, the epoch key, members and seats.
// Three words of a MAC are equations in the counts of one upload, which are small. A party
// that reads the words solves them (lattice_for_test.h).
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/secagg/coalition_for_test.h"

namespace tacet::secagg {
namespace {

using namespace testing;  // NOLINT: tacet::secagg::testing

constexpr uint64_t kDimensions[] = {1, 2, 3, 5, 8};
constexpr int kUploads = 50;

bool AreTheCounts(const Federation& federation, const View& view, uint64_t member,
                  const std::optional<std::vector<int64_t>>& found) {
  if (!found.has_value()) return false;
  const std::vector<uint32_t>& counts = view.sent.at(member)->counts;
  for (size_t i = 0; i < counts.size(); ++i) {
    if ((*found)[i] + static_cast<int64_t>(federation.params().offset()) != counts[i]) return false;
  }
  return true;
}

// The MAC is encrypted with the counts: nothing in an upload, and nothing that comes out of it with
// a key that the coalition can make up, solves a single one.
TEST(MacAttackTest, ReadsNoUpload) {
  for (const uint64_t dimension : kDimensions) {
    Federation federation({.dimension = dimension, .planted = 100});
    int solved = 0;
    for (int i = 0; i < kUploads; ++i) {
      const View view = federation.Play({0, 1}, {4, 6}, i % 2 == 0);
      Coalition coalition(federation, view, {0, 1});
      for (const uint64_t member : view.stage->honest) {
        solved += coalition.CountsBehindMac(member).has_value() ? 1 : 0;
      }
    }
    EXPECT_EQ(solved, 0) << dimension;
  }
}

// The same attack on uploads whose MAC is in clear, as in all schemes before version 2 and in the
// paper's: it finds all of them.
TEST(MacAttackTest, ReadsEveryUploadWhoseMacIsInClear) {
  for (const uint64_t dimension : kDimensions) {
    Federation federation(
        {.dimension = dimension, .planted = 100, .scheme = he::Scheme::kPaperSecretKey});
    int solved = 0;
    for (int i = 0; i < kUploads; ++i) {
      federation.Begin({0, 1}, {4, 6});
      const View view = federation.Collect(i % 2 == 0);
      const uint64_t member = view.stage->honest[0];
      const auto found = Coalition(federation, view, {0, 1}).CountsBehindMac(member);
      solved += AreTheCounts(federation, view, member, found) ? 1 : 0;
    }
    EXPECT_EQ(solved, kUploads) << dimension;
  }
}

// With the seats that decrypt, MACs can be read, and each gives its counts away.
TEST(MacAttackTest, ReadsEveryUploadWithAQuorumOfSeats) {
  for (const uint64_t dimension : kDimensions) {
    Federation federation({.dimension = dimension, .planted = 100});
    const View view = federation.Play({0, 1}, {4, 6}, true);
    Coalition coalition(federation, view, {0, 1, 2, 3});
    for (const uint64_t member : view.stage->honest) {
      const auto found = coalition.CountsBehindMac(member);
      EXPECT_TRUE(AreTheCounts(federation, view, member, found)) << dimension;
    }
  }
}

}  // namespace
}  // namespace tacet::secagg
