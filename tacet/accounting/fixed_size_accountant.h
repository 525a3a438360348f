// Tight accountant for cohorts of fixed size (docs/security/fixed-size-accounting.md). It computes
// the largest epsilon that an adversary can reach who chooses all other contributions, the unit's
// two, and where the event names a pool the number of clients that are here, adaptively in every
// round.
#ifndef TACET_ACCOUNTING_FIXED_SIZE_ACCOUNTANT_H_
#define TACET_ACCOUNTING_FIXED_SIZE_ACCOUNTANT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/accounting/privacy_event.h"

namespace tacet::accounting {

struct FixedSizeResult {
  double epsilon = 0;        // an upper bound
  double epsilon_lower = 0;  // reached by an adversary who alternates between a few pairs
  size_t cells = 0;          // that the triangles were cut into
  // Where the number of clients here is anybody's choice: the constant one with which
  // `epsilon_lower` is attained.
  std::optional<uint64_t> attained_here = {};
};

// epsilon at delta in (0, 1) after all rounds of the stream, replace-one or zero-out, for one kind
// of round with fixed-size sampling: a single event, a mixture of them, or one of known size. Above
// some 300 to 1000 rounds the recursion covers blocks of rounds, and one pair that dominates a
// block is composed with itself: a few percent above the truth, in about a second, up to a million
// rounds. No value where the accountant has nothing to say (another kind of sampling, several kinds
// of rounds, one round, no noise) or where even a block would take too long (rates below 1/1000
// with noise of about a clip norm). A valid bound from another accountant exists there.
absl::StatusOr<std::optional<FixedSizeResult>> FixedSizeEpsilon(
    const std::vector<RepeatedEvent>& stream, double delta);

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_FIXED_SIZE_ACCOUNTANT_H_
